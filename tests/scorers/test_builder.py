"""What is wrong with a scorer is said when it is built, and names the scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tracescore import ConfigurationError, Judge, ScorerError, TraceScore, create_scorer
from tracescore.testing import FunctionJudge

JUDGE = Judge(model=FunctionJudge(), instructions="You grade.")
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
    ],
)
def test_steps_that_cannot_work_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        build()


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (None, "prompt step generate_score has no judge model and no instructions"),
        (Judge(model=FunctionJudge()), "has no judge instructions"),
        (Judge(model=FunctionJudge(), instructions=""), "has no judge instructions"),
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
