"""What becomes of a run: a score, a failure, or nothing to score."""

# pyright: reportUnknownLambdaType=false
# Scorers are untyped here: much of what their steps do is wrong on purpose.
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.scorers.begun import JUDGE, RUN, agent
from tracescore import (
    Evidence,
    Judge,
    NotScorable,
    Score,
    ScoreFailure,
    ScoreValue,
    StoreError,
    SubScore,
    not_scorable,
)
from tracescore.bridge import run_sync
from tracescore.model import content_hash
from tracescore.testing import FakeJudge, MemoryReplies

HERE = "tests/scorers/test_scoring.py"


def without_duration(outcome: Any) -> Any:
    return replace(outcome, evidence=replace(outcome.evidence, duration_ms=0.0))


def test_a_score_is_a_whole_value() -> None:
    four = (
        agent(higher_is_better=False, score_range=(0, 10))
        .preprocess(lambda ctx: ["a"])
        .analyze(lambda ctx: {"n": 1})
        .generate_score(lambda ctx: 2)
        .generate_reason(lambda ctx: "two")
    )

    assert without_duration(run_sync(four.run(RUN))) == Score(
        run_id="run-1",
        scorer_id="x",
        scorer_version="7",
        score=2.0,
        reason="two",
        score_range=(0.0, 10.0),
        higher_is_better=False,
        target=RUN.target,
        evidence=Evidence(judged_hash=content_hash(RUN), results={"preprocess": ["a"], "analyze": {"n": 1}}),
    )


def test_a_failure_is_a_whole_value() -> None:
    def fail(ctx: Any) -> float:
        raise ValueError("no number")

    failing = agent().preprocess(lambda ctx: 1).analyze(fail).generate_score(lambda ctx: 1.0)

    assert without_duration(failing.run_inline(RUN)) == ScoreFailure(
        run_id="run-1",
        scorer_id="x",
        scorer_version="7",
        failed_step="analyze",
        error_type="ValueError",
        message=f"no number ({HERE}:{fail.__code__.co_firstlineno + 1})",
        completed_steps=("preprocess",),
        target=RUN.target,
        evidence=Evidence(results={"preprocess": 1}),
    )


def test_not_scorable_is_a_whole_value() -> None:
    ending = agent().preprocess(lambda ctx: 1).analyze(lambda ctx: not_scorable("nothing")).generate_score(lambda _: 1)

    assert without_duration(ending.run_inline(RUN)) == NotScorable(
        run_id="run-1",
        scorer_id="x",
        scorer_version="7",
        reason="nothing",
        step="analyze",
        target=RUN.target,
        evidence=Evidence(results={"preprocess": 1}),
    )


def test_a_broad_except_in_a_step_does_not_swallow_not_scorable() -> None:
    def careless(ctx: Any) -> float:
        try:
            not_scorable("nothing")
        except Exception:  # noqa: BLE001  # that it does not catch is the point
            return 1.0

    assert isinstance(agent().generate_score(careless).run_inline(RUN), NotScorable)


def test_not_scorable_in_a_reason_only_drops_the_reason() -> None:
    score = agent().generate_score(lambda _: 1).generate_reason(lambda _: not_scorable("no words")).run_inline(RUN)

    assert (score.score, score.reason, score.reason_error) == (1.0, None, "no reason: no words")


@pytest.mark.parametrize("reason", [3, ["text"], b"text"])
def test_a_reason_that_is_no_text_keeps_the_score(reason: object) -> None:
    score = agent().generate_score(lambda _: 1).generate_reason(lambda _: reason).run_inline(RUN)

    assert (score.score, score.reason) == (1.0, None)
    assert "a reason is text" in score.reason_error


def test_the_reason_step_wins_over_the_reason_of_the_score_step() -> None:
    valued = agent().generate_score(lambda _: ScoreValue(score=1, reason="first"))

    assert valued.run_inline(RUN).reason == "first"
    assert valued.generate_reason(lambda _: "second").run_inline(RUN).reason == "second"
    assert valued.generate_reason(lambda _: 1 / 0).run_inline(RUN).reason == "first"


@pytest.mark.parametrize(
    ("sub_scores", "message"),
    [
        ({"tone": float("nan")}, "sub-score 'tone': a score is finite"),
        ({"": 1.0}, "names of their own"),
        ([SubScore(name="a", value=1), SubScore(name="a", value=0)], "names of their own, not 'a'"),
        ({"tone": "high"}, "sub-score 'tone': a score is a number, not str"),
    ],
)
def test_sub_scores_are_checked(sub_scores: Any, message: str) -> None:
    failure = agent().generate_score(lambda _: ScoreValue(score=1, sub_scores=sub_scores)).run_inline(RUN)

    assert (failure.error_type, failure.failed_step) == ("InvalidScore", "generate_score")
    assert message in failure.message


def test_sub_scores_may_lie_outside_the_range_of_the_score() -> None:
    score = agent().generate_score(lambda _: ScoreValue(score=1, sub_scores={"words": 120})).run_inline(RUN)

    assert score.sub_scores == (SubScore(name="words", value=120.0),)


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration("over"), RecursionError("deep"), KeyError("k")])
@pytest.mark.parametrize("way", ["inline", "loop", "threads"])
def test_whatever_a_step_raises_is_a_failure(error: BaseException, way: str) -> None:
    def fail(ctx: Any) -> float:
        raise error

    failing = agent().generate_score(fail)

    async def on_loop(threads: ThreadPoolExecutor | None) -> Any:
        return await failing.run_prepared(await failing.prepare(RUN), threads=threads)

    if way == "inline":
        failure = failing.run_inline(RUN)
    else:
        with ThreadPoolExecutor(1) as threads:
            failure = run_sync(on_loop(threads if way == "threads" else None))

    assert isinstance(failure, ScoreFailure)
    assert failure.failed_step == "generate_score"


def test_an_error_that_cannot_say_what_it_is_is_named_by_its_class() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail(ctx: Any) -> float:
        raise MuteError

    assert agent().generate_score(fail).run_inline(RUN).message.startswith(f"MuteError ({HERE}:")


def test_a_failing_store_is_no_fault_of_the_scorer() -> None:
    class FailingStore(MemoryReplies):
        async def put(self, step: str, prompt_hash: str, reply: str, /) -> None:
            raise StoreError("down")

    judged = agent(judge=JUDGE).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    with pytest.raises(StoreError, match="down"):
        run_sync(judged.run(RUN, replies=FailingStore()))


def test_a_failing_store_is_no_fault_of_the_reason_either() -> None:
    class FailingStore(MemoryReplies):
        async def get(self, step: str, prompt_hash: str, /) -> str | None:
            raise StoreError("down")

    reasoned = (
        agent(judge=JUDGE)
        .generate_score(lambda _: 1)
        .generate_reason(description="d", create_prompt=lambda ctx: "Why?")
    )

    with pytest.raises(StoreError, match="down"):
        run_sync(reasoned.run(RUN, replies=FailingStore()))


def test_a_prompt_may_be_a_coroutine() -> None:
    async def write(ctx: Any) -> str:
        return f"Grade {ctx.run.run_id}."

    score = agent(judge=JUDGE).generate_score(description="d", create_prompt=write).run_sync(RUN)

    assert score.evidence.judge_calls[0].prompt == "Grade run-1."


@pytest.mark.parametrize("prompt", ["", "  \n", None, 3, ["Grade."]])
def test_a_prompt_that_is_no_text_is_a_failure_without_a_call(prompt: Any) -> None:
    judge = FakeJudge()
    judged = agent(judge=Judge(model=judge, instructions="You grade.")).generate_score(
        description="d", create_prompt=lambda ctx: prompt
    )

    failure = judged.run_sync(RUN)

    assert (failure.error_type, failure.failed_step, judge.requests) == ("TypeError", "generate_score", [])
    assert "create_prompt of generate_score must give text" in failure.message


def test_the_message_of_a_failure_is_bounded() -> None:
    def fail(ctx: Any) -> float:
        raise ValueError("x" * 100_000)

    message = agent().generate_score(fail).run_inline(RUN).message

    assert len(message) < 4_100
    assert message.startswith("x" * 4_000 + f" ({HERE}:")


def test_numpy_like_numbers_are_scores() -> None:
    from fractions import Fraction

    assert agent().generate_score(lambda _: Fraction(1, 4)).run_inline(RUN).score == 0.25
    assert agent(score_range=None).generate_score(lambda _: -sys.maxsize).run_inline(RUN).ok
