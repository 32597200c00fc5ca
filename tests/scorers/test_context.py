"""What a step sees, and what it cannot do to what others see."""

# pyright: reportUnknownLambdaType=false
# Scorers are untyped here: much of what their steps do is wrong on purpose.
from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import pytest
from pydantic import BaseModel

from tests.scorers.begun import JUDGE, RUN, agent
from tracescore import AgentRun, Score, ScorerRun, StepResults, create_scorer, not_scorable


def seen(ctx: Any) -> Any:
    """Give what a step sees of its run, other than by equality."""
    return ctx.run.run_id, ctx.run.target, ctx.run.ground_truth, ctx.scorer.id, ctx.scorer.version


def test_every_step_sees_the_run_and_the_scorer() -> None:
    told: list[Any] = []
    run = replace(RUN, ground_truth="sunny")
    judged = (
        agent(judge=JUDGE)
        .preprocess(lambda ctx: told.append(seen(ctx)))
        .generate_score(
            description="d",
            create_prompt=lambda ctx: told.append(seen(ctx)) or "Grade.",
            output_schema={"type": "object", "properties": {"score": {"type": "number"}}},
            calculate_score=lambda ctx: told.append(seen(ctx)) or ctx.output["score"],
        )
        .generate_reason(lambda ctx: told.append(seen(ctx)) or f"{ctx.score} {ctx.output}")
    )

    score = judged.run_sync(run)

    assert score.reason == "0.5 {'score': 0.5}"
    assert told == [("run-1", RUN.target, "sunny", "x", "7")] * 4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda begin: begin.generate_score(lambda ctx: ctx.results.preprocess_step_result),
            "ctx.results has no preprocess_step_result: no step preprocess was run before this one",
        ),
        (
            lambda begin: begin.preprocess(lambda _: 1).generate_score(lambda ctx: ctx.results.analyze_step_result),
            "ctx.results has no analyze_step_result: no step analyze was run before this one",
        ),
        (
            lambda begin: begin.preprocess(lambda ctx: ctx.results.preprocess_step_result).generate_score(lambda _: 1),
            "no step preprocess was run before this one",
        ),
        (
            lambda begin: begin.analyze(lambda _: 1).generate_score(lambda ctx: ctx.results.analyse_step_result),
            "ctx.results has no 'analyse_step_result'; a result is preprocess_step_result or analyze_step_result",
        ),
        (
            lambda begin: begin.generate_score(lambda ctx: ctx.score),
            "ctx.score is there in generate_reason only, not in this step",
        ),
        (
            lambda begin: begin.generate_score(lambda ctx: ctx.output),
            "ctx.output is there in calculate_score and generate_reason only, not in this step",
        ),
        (lambda begin: begin.generate_score(lambda ctx: ctx.runs), "ctx has no 'runs'"),
    ],
)
def test_what_is_not_there_says_so(build: Any, message: str) -> None:
    failure = build(agent()).run_inline(RUN)

    assert (failure.outcome, failure.error_type) == ("failure", "AttributeError")
    assert message in failure.message
    assert "(tests/scorers/test_context.py:" in failure.message


def test_a_result_that_is_none_is_there() -> None:
    scored = agent().preprocess(lambda _: None).generate_score(lambda ctx: ctx.results.preprocess_step_result is None)

    assert scored.run_inline(RUN).error_type == "InvalidScore"  # True is no number, and that is all that is wrong


def test_results_cannot_be_changed() -> None:
    def change(ctx: Any) -> float:
        ctx.results.preprocess_step_result = 2
        return 1.0

    failure = agent().preprocess(lambda _: 1).generate_score(change).run_inline(RUN)

    assert "the results of steps cannot be changed" in failure.message
    results: StepResults[Any, Any] = StepResults()
    assert repr(results.with_preprocess(1)) == "StepResults(preprocess_step_result=1)"
    both = results.with_preprocess(1).with_analyze("b")
    assert repr(both) == "StepResults(preprocess_step_result=1, analyze_step_result='b')"


def test_what_is_not_json_stays_live_for_later_steps() -> None:
    connection = Lock()

    alive = (
        agent()
        .preprocess(lambda _: connection)
        .analyze(lambda ctx: ctx.results.preprocess_step_result is connection)
        .generate_score(lambda ctx: float(ctx.results.analyze_step_result))
    )
    score = alive.run_inline(RUN)

    assert (score.score, score.evidence.results["analyze"]) == (1.0, True)
    assert score.evidence.results["preprocess"]["not_json"] == "lock"


class Answer(BaseModel):
    words: list[str]


@dataclass
class Document:
    text: str
    tags: list[str] = field(default_factory=list[str])


def spoil(value: Any) -> None:
    if isinstance(value, Answer):
        value.words.append("spoilt")
    else:
        value.text = "spoilt"


@pytest.mark.parametrize("given", [Answer(words=["a"]), Document("a")])
@pytest.mark.parametrize(
    "place", ["input", "output", "ground_truth", "request_context", "metadata", "additional_context"]
)
def test_objects_in_a_run_are_each_steps_own(given: Any, place: str) -> None:
    """Objects of a user's own classes cannot be frozen: what one step does to them, no other one sees."""
    nested = place in ("request_context", "metadata", "additional_context")
    fields: dict[str, Any] = {place: {"it": [given]} if nested else given}
    run: ScorerRun[Any, Any] = ScorerRun(run_id="r", **fields)

    def it(run: Any) -> Any:
        return getattr(run, place)["it"][0] if nested else getattr(run, place)

    before = repr(given)
    told: list[str] = []

    def step(ctx: Any) -> float:
        told.append(repr(it(ctx.run)))
        spoil(it(ctx.run))
        return 1.0

    begin: Any = create_scorer(id="x", version="1", prepare_run=lambda run: spoil(it(run)) or replace(run, tags=("a",)))
    plain: Any = create_scorer(id="x", version="1")
    for start in (begin, plain):
        assert isinstance(start.preprocess(step).analyze(step).generate_score(step).run_inline(run), Score)

    assert told[3:] == [before] * 3
    assert told[0] == told[1] == told[2] != before  # what prepare_run makes of its own copy is what the steps see
    assert repr(given) == before


def test_what_cannot_be_copied_is_shared() -> None:
    lock = Lock()
    run = AgentRun(run_id="r", request_context={"lock": lock})
    found: list[Any] = []

    agent().generate_score(lambda ctx: found.append(ctx.run.request_context["lock"]) or 1.0).run_inline(run)

    assert found == [lock]


def test_not_scorable_ends_a_run_from_a_prompt_too() -> None:
    asked = agent(judge=JUDGE).generate_score(description="d", create_prompt=lambda ctx: not_scorable("nothing"))
    reasoned = agent(judge=JUDGE).generate_score(lambda _: 1)
    reasoned = reasoned.generate_reason(description="d", create_prompt=lambda ctx: not_scorable("no words"))

    assert asked.run_sync(RUN).reason == "nothing"
    assert asked.run_sync(RUN).step == "generate_score"
    assert reasoned.run_sync(RUN).reason_error == "no reason: no words"
