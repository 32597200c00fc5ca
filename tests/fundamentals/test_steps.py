"""A scorer is a pipeline of up to four steps, each of which sees what came before."""

from __future__ import annotations

import pytest

from tracescore import AgentRun, Score, ScorerError, ScoreValue, StepContext, SubScore, create_scorer
from tracescore.bridge import run_sync


def test_steps_see_the_results_of_those_before() -> None:
    """preprocess, analyze, generate_score, generate_reason: a value goes from one to the next."""
    coverage = (
        create_scorer(id="coverage", type="agent")
        .preprocess(lambda ctx: ctx.run.output.text.lower().split())
        .analyze(lambda ctx: {word: word in ctx.results.preprocess_step_result for word in ("sunny", "paris")})
        .generate_score(lambda ctx: sum(ctx.results.analyze_step_result.values()) / 2)
        .generate_reason(lambda ctx: f"{ctx.score:.0%} of the words: {ctx.results.analyze_step_result}")
    )

    score = coverage.run_sync(output="It is sunny today")

    assert isinstance(score, Score)
    assert float(score) == 0.5
    assert score.reason == "50% of the words: {'sunny': True, 'paris': False}"


def test_steps_may_be_coroutines() -> None:
    """Each step is `def` or `async def`, as you like."""

    async def fetch(ctx: StepContext[AgentRun, None, None]) -> int:
        return len(ctx.run.output.text)

    length = (
        create_scorer(id="length", type="agent", score_range=None)
        .preprocess(fetch)
        .generate_score(lambda ctx: ctx.results.preprocess_step_result)
    )

    async def score() -> float:
        return float(await length.run(output="Sunny."))

    assert run_sync(score()) == 6.0


def test_a_score_may_have_named_parts() -> None:
    """A score step gives a number, or a `ScoreValue` with sub-scores and a reason."""
    quality = create_scorer(id="quality", type="agent").generate_score(
        lambda ctx: ScoreValue(score=0.5, sub_scores={"tone": 1.0, "facts": 0.0}, reason="One fact is wrong.")
    )

    score = quality.run_sync(output="Sunny.")

    assert isinstance(score, Score)
    assert score.sub_scores == (SubScore(name="tone", value=1.0), SubScore(name="facts", value=0.0))
    assert score.reason == "One fact is wrong."


def test_a_builder_is_never_changed() -> None:
    """Each step gives a new object, so two scorers may branch off one."""
    words = create_scorer(id="words", type="agent").preprocess(lambda ctx: ctx.run.output.text.split())

    few = words.generate_score(lambda ctx: 1.0 if len(ctx.results.preprocess_step_result) < 3 else 0.0)
    many = words.generate_score(lambda ctx: 0.0 if len(ctx.results.preprocess_step_result) < 3 else 1.0)

    assert float(few.run_sync(output="One two")) == 1.0
    assert float(many.run_sync(output="One two")) == 0.0


def test_a_scorer_without_a_score_step_cannot_run() -> None:
    """It is a type error; at run time the error names the scorer."""
    unfinished = create_scorer(id="unfinished", type="agent").preprocess(lambda ctx: 1)

    with pytest.raises(ScorerError, match="'unfinished': it has no generate_score step yet"):
        unfinished.run_sync(output="Sunny.")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def test_scorers_describe_their_steps() -> None:
    """What a scorer does can be listed."""
    described = (
        create_scorer(id="described", type="agent")
        .analyze(lambda ctx: 1, description="Count the words")
        .generate_score(lambda ctx: 1.0)
        .generate_reason(description="Say why", create_prompt=lambda ctx: "Why?")
    )

    assert [(step.name, step.kind, step.description) for step in described.steps] == [
        ("analyze", "function", "Count the words"),
        ("generate_score", "function", ""),
        ("generate_reason", "prompt", "Say why"),
    ]
