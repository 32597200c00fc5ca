"""Spans, log records and traces as OpenTelemetry records them, ids in lower-case hex, times in Unix nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracescore.model.message import JSONValue

Attributes: TypeAlias = Mapping[str, JSONValue]
SpanStatus: TypeAlias = Literal["unset", "ok", "error"]

REMOTE_PARENT_MASK = 0x300
"""Both bits of ``flags`` set: the sender knows whether the parent is remote, and it is (OTLP ``SpanFlags``)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanEvent:
    """A span event: its name, its time and its attributes."""

    name: str
    time_ns: int = 0
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanLink:
    """A link from one span to another."""

    trace_id: str
    span_id: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One OpenTelemetry span.

    ``end_ns`` is 0 while the span has no end. ``truncated`` names the attributes that were cut when it was received.
    ``arrived_ns`` is when the first copy of it was received, 0 for a file.
    """

    trace_id: str
    span_id: str
    name: str = ""
    parent_span_id: str | None = None
    kind: int = 0
    start_ns: int = 0
    end_ns: int = 0
    status: SpanStatus = "unset"
    status_message: str = ""
    attributes: Attributes = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    resource: Attributes = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    flags: int = 0
    trace_state: str = ""
    dropped_attributes: int = 0
    truncated: tuple[str, ...] = ()
    arrived_ns: int = 0

    @property
    def has_remote_parent(self) -> bool:
        """Tell whether the sender said that the parent span lives in another process."""
        return self.parent_span_id is not None and self.flags & REMOTE_PARENT_MASK == REMOTE_PARENT_MASK


@dataclass(frozen=True, kw_only=True, slots=True)
class LogRecord:
    """One OpenTelemetry log record that belongs to a span; ``event_name`` is also read from ``event.name``."""

    trace_id: str
    span_id: str
    event_name: str = ""
    time_ns: int = 0
    body: JSONValue = None
    attributes: Attributes = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    truncated: tuple[str, ...] = ()
    arrived_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """All spans and log records of one trace id, in any order."""

    trace_id: str
    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
