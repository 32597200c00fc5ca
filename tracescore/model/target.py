"""What a score is about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Name a trace, or one span of it: ids in lower-case hex, 32 and 16 digits."""

    trace_id: str
    span_id: str | None = None
