"""A sink that keeps what it is given: for tests and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.sinks.protocol import Delivery, SinkError


class MemorySink:
    """Keep outcomes in a list; while ``failing`` is set it refuses them with that message."""

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self.items: list[Delivery] = []
        self.failing: str | None = None

    @property
    def name(self) -> str:
        """Give the sink's name."""
        return self._name

    async def submit(self, items: Sequence[Delivery]) -> None:
        """Keep the items."""
        if self.failing is not None:
            raise SinkError(self.failing)
        self.items += items
