"""What the store holds of a trace, as a trace."""

from __future__ import annotations

from tracescore.model import LogRecord, Span, Trace
from tracescore.otel import read_log, read_span
from tracescore.store import StoredTrace


def read_stored(stored: StoredTrace) -> tuple[Trace, list[str]]:
    """Read the spans and log records of a trace, and say of those that cannot be read why."""
    spans: list[Span] = []
    logs: list[LogRecord] = []
    problems: list[str] = []
    for span in stored.spans:
        try:
            spans.append(read_span(span.copies, arrived_ns=span.arrived_ns))
        except Exception as error:  # noqa: BLE001 - a broken span never blocks its trace
            problems.append(f"span {span.span_id}: {error!r:.300}")
    for log in stored.logs:
        try:
            logs.append(read_log(log.body, arrived_ns=log.arrived_ns))
        except Exception as error:  # noqa: BLE001 - nor a broken log record
            problems.append(f"log record of span {log.span_id}: {error!r:.300}")
    return Trace(trace_id=stored.trace_id, spans=tuple(spans), logs=tuple(logs)), problems
