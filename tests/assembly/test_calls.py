"""What several spans record of one model call is one call."""

from __future__ import annotations

import pytest

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span
from tracescore.model import JSONValue

ASK = [says("user", "how is it?")]
DONE = says("assistant", "fine")


def test_nested_spans_of_one_response_are_one_call_and_unite_their_fields() -> None:
    run = runs(
        span("app", until=20),
        llm("outer", parent="app", at=1, until=9, given=ASK, answer=DONE, attributes={"gen_ai.response.id": "r1"}),
        llm(
            "inner",
            parent="outer",
            at=2,
            until=8,
            attributes={"gen_ai.response.id": "r1", "gen_ai.usage.cache_write.input_tokens": 3},
        ),
    )["app"]

    assert brief(run.output) == ["a: fine"]
    assert (run.usage.input, run.usage.cache_write) == (10, 3)


def test_copies_side_by_side_are_one_call() -> None:
    run = runs(
        span("app", until=20),
        llm("one", parent="app", at=1, until=9, given=ASK, answer=DONE, attributes={"gen_ai.response.id": "r1"}),
        llm("two", parent="app", at=2, until=8, scope="sdk", attributes={"gen_ai.response.id": "r1"}),
    )["app"]

    assert run.usage.input == 10


@pytest.mark.parametrize(
    ("summed", "own", "output"),
    [(12, 11, 11), (22, 11, 11), (100, 1, 100), (11, 12, 11)],
    ids=["at the start one", "at the start all", "the library counted the start only", "fewer is no sum"],
)
def test_a_stream_that_says_its_count_twice_is_counted_once(summed: int, own: int, output: int) -> None:
    def counted(tokens: int) -> dict[str, JSONValue]:
        return {"gen_ai.response.id": "r1", "gen_ai.usage.output_tokens": tokens}

    run = runs(
        span("app", until=20),
        llm("one", parent="app", at=1, until=9, given=ASK, answer=DONE, attributes=counted(summed)),
        llm("two", parent="app", at=2, until=8, scope="sdk", attributes=counted(own)),
    )["app"]

    assert run.usage.output == output


def test_a_second_instrumentation_without_content_and_id_is_no_second_call() -> None:
    run = runs(
        span("app", until=20),
        llm("one", parent="app", at=1, until=9, given=ASK, answer=DONE),
        llm("two", parent="app", at=2, until=8, scope="sdk"),
    )["app"]

    assert run.usage.input == 10


def test_a_bare_wrapper_around_a_copy_does_not_hide_it() -> None:
    run = runs(
        span("app", until=20),
        span("around one", parent="app", at=1, until=10),
        llm("one", parent="around one", at=1, until=9, given=ASK, answer=DONE),
        span("around two", parent="app", at=2, until=9),
        llm("two", parent="around two", at=2, until=8, scope="sdk"),
    )["app"]

    assert run.usage.input == 10


def test_two_instrumentations_side_by_side_that_record_one_answer_are_one_call() -> None:
    run = runs(
        span("app", until=20),
        llm("one", parent="app", at=1, until=9, given=ASK, answer=DONE),
        llm("two", parent="app", at=2, until=8, given=ASK, answer=DONE, scope="sdk"),
        llm("three", parent="app", at=3, until=7, given=ASK, answer=says("assistant", "else"), scope="other"),
    )["app"]

    assert run.usage.input == 20
    assert brief(run.output) == ["a: " + DONE["parts"][0]["content"], "a: else"]


def test_parallel_calls_of_one_instrumentation_stay_apart() -> None:
    run = runs(
        span("app", until=20),
        llm("one", parent="app", at=1, until=9, given=ASK, answer=says("assistant", "left")),
        llm("two", parent="app", at=2, until=8, given=ASK, answer=says("assistant", "right")),
    )["app"]

    assert run.usage.input == 20
    assert brief(run.output) == ["a: left", "a: right"]


def test_an_id_that_a_mock_repeats_does_not_unite_calls_in_turn() -> None:
    run = runs(
        span("app", until=30),
        llm("one", parent="app", at=1, until=4, given=ASK, answer=asks("look"), attributes={"gen_ai.response.id": "r"}),
        llm(
            "two",
            parent="app",
            at=6,
            until=9,
            given=[*ASK, asks("look"), returns("x")],
            answer=DONE,
            attributes={"gen_ai.response.id": "r"},
        ),
    )["app"]

    assert run.usage.input == 20
    assert brief(run.output) == ["a: look({}) -> x", "a: fine"]


def test_an_envelope_around_several_calls_is_no_call() -> None:
    run = runs(
        span("app", until=30),
        llm("all", parent="app", at=1, until=20, given=ASK, answer=DONE, attributes={"gen_ai.usage.input_tokens": 20}),
        llm("one", parent="all", at=2, until=5, given=ASK, answer=asks("look")),
        llm("two", parent="all", at=6, until=9, given=[*ASK, asks("look"), returns("x")], answer=DONE),
    )["app"]

    assert run.usage.input == 20
    assert brief(run.output) == ["a: look({}) -> x", "a: fine"]


def test_an_envelope_keeps_the_messages_that_its_calls_do_not_record() -> None:
    run = runs(
        span("app", until=30),
        llm("all", parent="app", at=1, until=20, given=ASK, answer=DONE, attributes={"gen_ai.usage.input_tokens": 99}),
        llm("one", parent="all", at=2, until=5),
        llm("two", parent="all", at=6, until=9),
    )["app"]

    assert brief(run.output) == ["a: fine"]
    assert run.usage.input == 20


def test_a_nested_call_of_another_model_is_another_call() -> None:
    run = runs(
        span("app", until=30),
        llm("big", parent="app", at=1, until=20, given=ASK, answer=DONE),
        llm("check", parent="big", at=2, until=5, attributes={"gen_ai.request.model": "moderation"}),
    )["app"]

    assert run.usage.input == 20


def test_a_span_that_only_prepares_a_call_is_none() -> None:
    kind = {"openinference.span.kind": "LLM", "llm.model_name": "small"}
    run = runs(
        span("app", until=30),
        span("prepare", parent="app", at=1, until=2, attributes={**kind, "output.value": '{"messages": ["a", "b"]}'}),
        llm("call", parent="app", at=3, until=9, given=ASK, answer=DONE),
    )["app"]

    assert brief(run.output) == ["a: fine"]


def test_calls_inside_an_agent_inside_a_call_are_the_agents() -> None:
    found = runs(
        llm("outer", until=30, given=ASK, answer=asks("helper")),
        agent("helper", parent="outer", at=2, until=20),
        llm("inner", parent="helper", at=3, until=9, given=ASK, answer=DONE),
    )

    assert found["helper"].usage.input == 10


def test_a_container_total_counts_only_where_no_call_counts() -> None:
    total = {"gen_ai.usage.input_tokens": 500}

    counted = runs(agent("bot", until=9, attributes=total), llm("one", parent="bot", at=1, given=ASK, answer=DONE))
    alone = runs(agent("bot", until=9, attributes={**total, "gen_ai.output.messages": "[]"}))

    assert counted["bot"].usage.input == 10
    assert alone["bot"].usage.input == 500


def test_counts_that_leave_the_cache_out_are_completed() -> None:
    cached = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 40}

    run = runs(llm("one", given=ASK, answer=DONE, attributes={**cached}))["one"]

    assert (run.usage.input, run.usage.cache_read) == (45, 40)


def test_absurd_counts_are_not_counted() -> None:
    absurd = {"gen_ai.usage.input_tokens": -4, "gen_ai.usage.output_tokens": "1e400"}

    run = runs(llm("one", given=ASK, answer=DONE, attributes={**absurd}))["one"]

    assert (run.usage.input, run.usage.output) == (None, None)
