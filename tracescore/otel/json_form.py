"""OTLP JSON to rows, read as tolerantly as senders write it.

Ids as hex or base64, enums as numbers or names, 64-bit integers as strings or numbers, field names in camel or snake
case; unknown fields are skipped. One broken attribute costs itself, one broken span costs itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracescore.errors import InputError
from tracescore.otel.body import (
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
from tracescore.otel.json_value import (
    BrokenValue,
    any_value,
    attributes_of,
    bytes_of,
    enum_of,
    field_of,
    has_field,
    int_of,
    items_of,
    object_of,
    text_of,
)
from tracescore.otel.problems import Problems
from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.otel.semconv import EVALUATION_RESULT

_MAX_UINT32 = 2**32 - 1
_SIGNALS = {"resourceSpans": "traces", "resourceLogs": "logs", "resourceMetrics": "metrics"}


def signals_of(request: Any) -> list[str]:
    """Tell which OTLP requests a JSON value is: of ``traces``, ``logs`` and ``metrics``; none for anything else."""
    if not isinstance(request, dict):
        return []
    message = object_of(request)
    return [signal for name, signal in _SIGNALS.items() if has_field(message, name)]


def trace_groups(request: Any, problems: Problems) -> Iterator[Group]:
    """Read an ``ExportTraceServiceRequest`` into its groups of spans.

    Raises:
        InputError: the value is no such request.
    """
    yield from _groups(_resources(request, "resourceSpans"), "scopeSpans", "spans", problems)


def log_groups(request: Any, problems: Problems) -> Iterator[Group]:
    """Read an ``ExportLogsServiceRequest`` into its groups of log records.

    Raises:
        InputError: the value is no such request.
    """
    yield from _groups(_resources(request, "resourceLogs"), "scopeLogs", "logRecords", problems)


def _resources(request: Any, name: str) -> list[Any]:
    wanted = _SIGNALS[name]
    try:
        message = object_of(request)
    except BrokenValue as error:
        raise InputError(f"the JSON is no OTLP {wanted} request: {error}") from error
    signals = signals_of(request)
    if message and wanted not in signals:
        found = f"it is a {signals[0]} request" if signals else f"it has no {name!r}"
        raise InputError(f"the JSON is no OTLP {wanted} request: {found}")
    try:
        return items_of(message, name)
    except BrokenValue as error:
        raise InputError(f"the JSON is no OTLP {wanted} request: {error}") from error


def _groups(resources: list[Any], scopes_name: str, items_name: str, problems: Problems) -> Iterator[Group]:
    for index, item in enumerate(resources):
        label = f"resource {index}"
        try:
            by_resource = object_of(item)
            resource = attributes_of(_object(by_resource, "resource"), problems, label)
            scopes = items_of(by_resource, scopes_name)
        except BrokenValue as error:
            problems.reject(f"{label}: {error}")
            continue
        for place, scoped in enumerate(scopes):
            label = f"scope {place} of resource {index}"
            try:
                by_scope = object_of(scoped)
                scope = _object(by_scope, "scope")
                items = items_of(by_scope, items_name)
                name, version = text_of(scope, "name"), text_of(scope, "version")
            except BrokenValue as error:
                problems.reject(f"{label}: {error}")
                continue
            yield Group(
                resource=resource,
                scope_name=name,
                scope_version=version,
                scope_attributes=attributes_of(scope, problems, label),
                items=items,
            )


def _object(message: Plain, name: str) -> Plain:
    value = field_of(message, name)
    try:
        return {} if value is None else object_of(value)
    except BrokenValue as error:
        raise BrokenValue(f"{name!r}: {error}") from error


def read_span(item: Any, origin: Origin, problems: Problems) -> SpanRow | None:
    """Read one span; None where it is rejected."""
    label = "a span"
    try:
        span = object_of(item)
        span_id = bytes_of(span, "spanId", 8)
        name = text_of(span, "name")
        label = span_label(span_id, name)
        trace_id = bytes_of(span, "traceId", 16)
        if problem := id_problem(trace_id, span_id):
            raise BrokenValue(problem)
        start_ns, end_ns = int_of(span, "startTimeUnixNano"), int_of(span, "endTimeUnixNano")
        status = _object(span, "status")
        events = problems.bounded(items_of(span, "events"), "events", label)
        links = problems.bounded(items_of(span, "links"), "links", label)
        trace_state, status_message = text_of(span, "traceState"), text_of(status, "message")
        kind, status_code = enum_of(span, "kind", "SPAN_KIND_"), enum_of(status, "code", "STATUS_CODE_")
        flags, dropped = _uint32(span, "flags"), _uint32(span, "droppedAttributesCount")
    except BrokenValue as error:
        problems.reject(f"{label}: {error}")
        return None
    if start_ns != bounded_ns(start_ns) or end_ns != bounded_ns(end_ns):
        problems.note(f"{label}: {OUT_OF_BOUNDS}")
    try:
        parent = bytes_of(span, "parentSpanId", 8)
    except BrokenValue as error:
        problems.note(f"{label}: {error}")
        parent = b""
    return span_row(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        kind=kind,
        start_ns=bounded_ns(start_ns),
        end_ns=bounded_ns(end_ns),
        status=status_code,
        status_message=status_message,
        attributes=attributes_of(span, problems, label),
        events=[event for item in events if (event := _event(item, problems, label))],
        links=[link for item in links if (link := _link(item, problems, label))],
        flags=flags,
        trace_state=trace_state,
        dropped=dropped,
        origin=origin,
        problems=problems,
    )


def _event(item: Any, problems: Problems, label: str) -> Plain | None:
    try:
        event = object_of(item)
        name, time_ns = text_of(event, "name"), bounded_ns(int_of(event, "timeUnixNano"))
    except BrokenValue as error:
        problems.note(f"{label}: an event was left out: {error}")
        return None
    return {"name": name, "time_ns": time_ns, "attributes": attributes_of(event, problems, label)}


def _link(item: Any, problems: Problems, label: str) -> Plain | None:
    try:
        link = object_of(item)
        trace_id, span_id = bytes_of(link, "traceId", 16).hex(), bytes_of(link, "spanId", 8).hex()
    except BrokenValue as error:
        problems.note(f"{label}: a link was left out: {error}")
        return None
    return {"trace_id": trace_id, "span_id": span_id, "attributes": attributes_of(link, problems, label)}


def _uint32(message: Plain, name: str) -> int:
    return min(max(int_of(message, name), 0), _MAX_UINT32)


def _is_evaluation(record: Plain) -> bool:
    if named := field_of(record, "eventName"):
        return named == EVALUATION_RESULT
    return event_name_of("", attributes_of(record, Problems(), "")) == EVALUATION_RESULT


def read_log(item: Any, origin: Origin, problems: Problems) -> LogRow | EvaluationRow | None:
    """Read one log record; None where it is rejected, or ignored for it belongs to no span or holds no content."""
    label = "a log record"
    try:
        record = object_of(item)
        trace_id, span_id = bytes_of(record, "traceId", 16), bytes_of(record, "spanId", 8)
        if id_problem(trace_id, span_id) and not _is_evaluation(record):
            problems.ignored += 1
            return None
        label = f"log record of span {span_id.hex()}"
        time_ns = bounded_ns(int_of(record, "timeUnixNano"))
        observed_ns = bounded_ns(int_of(record, "observedTimeUnixNano"))
        event_name = text_of(record, "eventName")
        body = any_value(field_of(record, "body"), 1, problems, f"{label}: its body")
    except BrokenValue as error:
        problems.reject(f"{label}: {error}")
        return None
    attributes = attributes_of(record, problems, label)
    event_name = event_name_of(event_name, attributes)
    return log_row(
        trace_id=trace_id,
        span_id=span_id,
        event_name=event_name,
        time_ns=time_ns or observed_ns,
        body=body,
        attributes=attributes,
        origin=origin,
        problems=problems,
    )
