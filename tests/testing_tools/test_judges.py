"""The fake judge and the recorder that users are given."""

from __future__ import annotations

from typing import Any

import pytest

from tracescore import JudgeTransientError, ScoreFailure
from tracescore.bridge import run_sync
from tracescore.errors import JudgeError
from tracescore.judge import Judge, JudgeReply, JudgeRequest
from tracescore.scorers import Scorer, create_scorer
from tracescore.testing import FakeJudge, JudgeRecorder, ModelServer, RecordedCall

SCHEMA = {"type": "object", "properties": {"score": {"type": "number", "minimum": 0.5}}, "required": ["score"]}
GRADE = JudgeRequest(messages=[{"role": "user", "content": "Grade."}], schema=SCHEMA)
WHY = JudgeRequest(messages=[{"role": "user", "content": [{"type": "text", "text": "Why?"}]}])


def answers(judge: FakeJudge, *requests: JudgeRequest) -> list[str | None]:
    return [run_sync(judge.ask(request)).text for request in requests]


def scorer_asking(model: Any) -> Scorer[Any, Any, Any]:
    return create_scorer(
        id="judged", type="agent", version="1", judge=Judge(model=model, instructions="You are strict.")
    ).generate_score(description="Grade it", create_prompt=lambda ctx: f"Grade {ctx.run.output.text}")


def test_a_list_answers_call_by_call() -> None:
    judge = FakeJudge([{"score": 0.8}, "Because.", JudgeReply(text="cut", finish_reason="length")])

    assert answers(judge, GRADE, WHY, WHY) == ['{"score":0.8}', "Because.", "cut"]
    assert judge.prompts == ["Grade.", "Why?", "Why?"]
    with pytest.raises(JudgeError, match="fake-judge was asked 4 times and has no answer to the last"):
        answers(judge, WHY)


async def later(request: JudgeRequest) -> str:
    return "Later."


def test_a_function_answers_by_what_is_asked() -> None:
    judge = FakeJudge(lambda request: {"score": 1} if request.schema else "Fine.")

    assert answers(judge, GRADE, WHY) == ['{"score":1}', "Fine."]
    assert answers(FakeJudge(later), WHY) == ["Later."]


def test_without_answers_it_gives_what_the_schema_takes() -> None:
    assert answers(FakeJudge(), GRADE, WHY) == ['{"score":0.5}', "Because."]


def test_an_error_among_the_answers_is_raised() -> None:
    outcome = scorer_asking(FakeJudge([JudgeTransientError("too many requests", status=429)])).run_sync(output="x")

    assert isinstance(outcome, ScoreFailure)
    assert (outcome.error_type, outcome.message) == ("JudgeTransientError", "too many requests")


@pytest.mark.parametrize("mistaken", ["one answer", {"score": 1.0}])
def test_one_answer_is_no_list(mistaken: Any) -> None:
    with pytest.raises(TypeError, match="takes a list of answers or a function"):
        FakeJudge(mistaken)


def test_a_recorder_keeps_what_was_asked_and_answered() -> None:
    recorder = JudgeRecorder(FakeJudge([JudgeTransientError("busy"), {"score": 0.75}], name="strict"))
    scorer = scorer_asking(recorder)
    outcomes = [scorer.run_sync(output=text).outcome for text in ("one", "two")]

    assert (recorder.name, outcomes, recorder.prompts) == ("strict", ["failure", "score"], ["Grade one", "Grade two"])
    assert isinstance(recorder.calls[0].error, JudgeTransientError)
    assert recorder.calls[1] == RecordedCall(
        request=recorder.calls[1].request,
        reply=JudgeReply(text='{"score":0.75}', finish_reason="stop", model="strict"),
    )
    assert float(scorer_asking(FakeJudge(recorder.replies)).run_sync(output="two")) == 0.75


def test_a_recorder_stands_before_a_real_endpoint() -> None:
    with ModelServer(replies=[{"score": 0.5}]) as server:
        recorder = JudgeRecorder(Judge(model="openai/stand-in", base_url=server.base_url, api_key="none"))
        outcome = scorer_asking(recorder).run_sync(output="x")

    assert (float(outcome), recorder.name, len(recorder.replies)) == (0.5, "openai/stand-in", 1)
