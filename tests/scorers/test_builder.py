"""What is wrong with a scorer is said when it is built, and names the scorer."""

# pyright: reportUnknownLambdaType=false
# What is tried here is untyped, since a type checker refuses most of it.
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from tracescore import ConfigurationError, Judge, ScorerError, TraceScore, create_scorer, scorer
from tracescore.testing import FakeJudge

JUDGE = Judge(model=FakeJudge(), instructions="You grade.")
begin: Any = create_scorer(id="x", type="agent", judge=JUDGE)
"""Untyped, since a type checker refuses most of what is tried here."""


def score(ctx: Any) -> float:
    return 1.0


def prompt(ctx: Any) -> str:
    return "Grade."


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: create_scorer(id=""), "needs an id"),
        (lambda: create_scorer(id="x", score_range=(1, 0)), "'x': score_range .* the lower one first"),
        (lambda: create_scorer(id="x", score_range=(0, float("inf"))), "two finite numbers"),
        (lambda: create_scorer(id="x", version=" "), "'x': version= is empty"),
        (lambda: create_scorer(id="x", reads=["tokens"]), "reads 'tokens' is unknown"),  # type: ignore[list-item]
        (lambda: create_scorer(id="x", type="agnt"), "type 'agnt' is unknown"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", type="agent", input_type=int), "states the input and output types"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", judge="gpt"), "judge= takes a Judge"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", prepare_run=3), "prepare_run= takes a function"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", prepare_run=lambda: None), "'x': prepare_run takes one argument, the run"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", type="trajectory", output_type=int), "type='trajectory' states the input and"),  # type: ignore[call-overload]
        (lambda: create_scorer(id="x", output_type=object()), "'x': output_type=.* is no type that pydantic knows"),  # type: ignore[call-overload]
    ],
)
def test_options_that_cannot_work_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: begin.preprocess(score).preprocess(score), "'x': the step preprocess is there already"),
        (lambda: begin.analyze(score).preprocess(score), "'x': preprocess must come before analyze"),
        (lambda: begin.analyze(score).analyze(score), "'x': the step analyze is there already"),
        (lambda: begin.generate_reason(score), "'x': it has no generate_score step yet"),
        (lambda: begin.generate_score(score).preprocess(score), "'x': preprocess must come before generate_score"),
        (lambda: begin.generate_score(score).generate_score(score), "'x': the step generate_score is there already"),
        (
            lambda: begin.generate_score(score).generate_reason(score).generate_reason(score),
            "'x': the step generate_reason is there already",
        ),
        (lambda: begin.run(output="x"), r"no generate_score step yet \(steps: none\)"),
        (lambda: TraceScore(scorers=[begin.analyze(score)]), r"'x': it has no generate_score .*\(steps: analyze\)"),
        (lambda: begin.generate_score(), "'x': generate_score needs a function, or the keywords"),
        (lambda: begin.generate_score(None), "needs a function, or the keywords"),
        (lambda: begin.generate_score("0.5"), "needs a function, or the keywords"),
        (lambda: begin.generate_score({"description": "d"}), "needs a function, or the keywords"),
        (lambda: begin.generate_score(score, create_prompt=prompt), "a function or a prompt, not both"),
        (lambda: begin.generate_score(score, score), "takes one function"),
        (lambda: begin.analyze(description="d", promt=prompt), "takes one function, or the keywords"),
        (lambda: begin.analyze(description="d", create_prompt=prompt), "prompt step analyze needs output_schema="),
        (lambda: begin.preprocess(description="d", create_prompt=prompt), "preprocess needs output_schema="),
        (lambda: begin.analyze(create_prompt=prompt, output_schema=int), "analyze needs a description"),
        (lambda: begin.analyze(description="d", output_schema=int), "needs create_prompt="),
        (lambda: begin.analyze(description="d", create_prompt="Grade", output_schema=int), "needs create_prompt="),
        (
            lambda: begin.analyze(description="d", create_prompt=prompt, output_schema={"type": "array"}),
            'needs "type": "object"',
        ),
        (
            lambda: begin.analyze(description="d", create_prompt=prompt, output_schema=object()),
            "neither a type that pydantic knows nor a JSON Schema",
        ),
        (
            lambda: begin.generate_score(description="d", create_prompt=prompt, output_schema=int),
            "output_schema= and no calculate_score=",
        ),
        (
            lambda: begin.generate_score(description="d", create_prompt=prompt, calculate_score=score),
            "calculate_score= and no output_schema=",
        ),
        (lambda: begin.generate_score(description="d", create_prompt=prompt, judge="gpt"), "judge= takes a Judge"),
        (lambda: begin.preprocess(lambda: 1), r"'x': preprocess takes one argument, the step's context; <lambda>\(\)"),
        (lambda: begin.analyze(pow), "'x': analyze takes one argument"),
        (lambda: begin.generate_score(lambda run, results: 1.0), "missing a required argument: 'results'"),
        (lambda: begin.generate_score(score).generate_reason(lambda: "why"), "'x': generate_reason takes one argument"),
        (
            lambda: begin.generate_score(description="d", create_prompt=lambda: "Grade."),
            "'x': the prompt step generate_score: create_prompt takes one argument",
        ),
        (
            lambda: begin.generate_score(
                description="d", create_prompt=prompt, output_schema=int, calculate_score=lambda run, results: 1.0
            ),
            "'x': the prompt step generate_score: calculate_score takes one argument",
        ),
        (
            lambda: begin.generate_score(description="d", create_prompt=prompt, output_schema=int, calculate_score=1),
            "needs a function as calculate_score=; got 1",
        ),
        (
            lambda: begin.generate_score(score).generate_reason(
                description="d", create_prompt=prompt, output_schema=int
            ),
            "generate_reason gives plain text: it takes no output_schema=",
        ),
        (
            lambda: begin.analyze(description="d", create_prompt=prompt, output_schema=int, calculate_score=score),
            "analyze takes no calculate_score=: that is for generate_score",
        ),
    ],
)
def test_steps_that_cannot_work_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        build()


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (None, "prompt step generate_score has no judge model and no instructions"),
        (Judge(model=FakeJudge()), "has no judge instructions"),
        (Judge(model=FakeJudge(), instructions=""), "has no judge instructions"),
        (Judge(model=FakeJudge(), instructions=" \n"), "has no judge instructions"),
        (Judge(instructions="You grade."), "has no judge model"),
        (Judge(model="opnai/gpt", instructions="You grade."), "did you mean 'openai/gpt'"),
        (Judge(model="gpt-5", instructions="You grade."), "Write 'provider/model'"),
    ],
)
def test_a_prompt_without_a_judge_fails_when_the_app_is_built_or_at_the_first_run(
    judge: Judge | None, message: str
) -> None:
    judged = create_scorer(id="x", type="agent", judge=judge).generate_score(description="d", create_prompt=prompt)

    with pytest.raises(ConfigurationError, match=message):
        TraceScore(scorers=[judged])
    with pytest.raises(ScorerError, match=message):
        judged.run_sync(output="Sunny.")


untyped_scorer: Any = scorer


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: untyped_scorer(score), r"@scorer needs parentheses and an id: @scorer\(id='score'\)"),
        (lambda: untyped_scorer(), r"@scorer needs parentheses and an id"),
        (lambda: untyped_scorer(name="X"), r"@scorer needs parentheses and an id"),
        (lambda: untyped_scorer(id="x")(3), r"'x': @scorer\(...\) stands before a function, not 3"),
        (lambda: untyped_scorer(id="x")(lambda: 1.0), "'x': generate_score takes one argument, the run"),
    ],
)
def test_the_short_form_is_checked_too(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        build()


@pytest.mark.parametrize("function", [len, str, lambda ctx, more=1: 1.0, lambda *args: 1.0, partial(max, 1)])
def test_whatever_takes_one_argument_is_a_step(function: Any) -> None:
    assert begin.preprocess(function).generate_score(score).steps[0].name == "preprocess"


class Model(BaseModel):
    score: float


@dataclass
class Plain:
    score: float


class Typed(TypedDict):
    score: float


@pytest.mark.parametrize(
    "schema", [Model, Plain, Typed, {"type": "object", "properties": {"score": {"type": "number"}}}]
)
def test_every_form_of_an_output_schema_is_read(schema: Any) -> None:
    judge = Judge(model=FakeJudge(lambda request: {"score": 0.5}), instructions="You grade.")

    def read(ctx: Any) -> float:
        answer = ctx.output
        return answer["score"] if isinstance(answer, dict) else answer.score

    judged = create_scorer(id="x", type="agent", judge=judge).generate_score(
        description="d", create_prompt=prompt, output_schema=schema, calculate_score=read
    )

    assert float(judged.run_sync(output="Sunny.")) == 0.5


def test_unknown_attributes_are_what_python_says_they_are() -> None:
    with pytest.raises(AttributeError, match="'BeforePreprocess' object has no attribute 'colour'"):
        _ = begin.colour
    assert not hasattr(begin.generate_score(score), "colour")


def test_a_scorer_tells_what_it_is() -> None:
    options: Any = {"name": "X", "description": "d", "judge": JUDGE, "score_range": None, "higher_is_better": False}
    told = create_scorer(id="x", type="agent", version="7", **options).generate_score(score)

    assert (told.id, told.name, told.description, told.type, told.version) == ("x", "X", "d", "agent", "7")
    assert (told.score_range, told.higher_is_better, told.judge) == (None, False, JUDGE)
    assert create_scorer(id="x").generate_score(score).name == "x"
    assert create_scorer(id="x").generate_score(score).type is None


def test_the_step_before_stays_usable() -> None:
    first = begin.preprocess(score)

    assert repr(first) == "BeforeAnalyze(id='x')"
    assert repr(first.generate_score(score)) == repr(first.analyze(score).generate_score(score)) == "Scorer(id='x')"
