"""OTLP protobuf to rows, the fast way: for requests with nothing out of the ordinary in them.

A string that is not UTF-8 or a value nested too deeply raises ``OutOfOrdinary``: the whole request is then read piece
by piece (``lenient``), so that one span never costs its batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tracescore.otel.attributes import OutOfOrdinary, attributes_of, plain_attributes, value_of
from tracescore.otel.body import (
    MAX_NS,
    NO_SPAN_ID,
    NO_TRACE_ID,
    OUT_OF_BOUNDS,
    Group,
    Origin,
    Plain,
    bounded_ns,
    event_name_of,
    id_problem,
    log_row,
    span_label,
    span_row,
)
from tracescore.otel.problems import MAX_ITEMS, Problems
from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.otel.schemas import message_type, span_attributes_as_bytes
from tracescore.otel.semconv import EVALUATION_RESULT, EVENT_NAME


def trace_groups(encoded: bytes) -> Iterator[Group]:
    """Read an ``ExportTraceServiceRequest`` into its groups of spans."""
    message: Any = message_type("collector.trace.v1.ExportTraceServiceRequest", span_attributes_as_bytes)
    request: Any = _parse(message, encoded)
    for group in request.resource_spans:
        resource = plain_attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            yield _group(resource, scoped.scope, scoped.spans)


def log_groups(encoded: bytes) -> Iterator[Group]:
    """Read an ``ExportLogsServiceRequest`` into its groups of log records."""
    request: Any = _parse(ExportLogsServiceRequest, encoded)
    for group in request.resource_logs:
        resource = plain_attributes(group.resource.attributes)
        for scoped in group.scope_logs:
            yield _group(resource, scoped.scope, scoped.log_records)


def _parse(message: Any, encoded: bytes) -> Any:
    try:
        return message.FromString(encoded)
    except DecodeError as error:
        raise OutOfOrdinary from error


def _group(resource: Plain, scope: Any, items: Any) -> Group:
    return Group(
        resource=resource,
        scope_name=scope.name,
        scope_version=scope.version,
        scope_attributes=plain_attributes(scope.attributes),
        items=items,
    )


def read_span(span: Any, origin: Origin, problems: Problems) -> SpanRow | None:
    """Read one span; None where it is rejected."""
    trace_id: bytes = span.trace_id
    span_id: bytes = span.span_id
    name: str = span.name
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == NO_TRACE_ID or span_id == NO_SPAN_ID:
        problems.reject(f"{span_label(span_id, name)}: {id_problem(trace_id, span_id)}")
        return None
    parent: bytes = span.parent_span_id
    if parent and len(parent) != 8:
        problems.note(f"{span_label(span_id, name)}: parent span id {parent.hex()!r} is not 8 bytes")
        parent = b""
    start_ns: int = span.start_time_unix_nano
    end_ns: int = span.end_time_unix_nano
    if start_ns > MAX_NS or end_ns > MAX_NS:
        problems.note(f"{span_label(span_id, name)}: {OUT_OF_BOUNDS}")
        start_ns, end_ns = bounded_ns(start_ns), bounded_ns(end_ns)
    attributes, events, links = span.attributes, span.events, span.links
    has_events, has_links = len(events), len(links)
    if len(attributes) > MAX_ITEMS or has_events > MAX_ITEMS or has_links > MAX_ITEMS:
        label = span_label(span_id, name)
        attributes = problems.bounded(attributes, "attributes", label)
        events, links = problems.bounded(events, "events", label), problems.bounded(links, "links", label)
    status = span.status
    return span_row(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        kind=span.kind,
        start_ns=start_ns,
        end_ns=end_ns,
        status=status.code,
        status_message=status.message,
        attributes=attributes_of(attributes),
        events=_events(events) if has_events else [],
        links=_links(links) if has_links else [],
        flags=span.flags,
        trace_state=span.trace_state,
        dropped=span.dropped_attributes_count,
        origin=origin,
        problems=problems,
    )


def _events(events: Iterable[Any]) -> list[Plain]:
    return [
        {
            "name": event.name,
            "time_ns": bounded_ns(event.time_unix_nano),
            "attributes": attributes_of(event.attributes),
        }
        for event in events
    ]


def _links(links: Iterable[Any]) -> list[Plain]:
    return [
        {
            "trace_id": link.trace_id.hex(),
            "span_id": link.span_id.hex(),
            "attributes": attributes_of(link.attributes),
        }
        for link in links
    ]


def read_log(record: Any, origin: Origin, problems: Problems) -> LogRow | EvaluationRow | None:
    """Read one log record; None where it is ignored, for it belongs to no span or holds no content."""
    trace_id: bytes = record.trace_id
    span_id: bytes = record.span_id
    if id_problem(trace_id, span_id) and not _is_evaluation(record):
        problems.ignored += 1
        return None
    attributes = plain_attributes(record.attributes)
    event_name = event_name_of(record.event_name, attributes)
    body = value_of(record.body, 1)
    return log_row(
        trace_id=trace_id,
        span_id=span_id,
        event_name=event_name,
        time_ns=bounded_ns(record.time_unix_nano or record.observed_time_unix_nano),
        body=body,
        attributes=attributes,
        origin=origin,
        problems=problems,
    )


def _is_evaluation(record: Any) -> bool:
    if record.event_name:
        return record.event_name == EVALUATION_RESULT
    return any(pair.key == EVENT_NAME and pair.value.string_value == EVALUATION_RESULT for pair in record.attributes)
