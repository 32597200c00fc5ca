"""Recorded requests as what the OpenTelemetry SDK hands to its exporters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)


def sdk_spans(request: Mapping[str, Any]) -> list[ReadableSpan]:
    """Give the spans of an OTLP JSON request."""
    return [
        ReadableSpan(
            name=span["name"],
            context=_context(span["traceId"], span["spanId"]),
            parent=_context(span["traceId"], span["parentSpanId"]) if span.get("parentSpanId") else None,
            resource=resource,
            attributes=_attributes(span),
            events=[
                Event(event["name"], _attributes(event), int(event.get("timeUnixNano", 0)))
                for event in span.get("events", ())
            ],
            links=[
                Link(_context(link["traceId"], link["spanId"]), _attributes(link)) for link in span.get("links", ())
            ],
            kind=SpanKind(max(int(span.get("kind", 1)) - 1, 0)),
            status=_status(span.get("status", {})),
            start_time=int(span["startTimeUnixNano"]),
            end_time=int(span["endTimeUnixNano"]),
            instrumentation_scope=scope,
        )
        for resource, scope, span in _items(request, "resourceSpans", "scopeSpans", "spans")
    ]


def sdk_logs(request: Mapping[str, Any]) -> list[ReadableLogRecord]:
    """Give the log records of an OTLP JSON request."""
    return [
        ReadableLogRecord(
            log_record=LogRecord(
                timestamp=int(record.get("timeUnixNano", 0)),
                observed_timestamp=int(record.get("observedTimeUnixNano", 0)),
                context=set_span_in_context(NonRecordingSpan(_context(record["traceId"], record["spanId"]))),
                severity_number=SeverityNumber(int(record.get("severityNumber", 0))),
                body=_value(record.get("body", {})),
                event_name=record.get("eventName"),
                attributes=_attributes(record),
            ),
            resource=resource,
            instrumentation_scope=scope,
        )
        for resource, scope, record in _items(request, "resourceLogs", "scopeLogs", "logRecords")
        if record.get("spanId")
    ]


def _items(
    request: Mapping[str, Any], by_resource: str, by_scope: str, items: str
) -> Iterator[tuple[Resource, InstrumentationScope, Mapping[str, Any]]]:
    for group in request.get(by_resource, ()):
        resource = Resource(_attributes(group.get("resource", {})))
        for scoped in group.get(by_scope, ()):
            scope = scoped.get("scope", {})
            for item in scoped[items]:
                yield resource, InstrumentationScope(scope.get("name", ""), scope.get("version", "")), item


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def _status(status: Mapping[str, Any]) -> Status:
    code = StatusCode(int(status.get("code", 0)))
    return Status(code, status.get("message") if code is StatusCode.ERROR else None)


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    pairs: Sequence[Mapping[str, Any]] = item.get("attributes", ())
    return {pair["key"]: value for pair in pairs if (value := _value(pair.get("value", {}))) is not None}


def _value(value: Mapping[str, Any]) -> Any:
    for kind, content in value.items():
        match kind:
            case "intValue":
                return int(content)
            case "arrayValue":
                return [_value(item) for item in content.get("values", ())]
            case "kvlistValue":
                return {pair["key"]: _value(pair.get("value", {})) for pair in content.get("values", ())}
            case _:
                return content
    return None
