"""Stored copies of a span back to one span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tracescore.model import LogRecord, Span, SpanEvent, SpanLink
from tracescore.otel.body import Plain, copy_hash


def read_span(copies: Sequence[bytes], *, arrived_ns: int = 0) -> Span:
    """Fold the stored copies of one span into it: any order of the copies gives the same span.

    The copy that ends last wins (a span exported at its start has no end yet), then the one with the smaller hash;
    what it lacks comes from the others: attributes, events, links, a parent, a status.
    """
    if len(copies) == 1:
        return _span(orjson.loads(copies[0]), arrived_ns)
    # Sorted by what the copies hold, since the order in which they are handed over may be that of arrival.
    distinct = sorted(set(copies), key=copy_hash)
    plains: list[Plain] = [orjson.loads(copy) for copy in distinct]
    plains.sort(key=lambda plain: -plain["end_ns"])
    folded = plains[0]
    for plain in plains[1:]:
        _unite(folded, plain)
    for name in ("events", "links", "truncated"):
        if lists := [plain[name] for plain in plains if name in plain]:
            folded[name] = _united(lists)
    return _span(folded, arrived_ns)


def _unite(into: Plain, other: Plain) -> None:
    for name in ("attributes", "resource"):
        have: Plain = into[name]
        for key, value in other[name].items():
            have.setdefault(key, value)
    for name in ("parent_span_id", "kind", "status", "status_message", "flags", "trace_state"):
        if name in other and name not in into:
            into[name] = other[name]
    into["name"] = into["name"] or other["name"]
    into["start_ns"] = into["start_ns"] or other["start_ns"]


def _united(lists: list[list[Any]]) -> list[Any]:
    first, *others = lists
    united = list(first)
    # Compared by what is written: each with each would take minutes where a hostile sender repeats thousands.
    have = {_written(item) for item in first}
    for item in (item for other in others for item in other):
        if (written := _written(item)) not in have:
            have.add(written)
            united.append(item)
    return united


def _written(item: Any) -> bytes:
    return orjson.dumps(item, option=orjson.OPT_SORT_KEYS)


def _span(plain: Plain, arrived_ns: int) -> Span:
    events: list[Plain] = plain.get("events", [])
    links: list[Plain] = plain.get("links", [])
    scope: Plain = plain["scope"]
    return Span(
        trace_id=plain["trace_id"],
        span_id=plain["span_id"],
        name=plain["name"],
        parent_span_id=plain.get("parent_span_id"),
        kind=plain.get("kind", 0),
        start_ns=plain["start_ns"],
        end_ns=plain["end_ns"],
        status=plain.get("status", "unset"),
        status_message=plain.get("status_message", ""),
        attributes=plain["attributes"],
        events=tuple(
            SpanEvent(name=event["name"], time_ns=event["time_ns"], attributes=event["attributes"]) for event in events
        ),
        links=tuple(
            SpanLink(trace_id=link["trace_id"], span_id=link["span_id"], attributes=link["attributes"])
            for link in links
        ),
        resource=plain["resource"],
        scope_name=scope["name"],
        scope_version=scope["version"],
        flags=plain.get("flags", 0),
        trace_state=plain.get("trace_state", ""),
        dropped_attributes=plain.get("dropped_attributes", 0),
        truncated=tuple(plain.get("truncated", ())),
        arrived_ns=arrived_ns,
    )


def read_log(body: bytes, *, arrived_ns: int = 0) -> LogRecord:
    """Read a stored log record."""
    plain: Plain = orjson.loads(body)
    scope: Plain = plain["scope"]
    return LogRecord(
        trace_id=plain["trace_id"],
        span_id=plain["span_id"],
        event_name=plain.get("event_name", ""),
        time_ns=plain["time_ns"],
        body=plain.get("body"),
        attributes=plain["attributes"],
        resource=plain["resource"],
        scope_name=scope["name"],
        scope_version=scope["version"],
        truncated=tuple(plain.get("truncated", ())),
        arrived_ns=arrived_ns,
    )
