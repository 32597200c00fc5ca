"""No span, however broken, raises, blocks its trace or costs more than its share."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from tests.assembly.building import agent, asks, brief, dumped, llm, returns, runs, says, span, span_id, trace
from tracescore.model import Span, Trace, content_hash, dump_run, load_run
from tracescore.pipeline.assembly import assemble

ASK = [says("user", "how is it?")]
DONE = says("assistant", "fine")


def well() -> list[Span]:
    return [agent("bot", until=9), llm("good", parent="bot", at=1, given=ASK, answer=DONE)]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


NASTY: list[Any] = [
    None,
    True,
    -1,
    10**400,
    float("nan"),
    "\ud83e lone",
    "nul \x00",
    "[" * 5000,
    '{"a":' * 300 + "1" + "}" * 300,
    '"\\"[1, 2"',
    "[{]",
    '[{"role": 1, "parts": {"x": []}}]',
    '[{"role": "assistant", "tool_calls": "none"}, null, 4, [[]]]',
    '{"messages": {"messages": {"messages": {"messages": []}}}}',
    [{"role": ["user"], "content": {"deep": {"er": 1}}}],
    {"role": "user", "content": [[[["x"]]]]},
    deep(300),
    object(),
]
NAMES = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.operation.name",
    "gen_ai.agent.name",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.retrieval.documents",
    "gen_ai.usage.input_tokens",
    "gen_ai.response.id",
    "openinference.span.kind",
    "input.value",
    "output.value",
    "metadata",
    "tag.tags",
    "llm.invocation_parameters",
    "llm.input_messages.0.message.content",
    "llm.input_messages.0.message.contents.0.message_content.text",
    "retrieval.documents.0.document.metadata",
    "tracescore.ground_truth",
    "tracescore.request_context",
    "session.id",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_attribute_never_blocks_its_trace(name: str) -> None:
    for number, value in enumerate(NASTY):
        broken = [
            span("bad", parent="bot", at=3, attributes={"gen_ai.operation.name": "chat", name: value}),
            agent("worse", at=20, until=30, attributes={name: value}),
            llm("worse1", parent="worse", at=21, attributes={name: value}),
        ]
        found = assemble(trace(*well(), *broken))

        assert found, (name, number)
        for one in found:
            assert load_run(dump_run(one.run)).run_id == one.run.run_id
            assert content_hash(one.run)


def test_a_broken_span_leaves_the_good_ones_whole() -> None:
    found = runs(*well(), span("bad", parent="bot", at=3, attributes={"input.value": "[" * 100_000, "metadata": 7}))

    assert brief(found["bot"].output) == ["a: fine"]


def test_an_index_of_an_attack_is_no_list() -> None:
    attack = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "q",
        "llm.input_messages.999999999.message.content": "boom",
        "llm.input_messages.-1.message.content": "boom",
        "llm.input_messages.__proto__.message.content": "boom",
        "llm.input_messages.1e9.message.content": "boom",
        "llm.output_messages.0.message.content": "a",
    }

    run = runs(span("one", attributes={**attack}))["one"]

    assert brief(run.input.input_messages) == ["u: q"]
    assert run.input.remembered_messages == []


def test_missing_indices_leave_no_empty_messages() -> None:
    gaps = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.3.message.content": "answer",
        "llm.input_messages.3.message.role": "assistant",
        "llm.input_messages.7.message.content": "q",
        "llm.input_messages.7.message.role": "user",
        "llm.output_messages.0.message.content": "a",
        "llm.token_count.completion": 1,
    }

    run = runs(span("one", attributes={**gaps}, dropped=9))["one"]

    assert brief(run.input.remembered_messages) == ["a: answer"]
    assert brief(run.input.input_messages) == ["u: q"]
    assert [issue.code for issue in run.issues] == ["truncated"]


def test_a_list_cut_inside_a_message_keeps_what_is_complete_and_says_so() -> None:
    whole = dumped([says("system", "be brief"), says("user", "hi"), says("assistant", "hello"), *ASK])
    cut = whole[: whole.index("how is")]

    run = runs(llm("one", answer=DONE, attributes={"gen_ai.input.messages": cut}))["one"]

    assert brief(run.input.system_messages) == ["s: be brief"]
    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]
    assert run.input.input_messages == []
    assert [(issue.code, issue.span_id) for issue in run.issues] == [("truncated", span_id("one"))]


def test_the_agents_own_input_stands_in_for_one_that_was_cut() -> None:
    cut = dumped([says("user", "hi"), says("assistant", "hello"), *ASK])[:-20]

    run = runs(
        agent("bot", until=9, attributes={"gen_ai.input.messages": dumped(ASK)}),
        llm("one", parent="bot", at=1, answer=DONE, attributes={"gen_ai.input.messages": cut}),
    )["bot"]

    assert brief(run.input.input_messages) == ["u: how is it?"]
    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]


def test_a_cycle_of_parents_is_cut() -> None:
    a, b = agent("a", parent="b", until=9), agent("b", parent="a", at=1, until=8)
    calls = [llm("a1", parent="a", at=2, given=ASK, answer=DONE), llm("b1", parent="b", at=3, given=ASK, answer=DONE)]

    found = runs(a, b, *calls)

    assert found.keys() == {"a", "b"}
    assert found["b"].parent_run_id == found["a"].run_id


def test_a_span_that_is_its_own_parent_is_a_root() -> None:
    found = runs(agent("a", parent="a", until=9), llm("a1", parent="a", at=2, given=ASK, answer=DONE))

    assert brief(found["a"].output) == ["a: fine"]


def test_missing_and_backward_times_are_borne() -> None:
    odd = [
        replace(agent("bot", until=9), start_ns=0, end_ns=0),
        replace(llm("one", parent="bot", given=ASK, answer=asks("look")), start_ns=0),
        replace(span("x", parent="bot", attributes={"gen_ai.tool.name": "look"}), end_ns=1),
        replace(llm("two", parent="bot", given=[*ASK, asks("look"), returns("x")], answer=DONE), end_ns=5),
    ]

    assert brief(runs(*odd)["bot"].output)[-1] == "a: fine"


def test_what_tracescore_wrote_is_left_out_with_all_beneath_it() -> None:
    own = span("score", parent="bot", at=3, until=8, scope="tracescore")
    judge = llm(
        "judge", parent="score", at=4, until=7, given=[says("user", "is it good?")], answer=says("assistant", "5")
    )

    found = runs(*well(), own, judge)

    assert found["bot"].usage.input == 10
    assert brief(found["bot"].output) == ["a: fine"]
    assert runs(own, judge) == {}
    assert runs(llm("lone", given=ASK, answer=DONE, resource={"service.name": "tracescore"})) == {}


def test_an_error_of_many_empty_lines_is_kept_as_far_as_any() -> None:
    """What looks for a stack in it goes through it once; begun anew at each line, this took minutes."""
    run = runs(agent("bot", until=9, status="error", message="x" + "\n" * 200_000 + "y"))["bot"]

    assert run.error == "x" + "\n" * 1999


def test_an_empty_trace_has_no_runs() -> None:
    assert assemble(Trace(trace_id="0" * 32)) == []


def seconds(spans: list[Span]) -> float:
    started = time.process_time()
    assemble(trace(*spans))
    return time.process_time() - started


@pytest.mark.parametrize("shape", ["chain", "agents", "calls", "orphans", "siblings"])
def test_time_grows_with_the_spans_and_no_faster(shape: str) -> None:
    def spans(count: int) -> list[Span]:
        kind = {"agents": agent, "orphans": agent, "siblings": agent, "calls": llm}.get(shape, span)
        parent = {"orphans": "lost{}", "siblings": "n0"}.get(shape, "n{}")
        return [
            kind(f"n{n}", parent=parent.format(n - 1) if n else None, at=n, until=count * 2 - n) for n in range(count)
        ]

    small, large = (min(seconds(spans(count)) for _ in range(2)) for count in (500, 4000))

    # Eight times the spans: linear is 8, quadratic 64. Half of the difference is left to a busy machine.
    assert large < max(small, 0.005) * 32
