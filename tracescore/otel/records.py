"""What decoding gives the store: one row per received copy of a span or log record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar


class EvaluationRow(NamedTuple):
    """One evaluation result of somebody else's; ids and response id are empty where it does not name them."""

    trace_id: bytes
    span_id: bytes
    copy_hash: bytes
    response_id: str
    time_ns: int
    body: bytes


class SpanRow(NamedTuple):
    """One received copy of a span. ``body`` is JSON bytes that hold the whole span, its resource and its scope."""

    trace_id: bytes
    span_id: bytes
    copy_hash: bytes
    parent_span_id: bytes | None
    start_ns: int
    end_ns: int
    flags: int
    complete: bool
    """The span says ``tracescore.run.complete=true``."""
    body: bytes
    evaluations: tuple[EvaluationRow, ...] = ()
    """Results that others wrote into the span as its events."""


class LogRow(NamedTuple):
    """One received copy of a log record that belongs to a span."""

    trace_id: bytes
    span_id: bytes
    copy_hash: bytes
    time_ns: int
    body: bytes


RowT = TypeVar("RowT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded(Generic[RowT]):
    """What one request amounts to.

    ``rejected`` counts what could not be read, ``ignored`` what needs no keeping (tracescore's own spans, log records
    that hold no content). ``reasons`` says what was rejected and what was left out of rows that were kept; it is
    bounded, and may be there with nothing rejected. ``evaluations`` are kept apart: they touch no trace.
    """

    rows: list[RowT] = field(default_factory=list)
    rejected: int = 0
    reasons: tuple[str, ...] = ()
    ignored: int = 0
    evaluations: list[EvaluationRow] = field(default_factory=list)
