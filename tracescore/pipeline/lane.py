"""The seam between claiming and scoring: a lane takes jobs of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracescore.pipeline.work import Work


class Lane(Protocol):
    """Where jobs of one kind are scored."""

    @property
    def room(self) -> int:
        """Give how many jobs may be claimed now."""
        ...

    def start(self, jobs: Sequence[Work]) -> None:
        """Score jobs as soon as there is a place."""
        ...

    def begun(self) -> list[Work]:
        """Give the jobs that are being scored now."""
        ...

    def take_back(self) -> list[Work]:
        """Give up the jobs that are not begun."""
        ...

    def cancel(self, claims: Sequence[tuple[str, int]]) -> None:
        """Stop these claims where that can be done."""
        ...

    def close(self) -> None:
        """Stop."""
        ...
