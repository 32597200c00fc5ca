"""OTLP protobuf to rows, piece by piece: for requests that the strict parser refuses whole.

The messages are OTLP's own with every text and every message in them read as bytes, so that each piece is parsed by
itself: a string that is not UTF-8, an attribute nested too deeply or a span cut in the middle costs that piece alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from google.protobuf.message import DecodeError

from tracescore.errors import InputError
from tracescore.otel.body import (
    MAX_DEPTH,
    TOO_DEEP,
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
from tracescore.otel.problems import Problems
from tracescore.otel.raw_bytes import bytes_as_text
from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.otel.schemas import all_as_bytes, message_type
from tracescore.otel.semconv import EVALUATION_RESULT

NOT_UTF8 = "holds bytes that are not UTF-8; they were replaced"


def _parse(name: str, encoded: bytes) -> Any:
    return message_type(name, all_as_bytes).FromString(encoded)


def trace_groups(encoded: bytes, problems: Problems) -> Iterator[Group]:
    """Read an ``ExportTraceServiceRequest`` into its groups of spans, each span still bytes.

    Raises:
        InputError: the bytes are no such request at all.
    """
    request = _request("collector.trace.v1.ExportTraceServiceRequest", encoded)
    yield from _groups(request.resource_spans, "trace.v1", "Spans", "spans", problems)


def log_groups(encoded: bytes, problems: Problems) -> Iterator[Group]:
    """Read an ``ExportLogsServiceRequest`` into its groups of log records, each record still bytes.

    Raises:
        InputError: the bytes are no such request at all.
    """
    request = _request("collector.logs.v1.ExportLogsServiceRequest", encoded)
    yield from _groups(request.resource_logs, "logs.v1", "Logs", "log_records", problems)


def _request(name: str, encoded: bytes) -> Any:
    try:
        return _parse(name, encoded)
    except DecodeError as error:
        hint = "; it looks like JSON" if encoded.lstrip()[:1] in (b"{", b"[") else ""
        raise InputError(f"the body is not an OTLP protobuf {name.rpartition('.')[2]}{hint}") from error


def _groups(resources: Sequence[bytes], package: str, kind: str, items: str, problems: Problems) -> Iterator[Group]:
    found = False
    for index, encoded in enumerate(resources):
        try:
            by_resource = _parse(f"{package}.Resource{kind}", encoded)
            resource = _attributes(
                _parse("resource.v1.Resource", by_resource.resource).attributes, problems, f"resource {index}"
            )
            scopes: Sequence[bytes] = getattr(by_resource, f"scope_{kind.lower()}")
        except DecodeError:
            problems.reject(f"resource {index}: broken protobuf; nothing of it was read")
            continue
        for place, encoded_scope in enumerate(scopes):
            try:
                by_scope = _parse(f"{package}.Scope{kind}", encoded_scope)
                scope = _parse("common.v1.InstrumentationScope", by_scope.scope)
            except DecodeError:
                problems.reject(f"scope {place} of resource {index}: broken protobuf; nothing of it was read")
                continue
            found = True
            yield Group(
                resource=resource,
                scope_name=_text(scope.name),
                scope_version=_text(scope.version),
                scope_attributes=_attributes(scope.attributes, problems, f"scope {place} of resource {index}"),
                items=list(getattr(by_scope, items)),
            )
    if resources and not found and problems.rejected:
        raise InputError(f"the body is not OTLP protobuf: {problems.reasons[0]}")


def read_span(encoded: bytes, origin: Origin, problems: Problems) -> SpanRow | None:
    """Read one span; None where it is rejected."""
    try:
        span = _parse("trace.v1.Span", encoded)
        status = _parse("trace.v1.Status", span.status)
    except DecodeError:
        problems.reject("a span is broken protobuf")
        return None
    name = _text(span.name)
    label = span_label(span.span_id, name)
    if problem := id_problem(span.trace_id, span.span_id):
        problems.reject(f"{label}: {problem}")
        return None
    parent = span.parent_span_id
    if parent and len(parent) != 8:
        problems.note(f"{label}: parent span id {parent.hex()!r} is not 8 bytes")
        parent = b""
    events: list[Plain] = []
    for event in _pieces(
        "trace.v1.Span.Event", problems.bounded(span.events, "events", label), problems, f"{label}: an event"
    ):
        attributes = _attributes(event.attributes, problems, label)
        events.append(
            {"name": _text(event.name), "time_ns": bounded_ns(event.time_unix_nano), "attributes": attributes}
        )
    links: list[Plain] = []
    for link in _pieces(
        "trace.v1.Span.Link", problems.bounded(span.links, "links", label), problems, f"{label}: a link"
    ):
        attributes = _attributes(link.attributes, problems, label)
        links.append({"trace_id": link.trace_id.hex(), "span_id": link.span_id.hex(), "attributes": attributes})
    return span_row(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=parent,
        name=name,
        kind=span.kind,
        start_ns=bounded_ns(span.start_time_unix_nano),
        end_ns=bounded_ns(span.end_time_unix_nano),
        status=status.code,
        status_message=_text(status.message),
        attributes=_attributes(span.attributes, problems, label),
        events=events,
        links=links,
        flags=span.flags,
        trace_state=_text(span.trace_state),
        dropped=span.dropped_attributes_count,
        origin=origin,
        problems=problems,
    )


def read_log(encoded: bytes, origin: Origin, problems: Problems) -> LogRow | EvaluationRow | None:
    """Read one log record; None where it is rejected, or ignored for it belongs to no span or holds no content."""
    try:
        record = _parse("logs.v1.LogRecord", encoded)
    except DecodeError:
        problems.reject("a log record is broken protobuf")
        return None
    label = f"log record of span {record.span_id.hex()}"
    attributes = _attributes(record.attributes, problems, label)
    event_name = event_name_of(_text(record.event_name), attributes)
    if event_name != EVALUATION_RESULT and id_problem(record.trace_id, record.span_id):
        problems.ignored += 1
        return None
    try:
        body = _value(record.body, 1, problems, f"{label}: its body")
    except DecodeError:
        problems.reject(f"{label}: its body is broken protobuf")
        return None
    return log_row(
        trace_id=record.trace_id,
        span_id=record.span_id,
        event_name=event_name,
        time_ns=bounded_ns(record.time_unix_nano or record.observed_time_unix_nano),
        body=body,
        attributes=attributes,
        origin=origin,
        problems=problems,
    )


def _pieces(name: str, pieces: Sequence[bytes], problems: Problems, label: str) -> Iterator[Any]:
    for piece in pieces:
        try:
            yield _parse(name, piece)
        except DecodeError:
            problems.note(f"{label} is broken protobuf and was left out")


def _attributes(pairs: Sequence[bytes], problems: Problems, label: str) -> Plain:
    attributes: Plain = {}
    pairs = problems.bounded(pairs, "attributes", label)
    for pair in _pieces("common.v1.KeyValue", pairs, problems, f"{label}: an attribute"):
        key = _text(pair.key)
        try:
            value = _value(pair.value, 1, problems, f"{label}: attribute {key[:80]!r}")
        except DecodeError:
            problems.note(f"{label}: attribute {key[:80]!r} is broken protobuf and was left out")
            continue
        if value is not None and (value.__class__ is not float or isfinite(value)):
            attributes[key] = value
    return attributes


def _value(encoded: bytes, depth: int, problems: Problems, label: str) -> Any:
    value = _parse("common.v1.AnyValue", encoded)
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    content: Any = getattr(value, kind)
    if kind == "string_value":
        text = _text(content)
        if "\ufffd" in text and text.encode() != content:
            problems.note(f"{label} {NOT_UTF8}")
        return text
    if kind == "bytes_value":
        return bytes_as_text(content)
    if kind not in ("array_value", "kvlist_value"):
        return content
    if depth >= MAX_DEPTH:
        problems.note(f"{label} {TOO_DEEP}")
        return None
    if kind == "array_value":
        items: Sequence[bytes] = _parse("common.v1.ArrayValue", content).values
        return [_value(item, depth + 1, problems, label) for item in items]
    pairs = [_parse("common.v1.KeyValue", pair) for pair in _parse("common.v1.KeyValueList", content).values]
    return {_text(pair.key): _value(pair.value, depth + 1, problems, label) for pair in pairs}


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "replace")
