"""What went wrong while one request was decoded."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_REASONS = 20
"""So that a request of 50 000 broken spans does not answer with as many sentences."""
MAX_REASON_CHARS = 300


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

    @property
    def reasons(self) -> tuple[str, ...]:
        """Give the first reasons, each once, and how many more there are."""
        more = (f"and {self._left_out} more",) if self._left_out else ()
        return (*self._reasons, *more)
