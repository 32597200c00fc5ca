"""A chat whose turns share one trace, without an agent's span around each."""

from __future__ import annotations

import pytest

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span

SYSTEM = says("system", "be brief")
PAST = [says("user", "hi"), says("assistant", "hello")]
ASK = says("user", "how is it?")
DONE = says("assistant", "fine")


@pytest.mark.parametrize("inside", ["agent", "trace"])
def test_what_a_user_says_later_in_one_trace_stands_between_the_answers(inside: str) -> None:
    later = [ASK, DONE, says("user", "and now?")]
    called = [asks("look"), returns("rain")]
    top = agent("bot", until=9) if inside == "agent" else span("bot", until=9)

    run = runs(
        top,
        llm("one", parent="bot", at=1, given=[SYSTEM, *PAST, ASK], answer=DONE),
        llm("two", parent="bot", at=3, given=[SYSTEM, *PAST, *later], answer=called[0]),
        llm("three", parent="bot", at=5, given=[SYSTEM, *PAST, *later, *called], answer=says("assistant", "rain")),
    )["bot"]

    assert brief(run.input.input_messages) == ["u: how is it?"]
    # Inside an agent's invocation it may be a framework's own word, and no user's.
    assert brief(run.output) == [
        "a: fine",
        *(["u: and now?"] if inside == "trace" else []),
        "a: look({}) -> rain",
        "a: rain",
    ]
    assert run.output.text == "rain"


def test_a_last_answer_that_is_not_recorded_is_missed_behind_what_the_user_said() -> None:
    (run,) = runs(
        span("loop", until=9),
        llm("one", parent="loop", at=1, given=[ASK], answer=None),
        llm("two", parent="loop", at=3, given=[ASK, DONE, says("user", "and now?")], answer=None),
    ).values()

    assert brief(run.output) == ["a: fine", "u: and now?"]
    assert [issue.code for issue in run.issues] == ["content_not_captured"]


def test_a_last_turn_that_failed_fails_the_run_though_earlier_ones_were_answered() -> None:
    run = runs(
        span("loop", until=9),
        llm("one", parent="loop", at=1, given=[ASK], answer=DONE),
        llm("two", parent="loop", at=3, given=[ASK, DONE, says("user", "and now?")], answer=None, status="error"),
    )["loop"]

    assert brief(run.output) == ["a: fine", "u: and now?"]
    assert run.status == "error"
