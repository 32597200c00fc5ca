"""What holds for any score and any run."""

# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.scorers.begun import agent
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    DataPart,
    Message,
    Messages,
    Score,
    ToolInvocationPart,
    Trajectory,
    TrajectoryStep,
    text_message,
)
from tracescore.model import dump_run, load_run

finite = some.floats(allow_nan=False, allow_infinity=False)
json = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**53), 2**53) | finite | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
objects = some.dictionaries(some.text(max_size=3), json, max_size=3)


@settings(max_examples=60, deadline=None)
@given(ends=some.tuples(finite, finite).filter(lambda pair: pair[0] < pair[1]), share=some.floats(0, 1))
def test_any_finite_score_in_the_range_comes_through_unchanged(ends: tuple[float, float], share: float) -> None:
    low, high = ends
    value = min(max(low * (1 - share) + high * share, low), high)

    score = agent(score_range=ends).generate_score(lambda ctx: value).run_inline(AgentRun(run_id="r"))

    assert isinstance(score, Score)
    assert float(score) == value
    assert score.score_range == ends
    assert orjson.loads(orjson.dumps(score.score)) == value


@settings(max_examples=60, deadline=None)
@given(value=some.floats() | some.integers() | some.booleans(), low=some.integers(-3, 3))
def test_nothing_else_is_a_score(value: float, low: int) -> None:
    outcome = agent(score_range=(low, low + 2)).generate_score(lambda ctx: value).run_inline(AgentRun(run_id="r"))

    inside = not isinstance(value, bool) and math.isfinite(value) and low <= value <= low + 2
    assert isinstance(outcome, Score) == inside


@some.composite
def runs(draw: Callable[..., Any]) -> AgentRun:
    """Build runs with JSON wherever a run may hold some."""
    call = ToolInvocationPart(name="look", arguments=draw(json), result=draw(json))
    said = Message(role="assistant", parts=(call, DataPart(data=draw(json))))
    step = TrajectoryStep(
        name="look", arguments=call.arguments, result=call.result, metadata=draw(some.none() | objects)
    )
    return AgentRun(
        run_id="r",
        input=AgentInput(
            remembered_messages=Messages([said]),
            tagged_system_messages={"memory": Messages([text_message("system", "Known.")])},
        ),
        output=AgentOutput([said]),
        ground_truth=draw(json),
        expected_trajectory=draw(json),
        request_context=draw(objects),
        additional_context=draw(objects),
        metadata=draw(objects),
        attributes=draw(objects),
        trajectory=Trajectory(steps=(step, TrajectoryStep(name="bot", type="agent_run", children=(step,)))),
    )


def containers(run: AgentRun) -> list[Any]:
    """Collect every dict and list that a step can reach."""
    found: list[Any] = []
    reached: list[Any] = [run.request_context, run.additional_context, run.metadata, run.attributes]
    reached += [run.ground_truth, run.expected_trajectory, run.input.tagged_system_messages]
    for message in (*run.input.remembered_messages, *run.output):
        reached += [getattr(part, name, None) for part in message.parts for name in ("arguments", "result", "data")]
    for step in run.trajectory.walk() if run.trajectory else ():
        reached += [step.arguments, step.result, step.metadata]
    while reached:
        value = reached.pop()
        if isinstance(value, (dict, list)):
            found.append(value)
            reached += value.values() if isinstance(value, dict) else value
    return found


def spoil(run: AgentRun) -> int:
    """Try to change everything, and give how much of it was refused."""
    refused = 0
    for value in containers(run):
        changes: tuple[Callable[[], Any], ...]
        if isinstance(value, dict):
            changes = (
                value.clear,
                lambda value=value: value.update(x=1),
                lambda value=value: value.__setitem__("x", 1),
            )
        else:
            changes = (value.clear, lambda value=value: value.append(1), value.reverse)
        for change in changes:
            try:
                change()
            except TypeError:
                refused += 1
    return refused


@settings(max_examples=40, deadline=None)
@given(run=runs())
def test_no_step_sees_a_run_that_another_one_changed(run: AgentRun) -> None:
    stored = dump_run(run)
    before, seen = load_run(stored), list[AgentRun]()

    def step(ctx: Any) -> float:
        assert spoil(ctx.run) == 3 * len(containers(ctx.run))
        seen.append(ctx.run)
        return 1.0

    outcome = agent().preprocess(step).analyze(step).generate_score(step).run_inline(run)

    assert isinstance(outcome, Score)
    assert seen == [before] * 3
    assert dump_run(run) == stored
