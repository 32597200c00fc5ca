"""Recorded traces as drafts, disturbed: spans lost, moved, told twice, hung elsewhere, with other values in them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.drafts import Draft
from tests.fuzz.mutations import changed
from tests.fuzz.seeds import recorded_files, rows_of
from tracescore.model import LogRecord, Span
from tracescore.otel import JSON, decode_logs, decode_traces, read_log, read_span

_MOST_SPANS = 14
_MOST_BYTES = 30_000
MISSING = 99
"""A place that no span has: a parent that was never received."""
_WAYS = ("drop", "hang", "hang", "move", "same time", "open", "twice", "lend", "value", "value", "value", "lose")


@cache
def recordings() -> tuple[tuple[Draft, ...], ...]:
    """Give the first trace of each recorded file that is small enough."""
    return tuple(drafts for file in recorded_files(_MOST_BYTES) if (drafts := _drafts(file.read_bytes())))


def _drafts(body: bytes) -> tuple[Draft, ...]:
    traces: dict[bytes, dict[bytes, list[bytes]]] = {}
    for row in rows_of(decode_traces, body, JSON):
        traces.setdefault(row.trace_id, {}).setdefault(row.span_id, []).append(row.body)
    if not traces:
        return ()
    trace_id, copies = max(traces.items(), key=lambda found: len(found[1]))
    spans = sorted((read_span(bodies) for bodies in copies.values()), key=lambda span: (span.start_ns, span.span_id))
    if len(spans) > _MOST_SPANS:
        return ()
    logs = [read_log(row.body) for row in rows_of(decode_logs, body, JSON) if row.trace_id == trace_id]
    places = {span.span_id: place for place, span in enumerate(spans)}
    begun = min(span.start_ns for span in spans)
    return tuple(_draft(span, places, begun, [log for log in logs if log.span_id == span.span_id]) for span in spans)


def _draft(span: Span, places: dict[str, int], begun: int, logs: Sequence[LogRecord]) -> Draft:
    parent = span.parent_span_id
    return {
        "name": span.name,
        "parent": places.get(parent, MISSING) if parent else None,
        "at": span.start_ns - begun,
        "until": span.end_ns - begun if span.end_ns else 0,
        "flags": span.flags,
        "status": span.status,
        "scope": span.scope_name,
        "version": span.scope_version,
        "resource": dict(span.resource),
        "attributes": dict(span.attributes),
        "events": [{"name": one.name, "at": one.time_ns, "attributes": dict(one.attributes)} for one in span.events],
        "logs": [
            {"name": one.event_name, "at": one.time_ns, "body": one.body, "attributes": dict(one.attributes)}
            for one in logs
        ],
    }


def _joined(first: Sequence[Draft], second: Sequence[Draft], under: int | None) -> list[Draft]:
    """Put a second recording into the first trace: beneath one of its spans, or beside them all."""
    shift = len(first)
    place = None if under is None else under % shift
    moved = [deepcopy(draft) for draft in second]
    for draft in moved:
        parent = draft["parent"]
        draft["parent"] = place if parent is None else parent + shift if parent != MISSING else MISSING
    return [*(deepcopy(draft) for draft in first), *moved]


def disturbed(
    first: Sequence[Draft], second: Sequence[Draft], under: int | None, steps: Sequence[tuple[str, int, int]]
) -> list[Draft]:
    """Join two recordings and change them, one step after the other; a dropped span leaves its place empty."""
    drafts = _joined(first, second, under)
    gone: set[int] = set()
    for way, place, number in steps:
        here, other = place % len(drafts), number % len(drafts)
        draft = drafts[here]
        match way:
            case "drop":
                gone.add(here)
            case "hang":
                draft["parent"] = (None, MISSING, other, other)[number % 4]
            case "move":
                draft["at"], draft["until"] = drafts[other]["at"], drafts[other]["until"]
            case "same time":
                for one in drafts:
                    one["at"] = 5
            case "open":
                draft["until"] = 0
            case "twice":
                drafts.append({**deepcopy(draft), "scope": f"again {number % 2}"})
            case "lend":
                draft["attributes"] = {**drafts[other]["attributes"], **draft["attributes"]}
            case "lose":
                names = sorted(draft["attributes"])
                draft["attributes"].pop(names[number % len(names)] if names else "", None)
            case _:
                _revalue(draft, number)
    # What is gone is made empty and hung nowhere: places are ids, so that the others keep theirs.
    return [{"parent": MISSING, "lost": True} if place in gone else draft for place, draft in enumerate(drafts)]


def _revalue(draft: Draft, number: int) -> None:
    draw = random.Random(number)
    held = [one for one in _holders(draft) if one]
    if held:
        values = draw.choice(held)
        name = draw.choice(sorted(values))
        values[name] = changed(deepcopy(values[name]), draw)


def _holders(draft: Draft) -> Iterator[dict[str, Any]]:
    yield draft["attributes"]
    for record in (*draft["events"], *draft["logs"]):
        yield record["attributes"]
        if isinstance(record.get("body"), dict):
            yield record["body"]


def disturbed_recordings() -> st.SearchStrategy[list[Draft]]:
    """Give a strategy of one or two recordings in one trace, changed in up to eight steps."""
    places = st.integers(0, 40)
    steps = st.lists(st.tuples(st.sampled_from(_WAYS), places, st.integers(0, 10_000)), max_size=8)
    first = st.deferred(lambda: st.sampled_from(recordings()))
    second = st.just(()) | st.deferred(lambda: st.sampled_from(recordings()))
    return st.builds(disturbed, first, second, st.none() | places, steps)
