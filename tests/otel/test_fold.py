"""Copies of a span back to one span, in whatever order they are handed over."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, span, traces
from tracescore.model import Span, SpanEvent
from tracescore.otel import JSON, decode_traces, read_span


def copy_of(values: dict[str, Any], **fields: Any) -> bytes:
    [row] = decode_traces(as_json(traces(span(values, **fields), resource={"service.name": "shop"})), JSON).rows
    return row.body


def test_a_copy_made_at_the_start_is_completed_by_the_one_made_at_the_end() -> None:
    event = {"name": "first token", "timeUnixNano": "4"}
    started = copy_of({"a": 1, "b": 1}, startTimeUnixNano="3", endTimeUnixNano="0", parentSpanId="00f067aa0ba902b7")
    ended = copy_of({"b": 2, "c": 2}, startTimeUnixNano="3", endTimeUnixNano="9", events=[event], status={"code": 1})

    assert read_span([started, ended], arrived_ns=5) == Span(
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        name="chat",
        parent_span_id="00f067aa0ba902b7",
        start_ns=3,
        end_ns=9,
        status="ok",
        attributes={"a": 1, "b": 2, "c": 2},
        events=(SpanEvent(name="first token", time_ns=4),),
        resource={"service.name": "shop"},
        scope_name="agent",
        arrived_ns=5,
    )


def test_what_one_copy_repeats_stays_and_what_two_copies_share_is_one() -> None:
    twice = [{"name": "token"}, {"name": "token"}]
    ended = copy_of({}, endTimeUnixNano="9", events=twice)
    started = copy_of({}, endTimeUnixNano="0", events=[*twice, {"name": "start"}, {"name": "start"}])

    assert [event.name for event in read_span([started, ended]).events] == ["token", "token", "start"]


@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)), st.integers(0, 3), st.integers(0, 2)),
        min_size=2,
        max_size=4,
    )
)
def test_any_order_of_copies_gives_the_same_span(copies: list[tuple[dict[str, int], int, int]]) -> None:
    bodies = [
        copy_of(values, endTimeUnixNano=str(end), events=[{"name": str(event)}] if event else [], kind=event)
        for values, end, event in copies
    ]
    folded = [read_span(order) for order in permutations(bodies)]

    assert all(repr(other) == repr(folded[0]) for other in folded)
