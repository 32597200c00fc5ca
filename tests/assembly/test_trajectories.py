"""The way that a run took, as its spans show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.assembly.building import MS, agent, asks, llm, returns, runs, says, span, span_id, tool, trace
from tracescore.model import Span, Trajectory, TrajectoryStep, dump_run, load_run
from tracescore.pipeline.assembly import assemble, read_trajectory
from tracescore.pipeline.assembly.steps import MAX_DEPTH, MAX_STEPS

ASK = [says("user", "how is it in Paris?")]
DONE = says("assistant", "sunny")


def brief(steps: Sequence[TrajectoryStep]) -> list[Any]:
    """Give steps as their names, with a list behind each that holds others."""
    told: list[Any] = []
    for step in steps:
        told.append(step.name)
        if step.children:
            told.append(brief(step.children))
    return told


def supervised() -> list[Span]:
    """A supervisor whose tool calls an agent that calls a tool."""
    return [
        agent("boss", until=100),
        llm("plan", parent="boss", at=1, until=9, given=ASK, answer=asks("ask_bot", {"q": "Paris?"})),
        tool("ask", called="ask_bot", parent="boss", at=10, until=60),
        agent("bot", parent="ask", at=11, until=59),
        llm("think", parent="bot", at=12, until=20, given=ASK, answer=asks("look", {"city": "Paris"}, id="c2")),
        tool("looked", called="look", parent="bot", at=21, until=24, status="error", message="no such city"),
        llm("answer", parent="bot", at=25, until=50, given=ASK, answer=DONE),
        llm(
            "end",
            parent="boss",
            at=61,
            until=90,
            given=[*ASK, asks("ask_bot", {"q": "Paris?"}), returns("sunny")],
            answer=DONE,
            attributes={"gen_ai.usage.input_tokens": 30},
        ),
    ]


def test_a_run_is_model_calls_tool_calls_and_the_agents_that_these_called() -> None:
    found = runs(*supervised())
    way = found["boss"].trajectory

    assert way is not None
    assert brief(way.steps) == ["small", "ask_bot", ["bot", ["small", "look", "small"]], "small"]
    assert [step.type for step in way.walk()][:4] == ["model_generation", "tool_call", "agent_run", "model_generation"]
    assert (way.duration_ms, way.total_tokens) == (100.0, 12 + 12 + 12 + 32)
    asked = way.steps[1]
    assert (asked.arguments, asked.result, asked.success, asked.duration_ms) == ({"q": "Paris?"}, "sunny", True, 50.0)
    looked = asked.children[0].children[1]
    assert (looked.arguments, looked.error, looked.success, looked.duration_ms) == (
        {"city": "Paris"},
        "no such city",
        False,
        3.0,
    )
    bot = found["bot"].trajectory
    assert bot is not None
    assert asked.children[0].children == bot.steps


def test_a_trajectory_is_stored_with_its_run() -> None:
    for run in runs(*supervised()).values():
        assert load_run(dump_run(run)) == run


def test_any_order_of_spans_gives_the_same_trajectory() -> None:
    spans = supervised()

    assert [found.run.trajectory for found in assemble(trace(*reversed(spans)))] == [
        found.run.trajectory for found in assemble(trace(*spans))
    ]


def test_calls_that_no_span_is_of_stand_behind_the_model_call_that_asked() -> None:
    way = runs(
        agent("bot", until=100),
        llm("ask", parent="bot", at=1, until=9, given=ASK, answer=asks("look", {"city": "Paris"})),
        llm(
            "end",
            parent="bot",
            at=20,
            until=30,
            given=[*ASK, asks("look", {"city": "Paris"}), returns(21)],
            answer=DONE,
        ),
    )["bot"].trajectory

    assert way is not None
    assert brief(way.steps) == ["small", "look", "small"]
    assert (way.steps[1].result, way.steps[1].success, way.steps[1].duration_ms) == (21, True, None)


def test_a_call_that_nothing_answered_neither_went_well_nor_failed() -> None:
    way = runs(agent("bot", until=100), llm("ask", parent="bot", at=1, until=9, given=ASK, answer=asks("look")))[
        "bot"
    ].trajectory

    assert way is not None
    assert way.steps[1].success is None


def test_agents_and_retrievals_that_no_tool_called_stand_where_they_began() -> None:
    way = runs(
        agent("boss", until=100),
        llm("first", parent="boss", at=1, until=9, given=ASK, answer=asks("look")),
        tool("looked", called="look", parent="boss", at=10, until=12),
        agent("helper", parent="boss", at=20, until=40),
        llm("help", parent="helper", at=21, until=39, given=ASK, answer=DONE),
        span("search", parent="boss", at=41, until=45, attributes={"openinference.span.kind": "RETRIEVER"}),
        llm("last", parent="boss", at=50, until=60, given=ASK, answer=DONE),
    )["boss"].trajectory

    assert way is not None
    assert brief(way.steps) == ["small", "look", "helper", ["small"], "search", "small"]


@pytest.mark.parametrize(
    ("attributes", "result"),
    [
        ({"openinference.span.kind": "RETRIEVER"}, None),
        ({"gen_ai.operation.name": "retrieval"}, None),
        ({"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": "[]"}, None),
        ({"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '["blue"]'}, {"documents": 1}),
    ],
)
def test_a_retrieval_counts_only_documents_that_were_recorded(attributes: dict[str, Any], result: object) -> None:
    way = runs(
        agent("boss", until=100),
        llm("first", parent="boss", at=1, until=9, given=ASK, answer=DONE),
        span("search", parent="boss", at=41, until=45, attributes=attributes),
    )["boss"].trajectory

    assert way is not None
    assert [step.result for step in way.steps if step.type == "retrieval"] == [result]


def test_what_a_tool_did_inside_itself_stands_inside_it() -> None:
    way = runs(
        agent("bot", until=100),
        llm("ask", parent="bot", at=1, until=9, given=ASK, answer=asks("report")),
        tool("reported", called="report", parent="bot", at=10, until=50),
        span("wrapper", parent="reported", at=11, until=49),
        tool("inner", called="query", parent="wrapper", at=12, until=20),
        llm("summarise", parent="wrapper", at=21, until=40, given=ASK, answer=DONE),
        llm("end", parent="bot", at=51, until=60, given=ASK, answer=DONE),
    )["bot"].trajectory

    assert way is not None
    assert brief(way.steps) == ["small", "report", ["query", "small"], "small"]


def test_large_values_inside_another_step_are_named_and_not_repeated() -> None:
    spans = supervised()
    spans[4] = llm(
        "think", parent="bot", at=12, until=20, given=ASK, answer=asks("look", {"city": "P" * 5000}, id="c2")
    )
    found = runs(*spans)
    boss, bot = found["boss"].trajectory, found["bot"].trajectory

    assert boss is not None
    assert bot is not None
    inner = boss.steps[1].children[0].children[1]
    assert (inner.arguments, inner.metadata, inner.error) == (None, {"cut": ["arguments"]}, "no such city")
    assert bot.steps[1].arguments == {"city": "P" * 5000}


def test_trajectories_are_bounded_and_say_what_is_left_out() -> None:
    deep = [agent("a0", until=1000)]
    deep += [agent(f"a{n}", parent=f"a{n - 1}", at=n, until=1000 - n) for n in range(1, 20)]
    deep += [llm(f"m{n}", parent=f"a{n}", at=n + 0.5, until=n + 0.7, given=ASK, answer=DONE) for n in range(20)]
    wide = [agent("bot", until=9000)]
    wide += [llm(f"n{n}", parent="bot", at=n + 1, until=n + 1.5, given=ASK, answer=DONE) for n in range(MAX_STEPS + 5)]

    top, broad = runs(*deep)["a0"].trajectory, runs(*wide)["bot"].trajectory

    assert top is not None
    assert broad is not None
    assert len(list(top.walk())) == 2 * MAX_DEPTH
    assert top.left_out > 0
    assert (len(broad.steps), broad.left_out) == (MAX_STEPS, 5)


def workflow() -> list[Span]:
    """A workflow of two steps, one of which is code alone, with an agent and a model call of nobody's."""
    step = {"gen_ai.operation.name": "execute_task"}
    return [
        span("flow", until=200, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        span("prepare", parent="flow", at=1, until=5, attributes={**step}, status="error"),
        span("research", parent="flow", at=6, until=150, attributes={**step}),
        agent("bot", parent="research", at=7, until=100),
        llm("think", parent="bot", at=8, until=20, given=ASK, answer=DONE),
        span("plain", parent="flow", at=151, until=190),
        llm("title", parent="plain", at=152, until=160, given=ASK, answer=DONE),
    ]


def test_a_whole_trace_is_its_workflow_with_steps_agents_and_durations() -> None:
    way = read_trajectory(trace(*workflow()))

    assert way is not None
    assert brief(way.steps) == ["prepare", "research", ["bot", ["small"]], "small"]
    assert [(step.type, step.status, step.duration_ms) for step in way.steps] == [
        ("workflow_step", "error", 4.0),
        ("workflow_step", "ok", 144.0),
        ("model_generation", "ok", 8.0),
    ]
    assert way.duration_ms == 200.0


def test_several_workflows_stand_side_by_side() -> None:
    other = span("other", at=300, until=310, attributes={"gen_ai.operation.name": "invoke_workflow"})

    way = read_trajectory(trace(*workflow(), other))

    assert way is not None
    assert [(step.name, step.type) for step in way.steps] == [("flow", "workflow_run"), ("other", "workflow_run")]
    assert way.duration_ms == 310.0


@pytest.mark.parametrize(("name", "expected"), [("bot", ["small"]), ("research", ["bot", ["small"]]), ("flow", None)])
def test_a_trajectory_may_be_that_of_one_span(name: str, expected: list[Any] | None) -> None:
    way = read_trajectory(trace(*workflow()), span_id(name))

    assert way is not None
    assert brief(way.steps) == (expected or ["prepare", "research", ["bot", ["small"]], "small"])


def test_an_agents_trajectory_is_its_runs_with_its_output() -> None:
    spans = supervised()

    way = read_trajectory(trace(*spans), span_id("bot"))

    run = runs(*spans)["bot"]
    assert way is not None
    assert (way.steps, way.raw_output) == (run.trajectory.steps if run.trajectory else None, run.output)


def test_a_trace_without_agents_shows_calls_that_no_span_is_of() -> None:
    way = read_trajectory(
        trace(
            span("app", until=100),
            llm("ask", parent="app", at=1, until=9, given=ASK, answer=asks("look", {"city": "Paris"})),
            llm("end", parent="app", at=20, until=30, given=[*ASK, asks("look"), returns(21)], answer=DONE),
        )
    )

    assert way is not None
    assert brief(way.steps) == ["small", "look", "small"]


def test_what_is_not_there_has_no_trajectory() -> None:
    assert read_trajectory(trace()) is None
    assert read_trajectory(trace(*workflow()), "f" * 16) is None
    assert read_trajectory(trace(span("alone", until=5))) == Trajectory(duration_ms=5 * MS / 1e6)
