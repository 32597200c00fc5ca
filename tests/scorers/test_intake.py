"""What becomes of what a caller hands over: text, messages, custom types."""

# pyright: reportUnknownLambdaType=false
# Scorers are untyped here: much of what their steps do is wrong on purpose.
from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    DataPart,
    Message,
    Messages,
    NotScorable,
    ScoreFailure,
    ScorerRun,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    text_message,
)
from tracescore.model import content_hash, dump_run, load_run


class Question(TypedDict):
    query: str


class Answer(BaseModel):
    text: str
    confidence: float


@dataclass
class Plain:
    value: int


class Unknown:
    pass


def seen_by(begin: Any, **given: Any) -> Any:
    """Give the run as the steps of a scorer see it, or the outcome without one."""
    runs: list[Any] = []
    outcome = begin.generate_score(lambda ctx: runs.append(ctx.run) or 1.0).run_sync(**given)
    return runs[0] if runs else outcome


agent: Any = create_scorer(id="x", type="agent", version="1")


@pytest.mark.parametrize(
    "output",
    [
        "Sunny.",
        text_message("assistant", "Sunny."),
        [text_message("assistant", "Sunny.")],
        Messages([text_message("assistant", "Sunny.")]),
        AgentOutput([text_message("assistant", "Sunny.")]),
        {"role": "assistant", "content": "Sunny."},
        [{"role": "assistant", "content": "Sunny."}],
        [{"role": "assistant", "parts": [{"type": "text", "text": "Sunny."}]}],
    ],
)
def test_every_form_of_an_output_is_one_to_an_agent_scorer(output: Any) -> None:
    run = seen_by(agent, output=output, ground_truth="sunny", run_id="r")

    assert run == AgentRun(run_id="r", output=AgentOutput([text_message("assistant", "Sunny.")]), ground_truth="sunny")


def test_an_agent_run_may_come_as_a_plain_run() -> None:
    plain: ScorerRun[str, str] = ScorerRun(run_id="r", input="Weather?", output="Sunny.", agent_name="forecaster")

    run = seen_by(agent, run=plain)

    assert run == AgentRun(
        run_id="r",
        input=AgentInput(input_messages=Messages([text_message("user", "Weather?")])),
        output=AgentOutput([text_message("assistant", "Sunny.")]),
        agent_name="forecaster",
    )


@pytest.mark.parametrize("output", [42, [1], [{"role": "assistant"}], [{"role": "x", "parts": [{"type": "odd"}]}]])
def test_what_is_no_message_is_not_scorable_by_an_agent_scorer(output: Any) -> None:
    outcome = seen_by(agent, output=output)

    assert isinstance(outcome, NotScorable)
    assert outcome.step is None


def test_each_run_without_an_id_gets_one_of_its_own() -> None:
    ids = {seen_by(agent, output="Sunny.").run_id for _ in range(3)}

    assert len(ids) == 3
    assert all(len(run_id) == 32 for run_id in ids)


def test_custom_types_are_checked_by_pydantic() -> None:
    begin = create_scorer(id="x", input_type=Question, output_type=Answer, version="1")

    run = seen_by(begin, input={"query": "Weather?"}, output={"text": "Sunny.", "confidence": "0.5"})
    outcome = seen_by(begin, input={"query": "Weather?"}, output={"text": "Sunny."})

    assert (run.input, run.output) == ({"query": "Weather?"}, Answer(text="Sunny.", confidence=0.5))
    assert isinstance(outcome, NotScorable)
    assert "the run's output is not of the scorer's output_type" in outcome.reason
    assert "confidence" in outcome.reason


def test_classes_that_pydantic_does_not_know_are_checked_by_isinstance() -> None:
    begin = create_scorer(id="x", output_type=Unknown, version="1")

    assert isinstance(seen_by(begin, output=Unknown()).output, Unknown)
    assert isinstance(seen_by(begin, output="text"), NotScorable)


def test_an_agents_run_is_not_of_a_custom_type() -> None:
    outcome = seen_by(create_scorer(id="x", output_type=Plain, version="1"), run=AgentRun(run_id="r"))

    assert isinstance(outcome, NotScorable)


def test_an_untyped_scorer_takes_any_run_as_it_is() -> None:
    begin = create_scorer(id="x", version="1")
    run = AgentRun(run_id="r")

    assert seen_by(begin, run=run) is run
    assert seen_by(begin, output=[1, 2], input=None).output == [1, 2]


def stored_run() -> AgentRun:
    call = ToolInvocationPart(name="weather", arguments={"cities": ["Paris"]}, result={"sky": "blue"})
    return AgentRun(
        run_id="r",
        input=AgentInput(tagged_system_messages={"memory": Messages([text_message("system", "Known.")])}),
        output=AgentOutput(
            [Message(role="assistant", parts=(call, TextPart(text="Sunny."), DataPart(data={"rows": [1]})))]
        ),
        request_context={"tenant": {"name": "a"}},
        ground_truth={"sky": "blue"},
        expected_trajectory=["weather"],
    )


CHANGES = {
    "context": lambda run: run.request_context.update(tenant="b"),
    "empty context": lambda run: run.additional_context.setdefault("a", 1),
    "metadata": lambda run: run.metadata.__setitem__("a", 1),
    "attributes": lambda run: run.attributes.pop("a", None),
    "nested context": lambda run: run.request_context["tenant"].clear(),
    "ground truth": lambda run: run.ground_truth.popitem(),
    "trajectory": lambda run: run.expected_trajectory.append("x"),
    "tagged": lambda run: run.input.tagged_system_messages.pop("memory"),
    "arguments": lambda run: run.output.tool_calls[0].arguments["cities"].append("Rome"),
    "result": lambda run: run.output.tool_calls[0].result.update(sky="grey"),
    "data": lambda run: run.output[0].parts[2].data["rows"].sort(),
    "field": lambda run: setattr(run, "run_id", "other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_step_can_change_a_run(change: str) -> None:
    run = stored_run()

    outcome = agent.generate_score(lambda ctx: CHANGES[change](ctx.run) or 1.0).run_sync(run)

    assert isinstance(outcome, ScoreFailure)
    assert run == stored_run()


def test_a_run_made_by_prepare_run_cannot_be_changed_either() -> None:
    from dataclasses import replace

    begin: Any = create_scorer(
        id="x",
        type="agent",
        version="1",
        prepare_run=lambda run: replace(run, request_context={"a": 1}, output=stored_run().output),
    )

    for change in ("context", "arguments"):
        assert not begin.generate_score(lambda ctx, name=change: CHANGES[name](ctx.run) or 1.0).run_sync(AgentRun()).ok


def test_the_messages_of_a_custom_run_cannot_be_changed_either() -> None:
    begin: Any = create_scorer(id="x", version="1")
    run: ScorerRun[Any, Any] = ScorerRun(run_id="r", input={"a": [1]}, output=stored_run().output)

    for change in (lambda run: run.input["a"].append(2), CHANGES["arguments"]):
        assert not begin.generate_score(lambda ctx, change=change: change(ctx.run) or 1.0).run_sync(run).ok


def test_a_frozen_run_reads_and_serialises_as_before() -> None:
    run = stored_run()
    before = (dump_run(run), content_hash(run))

    agent.generate_score(lambda ctx: 1.0).run_inline(run)

    assert (dump_run(run), content_hash(run)) == before
    assert load_run(dump_run(run)) == run
    assert json.dumps(run.request_context) == '{"tenant": {"name": "a"}}'
    assert orjson.loads(orjson.dumps(run.ground_truth)) == {"sky": "blue"}
    assert pickle.loads(pickle.dumps(run)) == run
    assert {**run.request_context, "b": 1} == {"tenant": {"name": "a"}, "b": 1}
    assert [*run.expected_trajectory, "x"] == ["weather", "x"]
