"""Stored replies: what is paid for is not paid for twice."""

from __future__ import annotations

from typing import Any

from tracescore import AgentRun, Judge, JudgeReply, JudgeTransientError, Score, ScoreFailure, create_scorer
from tracescore.bridge import run_sync
from tracescore.judge import JudgeRequest, dump_reply, load_reply, prompt_hash
from tracescore.testing import FakeJudge, MemoryReplies


def judged(judge: FakeJudge, prompt: str = "Grade.") -> Any:
    return (
        create_scorer(id="judged", type="agent", judge=Judge(model=judge, instructions="You grade."))
        .generate_score(description="d", create_prompt=lambda ctx: prompt)
        .generate_reason(description="d", create_prompt=lambda ctx: "Why?")
    )


def test_a_stored_reply_is_used_instead_of_a_call() -> None:
    judge, replies = FakeJudge(lambda request: {"score": 0.5} if request.schema else "So."), MemoryReplies()

    first = run_sync(judged(judge).run(AgentRun(run_id="r"), replies=replies))
    second = run_sync(judged(judge).run(AgentRun(run_id="r"), replies=replies))

    assert isinstance(first, Score)
    assert (second.score, second.reason, len(judge.requests)) == (0.5, "So.", 2)
    assert [call.reused for call in first.evidence.judge_calls] == [False, False]
    assert [call.reused for call in second.evidence.judge_calls] == [True, True]
    assert [step for step, _ in replies.replies] == ["generate_score", "generate_reason"]


def test_another_question_is_asked() -> None:
    judge, replies = FakeJudge(), MemoryReplies()

    for prompt in ("Grade.", "Grade it."):
        run_sync(judged(judge, prompt).run(AgentRun(run_id="r"), replies=replies))

    assert len(judge.requests) == 3  # two scores, and one reason that is asked for alike


def test_a_last_reply_that_cannot_be_read_is_not_kept() -> None:
    """It would fail the job again each time it is retried: the retry makes the re-ask again, and only that."""
    judge, replies = FakeJudge(lambda request: "no JSON"), MemoryReplies()

    outcomes = [run_sync(judged(judge).run(AgentRun(run_id="r"), replies=replies)) for _ in range(2)]

    assert [outcome.ok for outcome in outcomes] == [False, False]
    assert (len(judge.requests), len(replies.replies)) == (3, 1)
    assert [len(outcome.evidence.judge_calls[0].replies) for outcome in outcomes] == [2, 2]
    assert [outcome.evidence.judge_calls[0].attempts for outcome in outcomes] == [2, 1]


def test_a_re_asked_reply_is_kept_so_that_a_job_claimed_again_makes_no_call() -> None:
    judge = FakeJudge(lambda request: "no JSON" if len(request.messages) == 2 else {"score": 0.5})
    replies = MemoryReplies()
    scorer = create_scorer(
        id="judged", type="agent", judge=Judge(model=judge, instructions="You grade.")
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    first, second = (run_sync(scorer.run(AgentRun(run_id="r"), replies=replies)) for _ in range(2))

    assert (first.ok, second.ok, len(judge.requests)) == (True, True, 2)
    [before], [after] = first.evidence.judge_calls, second.evidence.judge_calls
    assert (before.attempts, before.reused, after.attempts, after.reused) == (2, False, 0, True)
    assert (before.messages, before.replies, before.parsed) == (after.messages, after.replies, after.parsed)


def test_a_reply_that_was_paid_for_survives_an_error_of_the_re_ask() -> None:
    def answers(request: JudgeRequest) -> Any:
        if len(request.messages) == 2:
            return "no JSON"
        if len(judge.requests) < 3:
            raise JudgeTransientError("later")
        return {"score": 1}

    judge, replies = FakeJudge(answers), MemoryReplies()
    scorer = create_scorer(
        id="judged", type="agent", judge=Judge(model=judge, instructions="You grade.")
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    first, second = (run_sync(scorer.run(AgentRun(run_id="r"), replies=replies)) for _ in range(2))

    assert (first.ok, second.ok, len(judge.requests)) == (False, True, 3)


def test_a_reply_survives_the_store() -> None:
    reply = JudgeReply(text="é", finish_reason="stop", model="m", request_id="r", usage={"input": 1})

    assert load_reply(dump_reply(reply)) == reply


def test_a_question_is_told_by_model_messages_schema_and_settings() -> None:
    request = JudgeRequest(messages=[{"role": "user", "content": "a"}])
    hashes = {
        prompt_hash(request, model="m"),
        prompt_hash(request, model="n"),
        prompt_hash(JudgeRequest(messages=[{"role": "user", "content": "b"}]), model="m"),
        prompt_hash(JudgeRequest(messages=request.messages, schema={"type": "object"}), model="m"),
        prompt_hash(JudgeRequest(messages=request.messages, sampling={"seed": 1}), model="m"),
        prompt_hash(JudgeRequest(messages=request.messages, native_schema=False), model="m"),
    }

    assert len(hashes) == 6
    assert prompt_hash(request, model="m") == prompt_hash(
        JudgeRequest(messages=({"content": "a", "role": "user"},), timeout=5), model="m"
    )


def test_a_judge_of_the_users_own_may_fail_in_its_own_way() -> None:
    class Broken:
        async def ask(self, request: JudgeRequest, /) -> JudgeReply:
            raise RuntimeError("out of order")

    broken = create_scorer(
        id="broken", type="agent", judge=Judge(model=Broken(), instructions="You grade.")
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    failure = broken.run_sync(output="Sunny.")

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, failure.transient) == ("RuntimeError", False)
    assert failure.message.startswith("out of order")
    [call] = failure.evidence.judge_calls
    assert (call.prompt, call.error, call.raw_reply) == ("Grade.", "out of order", None)
