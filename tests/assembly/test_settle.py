"""When a run is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.assembly.building import agent, asks, llm, says, span, span_id, tool, trace
from tracescore.model import JSONValue, LogRecord, Span
from tracescore.pipeline.assembly import AssembledRun, assemble
from tracescore.pipeline.settle import Settled, settle

SECOND = 1_000_000_000
ASK = [says("user", "how is it?")]
DONE = says("assistant", "fine")
REMOTE, LOCAL, UNFLAGGED = 0x300, 0x100, 0


def assembled(*spans: Span, of: str = "bot", logs: Sequence[LogRecord] = ()) -> AssembledRun:
    return next(found for found in assemble(trace(*spans, logs=logs)) if found.run.span_id == span_id(of))


def settled(found: AssembledRun, seconds: float) -> Settled:
    return settle(found, now_ns=int(seconds * SECOND), quiet_ns=10 * SECOND, orphan_ns=60 * SECOND, max_ns=600 * SECOND)


def finished(arrived: float = 100, **more: Any) -> tuple[Span, Span]:
    at = int(arrived * SECOND)
    return (
        agent("bot", until=9, arrived=at, **more),
        llm("one", parent="bot", at=1, given=ASK, answer=DONE, arrived=at - SECOND),
    )


def test_a_finished_run_is_ready_when_nothing_came_for_the_quiet_time() -> None:
    found = assembled(*finished())

    assert settled(found, 105) == Settled(ready=False, next_check_ns=110 * SECOND)
    assert settled(found, 110) == Settled(ready=True)


def test_a_log_record_that_comes_late_starts_the_quiet_time_again() -> None:
    log = LogRecord(trace_id=trace().trace_id, span_id=span_id("one"), arrived_ns=108 * SECOND)

    assert settled(assembled(*finished(), logs=[log]), 111) == Settled(ready=False, next_check_ns=118 * SECOND)


def test_a_score_that_comes_back_as_an_event_does_not() -> None:
    log = LogRecord(
        trace_id=trace().trace_id,
        span_id=span_id("one"),
        event_name="gen_ai.evaluation.result",
        arrived_ns=108 * SECOND,
    )

    assert settled(assembled(*finished(), logs=[log]), 111).ready


def test_a_remote_parent_counts_as_absent_at_once() -> None:
    found = assembled(*finished(parent="gateway", flags=REMOTE))

    assert found.parent == "remote"
    assert settled(found, 110).ready
    assert found.run.issues == ()


@pytest.mark.parametrize("flags", [LOCAL, UNFLAGGED])
def test_a_local_parent_that_has_not_come_is_waited_for(flags: int) -> None:
    found = assembled(*finished(parent="lost", flags=flags))

    assert found.parent == "missing"
    assert settled(found, 110) == Settled(ready=False, next_check_ns=160 * SECOND)
    assert settled(found, 160).ready


def test_a_parent_that_comes_late_makes_the_run_nested_and_ready_in_the_quiet_time() -> None:
    spans = finished(parent="exec")
    late = (
        agent("boss", until=40, arrived=300 * SECOND),
        llm("b1", parent="boss", at=0, until=1, given=ASK, answer=asks("ask"), arrived=300 * SECOND),
        tool("exec", called="ask", parent="boss", at=0, until=30, arrived=300 * SECOND),
    )

    alone, nested = assembled(*spans), assembled(*spans, *late)

    assert (alone.run.outermost, nested.run.outermost) == (True, False)
    assert alone.run.run_id == nested.run.run_id
    assert nested.parent == "present"
    assert settled(nested, 110).ready


def test_an_open_span_inside_holds_a_run_until_the_longest_wait() -> None:
    found = assembled(*finished(), tool("exec", called="look", parent="bot", at=2, until=0, arrived=100 * SECOND))

    assert found.open_spans
    assert settled(found, 650) == Settled(ready=False, next_check_ns=700 * SECOND)
    assert settled(found, 700).ready


def test_a_run_whose_own_span_is_open_waits() -> None:
    found = assembled(
        agent("bot", until=0, arrived=100 * SECOND),
        llm("one", parent="bot", at=1, given=ASK, answer=DONE, arrived=100 * SECOND),
    )

    assert (found.open_spans, found.ended_ns) == (True, 0)
    assert not settled(found, 200).ready


def test_a_span_named_as_a_parent_and_not_received_is_open() -> None:
    inside = llm("two", parent="lost", at=3, given=ASK, answer=DONE, arrived=100 * SECOND)

    found = assembled(*finished(), inside)

    assert found.open_spans
    assert not settled(found, 200).ready


def test_two_agents_below_one_missing_parent_do_not_hold_each_other() -> None:
    spans = finished(parent="lost")
    other = agent("other", parent="lost", at=2, until=5, arrived=100 * SECOND)

    found = assembled(*spans, other)

    assert not found.open_spans
    assert settled(found, 160).ready


def test_a_nested_run_does_not_wait_for_the_one_around_it() -> None:
    found = assembled(
        agent("boss", until=0, arrived=100 * SECOND),
        llm("b1", parent="boss", at=0, until=1, given=ASK, answer=asks("ask"), arrived=100 * SECOND),
        tool("exec", called="ask", parent="boss", at=1, until=0, arrived=100 * SECOND),
        *finished(parent="exec"),
    )

    assert not found.open_spans
    assert settled(found, 110).ready


def test_a_nested_run_does_not_wait_for_a_parent_that_only_the_outer_one_misses() -> None:
    found = assembled(
        agent("boss", parent="lost", until=40, arrived=100 * SECOND),
        llm("b1", parent="boss", at=0, until=1, given=ASK, answer=asks("ask"), arrived=100 * SECOND),
        tool("exec", called="ask", parent="boss", at=1, until=30, arrived=100 * SECOND),
        *finished(parent="exec"),
    )

    assert found.parent == "present"
    assert settled(found, 110).ready


def test_a_run_that_says_it_is_complete_is_ready_at_once() -> None:
    spans = (
        agent("bot", until=0, arrived=100 * SECOND),
        llm("one", parent="bot", at=1, given=ASK, answer=DONE, attributes={"tracescore.run.complete": True}),
    )

    assert settled(assembled(*spans), 100).ready


def test_a_nested_run_that_is_complete_completes_no_other() -> None:
    done: dict[str, JSONValue] = {"tracescore.run.complete": True}
    spans = (
        agent("bot", until=0, arrived=100 * SECOND),
        tool("exec", called="helper", parent="bot", at=1, until=0, arrived=100 * SECOND),
        agent("helper", parent="exec", at=2, until=5, arrived=100 * SECOND, attributes=done),
    )

    assert settled(assembled(*spans, of="helper"), 100).ready
    assert not settled(assembled(*spans), 100).ready


def test_a_wrapper_that_is_complete_completes_the_run_that_took_its_place() -> None:
    spans = (
        agent("outer", until=0, arrived=100 * SECOND, attributes={"tracescore.run.complete": True}),
        agent("bot", parent="outer", until=9, arrived=100 * SECOND),
        llm("one", parent="bot", at=1, given=ASK, answer=DONE, arrived=100 * SECOND),
    )

    assert settled(assembled(*spans), 100).ready


def test_a_run_that_handed_over_waits_for_the_one_that_took_over() -> None:
    found = assembled(
        span("flow", until=60, arrived=100 * SECOND),
        agent("bot", parent="flow", at=1, until=9, arrived=100 * SECOND),
        llm("one", parent="bot", at=2, given=ASK, answer=asks("transfer_to_helper"), arrived=100 * SECOND),
        agent("helper", parent="flow", at=10, until=0, arrived=105 * SECOND),
    )

    assert span_id("helper") in found.span_ids
    assert found.open_spans
    assert found.last_arrival_ns == 105 * SECOND


def test_spans_from_a_file_are_settled_at_once() -> None:
    assert settled(assembled(*finished(arrived=1)), 100).ready
