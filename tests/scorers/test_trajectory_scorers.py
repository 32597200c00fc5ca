"""Scorers of type trajectory: what becomes their run, and what does not fit."""

# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.scorers.begun import RUN
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    ExpectedStep,
    Message,
    Messages,
    NotScorable,
    Score,
    ScoreFailure,
    ScorerRun,
    ToolInvocationPart,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryRun,
    TrajectoryStep,
    create_scorer,
    filter_run,
    text_message,
)
from tracescore.bridge import run_sync
from tracescore.model import DataPart, content_hash, dump_run, load_run, trajectory_to_json
from tracescore.pipeline.preparing import RunPreparation

begin: Any = create_scorer(id="x", type="trajectory", version="7")
WAY = Trajectory(
    steps=(
        TrajectoryStep(name="small", type="model_generation", input_tokens=3, output_tokens=4),
        TrajectoryStep(name="look", arguments={"cities": ["Paris"]}, result={"sky": "blue"}, success=True),
    ),
    duration_ms=9.0,
)
CALL = ToolInvocationPart(name="look", arguments={"cities": ["Paris"]}, result={"sky": "blue"}, duration_ms=2.0)
OUTPUT = AgentOutput([Message(role="assistant", parts=(CALL,))])


def seen_by(started: Any, run: ScorerRun[Any, Any]) -> Any:
    """Give the run as a scorer's steps see it, or the outcome without one."""
    runs: list[Any] = []
    outcome = started.generate_score(lambda ctx: runs.append(ctx.run) or 1.0).run_inline(run)
    return runs[0] if runs else outcome


def test_a_stored_run_is_seen_with_its_steps_and_what_it_produced() -> None:
    stored = load_run(dump_run(replace(RUN, output=OUTPUT, trajectory=WAY, expected_trajectory=["look"])))

    run = seen_by(begin, stored)

    assert type(run) is TrajectoryRun
    assert run == TrajectoryRun(
        run_id="run-1",
        target=RUN.target,
        output=replace(WAY, raw_output=OUTPUT),
        expected_trajectory=TrajectoryExpectation(steps=(ExpectedStep(name="look"),)),
    )


@pytest.mark.parametrize("output", [OUTPUT, Messages(OUTPUT), list(OUTPUT)])
def test_without_spans_the_messages_show_the_steps(output: Any) -> None:
    run = seen_by(begin, ScorerRun(run_id="r", output=output, start_ns=1_000_000, end_ns=5_000_000))

    step = TrajectoryStep(
        name="look", arguments={"cities": ["Paris"]}, result={"sky": "blue"}, success=True, duration_ms=2.0
    )
    assert run.output == Trajectory(steps=(step,), duration_ms=4.0, raw_output=OUTPUT)


@pytest.mark.parametrize("output", [WAY, trajectory_to_json(WAY)])
def test_a_trajectory_may_be_given_as_the_output(output: Any) -> None:
    assert seen_by(begin, ScorerRun(run_id="r", output=output)) == TrajectoryRun(run_id="r", output=WAY)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, AgentInput()),
        ("Paris?", AgentInput(input_messages=Messages([text_message("user", "Paris?")]))),
        (
            {"city": "Paris"},
            AgentInput(input_messages=Messages([Message(role="user", parts=(DataPart(data={"city": "Paris"}),))])),
        ),
    ],
)
def test_what_a_workflow_was_given_need_not_be_messages(given: Any, expected: AgentInput) -> None:
    assert seen_by(begin, ScorerRun(run_id="r", input=given, output=WAY)).input == expected


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (ScorerRun(output=42), "the run's output is neither text nor messages: 42"),
        (ScorerRun(output={"steps": [{"type": "tool_call"}]}), "the run's output is no trajectory"),
        (ScorerRun(output={"steps": 3}), "the run's output is no trajectory"),
        (
            AgentRun(expected_trajectory={"step": []}),
            "expected_trajectory has no 'step'; did you mean 'steps'",
        ),
    ],
)
def test_what_does_not_fit_is_not_scorable(run: ScorerRun[Any, Any], message: str) -> None:
    outcome = seen_by(begin, run)

    assert isinstance(outcome, NotScorable)
    assert message in outcome.reason


CHANGES: dict[str, Callable[[Any], Any]] = {
    "arguments": lambda run: run.output.steps[1].arguments["cities"].append("Rome"),
    "result": lambda run: run.output.steps[1].result.clear(),
    "messages": lambda run: run.output.raw_output.tool_calls[0].arguments["cities"].clear(),
    "steps": lambda run: setattr(run.output, "steps", ()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_step_can_change_a_trajectory(change: str) -> None:
    stored = replace(RUN, output=OUTPUT, trajectory=WAY)

    failure = begin.generate_score(lambda ctx: CHANGES[change](ctx.run) or 1.0).run_inline(stored)

    assert isinstance(failure, ScoreFailure)
    assert stored == replace(RUN, output=OUTPUT, trajectory=WAY)


def test_an_agent_scorer_sees_the_steps_too_and_may_say_that_it_reads_them() -> None:
    stored = replace(RUN, output=OUTPUT, trajectory=WAY)
    other = replace(stored, trajectory=Trajectory())
    agent: Any = create_scorer(id="x", type="agent", version="1")
    reading: Any = create_scorer(id="x", type="agent", version="1", reads=["trajectory"])
    scored, read = (one.generate_score(lambda ctx: 1.0) for one in (agent, reading))

    assert seen_by(agent, stored).trajectory == WAY
    assert run_sync(scored.judged_hash(stored)) == run_sync(scored.judged_hash(other))
    assert run_sync(read.judged_hash(stored)) != run_sync(read.judged_hash(other))
    assert begin.generate_score(lambda ctx: 1.0).reads == ("trajectory",)
    assert content_hash(stored, reads=("trajectory",)) != content_hash(other, reads=("trajectory",))


def test_prepare_run_is_given_the_trajectory() -> None:
    def shorten(run: TrajectoryRun) -> TrajectoryRun:
        return replace(run, output=replace(run.output, steps=run.output.steps[:1]))

    short: Any = create_scorer(id="x", type="trajectory", version="1", prepare_run=shorten)
    without: Any = create_scorer(
        id="x", type="trajectory", version="1", prepare_run=filter_run(drop_expected_trajectory=True)
    )
    wrong: Any = create_scorer(id="x", type="trajectory", version="1", prepare_run=lambda run: RUN)  # type: ignore[arg-type,return-value]
    stored = replace(RUN, output=OUTPUT, trajectory=WAY, expected_trajectory=["look"])

    assert len(seen_by(short, stored).output.steps) == 1
    assert seen_by(without, stored).expected_trajectory is None
    assert "prepare_run must give a TrajectoryRun, not a AgentRun" in seen_by(wrong, stored).message


def test_its_results_and_evidence_are_those_of_any_scorer() -> None:
    scored = begin.analyze(lambda ctx: ctx.run.output.steps).generate_score(lambda ctx: 0.5)

    score = scored.run_sync(replace(RUN, output=OUTPUT, trajectory=WAY))

    assert isinstance(score, Score)
    assert score.evidence.results["analyze"][1]["arguments"] == {"cities": ["Paris"]}
    assert scored.type == "trajectory"


def test_what_prepare_run_cuts_from_the_output_is_gone_from_the_trajectory() -> None:
    """An app's or a rule's prepare_run sees messages: a scorer of trajectories must not see what it cut."""
    inside = TrajectoryStep(name="secret_inside", type="agent_run")
    calls = [replace(CALL, name=name, arguments={"n": n}) for n, name in enumerate(("look", "secret", "look"))]
    way = Trajectory(
        steps=(
            *(WAY.steps[:1]),
            *(
                TrajectoryStep(name=call.name, arguments=call.arguments, result=call.result, children=(inside,))
                for call in calls
            ),
        )
    )
    run = replace(RUN, output=AgentOutput([Message(role="assistant", parts=tuple(calls))]), trajectory=way)

    def only(*parts: ToolInvocationPart) -> AgentOutput:
        return AgentOutput([Message(role="assistant", parts=parts)])

    def cut_to(output: AgentOutput) -> Any:
        preparation = RunPreparation(run)
        return seen_by(begin, preparation.through([lambda run: replace(run, output=output)])).output.steps

    without_result = replace(calls[2], result=None)
    assert [step.name for step in cut_to(only(calls[0], calls[2]))] == ["small", "look", "look"]
    assert [step.arguments for step in cut_to(only(calls[2]))] == [None, {"n": 2}]
    assert [(step.arguments, step.result) for step in cut_to(only(calls[0], without_result))][1:] == [
        ({"n": 0}, {"sky": "blue"}),
        ({"n": 2}, None),
    ]
    assert [step.name for step in cut_to(AgentOutput())] == ["small"]
    assert seen_by(begin, run).output.steps == way.steps
