"""What a score is about."""

from __future__ import annotations

from dataclasses import dataclass

from tracescore.arguments import TEXT, check, optional


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Name a trace, or one span of it: ids in lower-case hex, 32 and 16 digits."""

    trace_id: str
    span_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.trace_id, str) or not isinstance(self.span_id, (str, type(None))):  # pyright: ignore[reportUnnecessaryIsInstance]
            check("Target", _IDS, {"trace_id": self.trace_id, "span_id": self.span_id})


_IDS = {"trace_id": TEXT, "span_id": optional(TEXT)}
