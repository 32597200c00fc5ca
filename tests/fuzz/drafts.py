"""Drafts of traces: plain JSON, so that what broke something can be kept as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tracescore.model import LogRecord, Span, SpanEvent, Trace

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"

Draft: TypeAlias = dict[str, Any]
"""A span by any of ``name parent at until flags status scope version resource attributes events logs dropped lost``.

``parent`` is a place; what is ``lost`` only keeps its place.
"""


def trace_of(drafts: Sequence[Draft]) -> Trace:
    """Build the trace of the drafts: a span's id is its place, times are small numbers."""
    sent = [(place, draft) for place, draft in enumerate(drafts) if not draft.get("lost")]
    logs = [
        LogRecord(
            trace_id=TRACE_ID,
            span_id=_id(place),
            event_name=log.get("name", ""),
            time_ns=log.get("at", 0),
            body=log.get("body"),
            attributes=log.get("attributes", {}),
        )
        for place, draft in sent
        for log in draft.get("logs", ())
    ]
    return Trace(trace_id=TRACE_ID, spans=tuple(_span(place, draft) for place, draft in sent), logs=(*logs,))


def _span(place: int, draft: Draft) -> Span:
    parent = draft.get("parent")
    return Span(
        trace_id=TRACE_ID,
        span_id=_id(place),
        parent_span_id=None if parent is None else _id(parent),
        name=draft.get("name", ""),
        start_ns=draft.get("at", 0),
        end_ns=draft.get("until", 0),
        flags=draft.get("flags", 0),
        status=draft.get("status", "unset"),
        scope_name=draft.get("scope", ""),
        scope_version=draft.get("version", ""),
        resource=draft.get("resource", {}),
        attributes=draft.get("attributes", {}),
        events=tuple(
            SpanEvent(name=event.get("name", ""), time_ns=event.get("at", 0), attributes=event.get("attributes", {}))
            for event in draft.get("events", ())
        ),
        dropped_attributes=draft.get("dropped", 0),
    )


def _id(place: int) -> str:
    return f"{place + 1:016x}"
