"""Function steps that may ask the judge: not at all, or more than once."""

# pyright: reportUnknownLambdaType=false
# Scorers are untyped here, as in the other tests of what becomes of them.
from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.begun import RUN, agent
from tracescore import AskingContext, Judge, JudgeReplyError, Score, ScoreFailure, ScorerError, create_scorer
from tracescore.bridge import run_sync
from tracescore.judge import OutputSchema
from tracescore.testing import FakeJudge, MemoryReplies

NUMBERED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def asking(judge: FakeJudge, questions: int) -> Any:
    async def ask(ctx: Any) -> list[int]:
        return [(await ctx.ask(f"Question {number}", output_schema=NUMBERED))["n"] for number in range(questions)]

    settings = Judge(model=judge, instructions="You count.")
    return agent(judge=settings, score_range=None).analyze(ask, judge=Judge(temperature=0))


def test_each_question_is_a_call_with_its_evidence() -> None:
    judge = FakeJudge(lambda request: {"n": len(judge.requests)})
    score = asking(judge, 2).generate_score(lambda ctx: sum(ctx.results.analyze_step_result)).run_sync(RUN)

    assert score.score == 3.0
    assert [(call.step, call.prompt, call.parsed) for call in score.evidence.judge_calls] == [
        ("analyze", "Question 0", {"n": 1}),
        ("analyze", "Question 1", {"n": 2}),
    ]
    assert [request.sampling for request in judge.requests] == [{"temperature": 0}] * 2


def test_no_question_is_no_call() -> None:
    judge = FakeJudge()
    score = asking(judge, 0).generate_score(lambda _: 1).run_sync(RUN)

    assert isinstance(score, Score)
    assert (score.evidence.judge_calls, judge.requests) == ((), [])


def test_stored_replies_are_not_asked_for_again() -> None:
    judge = FakeJudge(lambda request: {"n": 1})
    scored = asking(judge, 2).generate_score(lambda ctx: sum(ctx.results.analyze_step_result))
    replies = MemoryReplies()
    scores = [run_sync(scored.run(RUN, replies=replies)).score for _ in range(2)]

    assert (scores, len(judge.requests)) == ([2.0, 2.0], 2)


def test_an_answer_that_cannot_be_used_fails_the_step() -> None:
    judge = FakeJudge(lambda request: "no JSON")
    failure = asking(judge, 1).generate_score(lambda _: 1).run_sync(RUN)

    assert isinstance(failure, ScoreFailure)
    assert (failure.failed_step, failure.error_type) == ("analyze", "JudgeReplyError")


def test_an_output_schema_of_ones_own_reads_the_answer() -> None:
    def read(value: Any) -> int:
        if "n" not in value:
            raise JudgeReplyError("no n")
        return int(value["n"])

    schema = OutputSchema(json_schema=NUMBERED, name="numbered", read=read)

    async def ask(ctx: AskingContext) -> tuple[int, str]:
        return await ctx.ask("How many?", output_schema=schema), await ctx.ask("Why?")

    judge = FakeJudge(lambda request: "Because." if request.schema is None else {"n": "4"})
    seen = agent(judge=Judge(model=judge, instructions="You count."), score_range=None).preprocess(ask, judge=Judge())
    score = seen.generate_score(lambda ctx: ctx.results.preprocess_step_result[0]).run_sync(RUN)

    assert score.score == 4.0
    assert judge.requests[0].schema == NUMBERED
    assert score.evidence.results["preprocess"] == [4, "Because."]


def test_a_step_that_may_ask_makes_a_judged_scorer() -> None:
    async def ask(ctx: Any) -> str:
        return str(await ctx.ask("Why?"))

    without = create_scorer(id="x", type="agent", version="1").analyze(ask, judge=Judge()).generate_score(lambda _: 1)

    assert (without.needs_judge, without.is_async) == (True, True)
    with pytest.raises(ScorerError, match="its step analyze has no judge model and no instructions"):
        without.check()
    assert without.with_default_judge(Judge(model=FakeJudge(), instructions="You say why.")).check() is None


def test_the_judge_of_such_a_step_is_in_the_version() -> None:
    async def ask(ctx: Any) -> str:
        return str(await ctx.ask("Why?"))

    versions = {
        create_scorer(id="x", type="agent")
        .analyze(ask, judge=Judge(model="openai/gpt-5-mini", instructions=words))
        .generate_score(lambda _: 1)
        .version
        for words in ("Be strict.", "Be kind.")
    }

    assert len(versions) == 2


def test_only_an_async_function_may_ask() -> None:
    with pytest.raises(ScorerError, match=r"analyze may ask a judge .*: make its function async def"):
        agent().analyze(lambda ctx: 1, judge=Judge())
    with pytest.raises(ScorerError, match="judge= takes a Judge, not str"):
        agent().preprocess(lambda ctx: 1, judge="openai/gpt-5-mini")
    with pytest.raises(ScorerError, match="takes a function or a prompt, not both"):
        agent().generate_score(lambda ctx: 1, judge=Judge())


def test_a_step_that_was_given_no_judge_cannot_ask() -> None:
    async def ask(ctx: Any) -> str:
        return str(await ctx.ask("Why?"))

    failure = agent().analyze(ask).generate_score(lambda _: 1).run_sync(RUN)

    assert "ctx.ask is there in an async preprocess or analyze function that is given with judge= only" in (
        failure.message
    )
