"""What went wrong while one request was decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

MAX_REASONS = 20
"""So that a request of 50 000 broken spans does not answer with as many sentences."""
MAX_REASON_CHARS = 300
MAX_ITEMS = 10_000
"""Attributes, events or links of one span; SDKs stop at 128 unless told otherwise."""

ItemsT = TypeVar("ItemsT", bound=Sequence[Any])


@dataclass(slots=True)
class Problems:
    """Count what is rejected and ignored, and keep the first reasons."""

    rejected: int = 0
    ignored: int = 0
    _reasons: dict[str, None] = field(default_factory=dict)
    _left_out: int = 0

    def reject(self, reason: str) -> None:
        """Count one span or log record as not kept."""
        self.rejected += 1
        self.note(reason)

    def note(self, reason: str) -> None:
        """Say what was left out of a span or log record that is kept all the same."""
        if len(self._reasons) < MAX_REASONS:
            # What a sender wrote is quoted in here: no line breaks or control characters, no novel.
            clean = "".join(char if char.isprintable() else "\ufffd" for char in reason[:MAX_REASON_CHARS])
            self._reasons[clean] = None
        else:
            self._left_out += 1

    def bounded(self, items: ItemsT, what: str, label: str) -> ItemsT:
        """Give the first items of a span, as many as one may have, and say where there were more."""
        if len(items) <= MAX_ITEMS:
            return items
        self.note(f"{label}: {len(items) - MAX_ITEMS} of its {len(items)} {what} were left out")
        return cast("ItemsT", items[:MAX_ITEMS])  # a slice of a repeated field is a list

    @property
    def reasons(self) -> tuple[str, ...]:
        """Give the first reasons, each once, and how many more there are."""
        more = (f"and {self._left_out} more",) if self._left_out else ()
        return (*self._reasons, *more)
