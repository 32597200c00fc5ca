"""Where exported spans go."""

from __future__ import annotations

from typing import Protocol


class Destination(Protocol):
    """One end of the exporter, called from any thread; what fails is raised here and logged by the exporter."""

    def take(self, body: bytes, *, timeout: float) -> None:
        """Take an ``ExportTraceServiceRequest`` in, in protobuf, within seconds."""
        ...

    def flush(self, *, timeout: float) -> bool:
        """Wait until what was taken is done; False where that takes longer."""
        ...

    def close(self, *, timeout: float) -> None:
        """Finish what was taken, and end."""
        ...
