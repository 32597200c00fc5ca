"""The one canonical form of a stored span and log record, whatever encoding they came in.

Both decoders build these dicts with the same keys in the same order and leave out what is empty: a span that comes once
as protobuf and once as JSON must give identical bytes, or it would be kept as two copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from tracescore.otel.evaluation import evaluation_row
from tracescore.otel.problems import Problems
from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.otel.semconv import EVALUATION_RESULT, EVENT_NAME, GEN_AI_PREFIX, OWN_NAME, RUN_COMPLETE, SERVICE_NAME

MAX_DEPTH = 24
"""How deep attribute values may nest. protobuf parsers give up at 100 messages, three to a level of key-value lists."""
MAX_NS = 2**63 - 1
NO_TRACE_ID = bytes(16)
NO_SPAN_ID = bytes(8)
STATUS_NAMES = {1: "ok", 2: "error"}

Plain = dict[str, Any]

_ROOMY = 64 * 1024
"""From here on a second copy would cost more than the room that is left behind the first."""

_HELD, _LET_GO = 2047, 64 * 1024
"""Hashing more bytes at once lets the interpreter go, and a thread that writes takes it: won back for each span, that
costs more than the hash. A large body is worth it."""

TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels; what lies deeper was left out"


def exact(dumped: bytes) -> bytes:
    """Give JSON in no more memory than it needs: orjson leaves it in the 4 KB or more that it wrote into."""
    return bytes(memoryview(dumped)) if len(dumped) < _ROOMY else dumped


def copy_hash(body: bytes) -> bytes:
    """Hash a body: what tells two copies of a span apart."""
    # Processors have instructions for this hash: it takes two thirds of the time of those that are faster without.
    size = len(body)
    if size <= _HELD or size > _LET_GO:
        return sha256(body).digest()[:16]
    hashed = sha256(body[:_HELD])
    for start in range(_HELD, size, _HELD):
        hashed.update(body[start : start + _HELD])
    return hashed.digest()[:16]


def says_complete(attributes: Plain) -> bool:
    """Tell whether a span's attributes say that its run is complete."""
    return attributes.get(RUN_COMPLETE) in (True, "true", "True")


def is_own(scope_name: str, resource: Plain) -> bool:
    """Tell whether a group of spans or log records is tracescore's own: those are never scored."""
    return scope_name == OWN_NAME or resource.get(SERVICE_NAME) == OWN_NAME


def event_name_of(event_name: str, attributes: Plain) -> str:
    """Give a log record's event name, from its own field or from the attribute that older SDKs use."""
    if event_name:
        return event_name
    named = attributes.get(EVENT_NAME)
    return named if isinstance(named, str) else ""


def is_content(event_name: str, body: Any, attributes: Plain) -> bool:
    """Tell whether a log record that belongs to a span may hold messages, unlike a line of an ordinary log."""
    if event_name.startswith(GEN_AI_PREFIX) or isinstance(body, (dict, list)):
        return True
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        return True
    return any(key.startswith(GEN_AI_PREFIX) for key in attributes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The spans or log records of one resource and one scope, in the decoder's own form."""

    resource: Plain
    scope_name: str = ""
    scope_version: str = ""
    scope_attributes: Plain = field(default_factory=dict)
    items: Sequence[Any] = ()


class Origin(NamedTuple):
    """A group's resource and scope, serialised once for all its rows."""

    resource: orjson.Fragment
    scope: orjson.Fragment


def origin_of(group: Group) -> Origin:
    """Serialise what all rows of a group share."""
    scope: Plain = {"name": group.scope_name, "version": group.scope_version}
    if group.scope_attributes:
        scope["attributes"] = group.scope_attributes
    return Origin(orjson.Fragment(orjson.dumps(group.resource)), orjson.Fragment(orjson.dumps(scope)))


def id_problem(trace_id: bytes, span_id: bytes) -> str | None:
    """Say why a span cannot be kept under its ids, or None where it can."""
    if len(trace_id) != 16 or trace_id == NO_TRACE_ID:
        return f"trace id {trace_id.hex()!r} is not 16 bytes that are not all zero"
    if len(span_id) != 8 or span_id == NO_SPAN_ID:
        return f"span id {span_id.hex()!r} is not 8 bytes that are not all zero"
    return None


def span_label(span_id: bytes, name: str) -> str:
    """Name a span in a reason."""
    return f"span {span_id.hex() or '(no id)'} {name[:60]!r}"


OUT_OF_BOUNDS = "a time before 1970 or past the year 2262 was left out"
"""What is said of a span whose times are none."""


def bounded_ns(time_ns: int) -> int:
    """Give a time that a signed 64-bit column holds; what is out of bounds is no time, so 0."""
    return time_ns if 0 <= time_ns <= MAX_NS else 0


def span_row(
    *,
    trace_id: bytes,
    span_id: bytes,
    parent_span_id: bytes,
    name: str,
    kind: int,
    start_ns: int,
    end_ns: int,
    status: int,
    status_message: str,
    attributes: Plain,
    events: list[Plain],
    links: list[Plain],
    flags: int,
    trace_state: str,
    dropped: int,
    origin: Origin,
    problems: Problems,
) -> SpanRow:
    """Build the row of one received copy of a span."""
    plain: Plain = {"trace_id": trace_id.hex(), "span_id": span_id.hex()}
    if parent_span_id and parent_span_id != NO_SPAN_ID:
        plain["parent_span_id"] = parent_span_id.hex()
        parent = parent_span_id
    else:
        parent = None
    plain["name"] = name
    if kind:
        plain["kind"] = kind
    plain["start_ns"] = start_ns
    plain["end_ns"] = end_ns
    if status in STATUS_NAMES:
        plain["status"] = STATUS_NAMES[status]
    if status_message:
        plain["status_message"] = status_message
    plain["attributes"] = attributes
    if events:
        plain["events"] = events
    if links:
        plain["links"] = links
    if flags:
        plain["flags"] = flags
    if trace_state:
        plain["trace_state"] = trace_state
    if dropped:
        plain["dropped_attributes"] = dropped
    plain["resource"], plain["scope"] = origin
    body = exact(orjson.dumps(plain))
    complete = RUN_COMPLETE in attributes and says_complete(attributes)
    evaluations = _evaluations(trace_id, span_id, events, origin, problems) if events else ()
    return SpanRow(trace_id, span_id, copy_hash(body), parent, start_ns, end_ns, flags, complete, body, evaluations)


def _evaluations(
    trace_id: bytes, span_id: bytes, events: list[Plain], origin: Origin, problems: Problems
) -> tuple[EvaluationRow, ...]:
    results = [event for event in events if event["name"] == EVALUATION_RESULT]
    if not results:
        return ()
    rows = (
        evaluation_row(
            trace_id=trace_id,
            span_id=span_id,
            time_ns=event["time_ns"],
            attributes=event["attributes"],
            origin=origin._asdict(),
            problems=problems,
        )
        for event in results
    )
    return tuple(row for row in rows if row is not None)


def log_row(
    *,
    trace_id: bytes,
    span_id: bytes,
    event_name: str,
    time_ns: int,
    body: Any,
    attributes: Plain,
    origin: Origin,
    problems: Problems,
) -> LogRow | EvaluationRow | None:
    """Build the row of one received copy of a log record; None where it holds nothing that is kept."""
    if event_name == EVALUATION_RESULT:
        return evaluation_row(
            trace_id=trace_id,
            span_id=span_id,
            time_ns=time_ns,
            attributes=attributes,
            origin=origin._asdict(),
            problems=problems,
        )
    if not is_content(event_name, body, attributes):
        problems.ignored += 1
        return None
    plain: Plain = {"trace_id": trace_id.hex(), "span_id": span_id.hex()}
    if event_name:
        plain["event_name"] = event_name
    plain["time_ns"] = time_ns
    if body is not None:
        plain["body"] = body
    plain["attributes"] = attributes
    plain["resource"], plain["scope"] = origin
    encoded = exact(orjson.dumps(plain))
    return LogRow(trace_id, span_id, copy_hash(encoded), time_ns, encoded)
