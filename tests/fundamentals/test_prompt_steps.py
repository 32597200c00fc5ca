"""A step may be a prompt: then a judge, an LLM, answers it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from tracescore import Judge, JudgeRequest, Score, ScoreFailure, create_scorer
from tracescore.testing import FakeJudge
from tracescore.testing.judges import Answer


class Claims(BaseModel):
    claims: list[str]


class Verdict(BaseModel):
    supported: int
    total: int


def test_a_prompt_step_asks_a_judge() -> None:
    """A prompt step is the same method with keywords; the judge's answer is validated by its schema."""
    judge = FakeJudge(lambda request: {"claims": ["It is sunny.", "It is 21 degrees."]})
    count_claims = (
        create_scorer(
            id="count-claims",
            type="agent",
            score_range=None,
            judge=Judge(model=judge, instructions="You list claims."),
        )
        .preprocess(
            description="List the claims",
            create_prompt=lambda ctx: f"List every claim in:\n{ctx.fenced(ctx.run.output.text)}",
            output_schema=Claims,
        )
        .generate_score(lambda ctx: len(ctx.results.preprocess_step_result.claims))
    )

    score = count_claims.run_sync(output="It is sunny, at 21 degrees.")

    assert float(score) == 2.0
    assert judge.requests[0].messages[0] == {"role": "system", "content": "You list claims."}


def test_a_plain_score_prompt_asks_for_a_number_in_the_range() -> None:
    """With no schema of its own, a score prompt asks for `{"score": number}`."""
    helpful = create_scorer(
        id="helpful",
        type="agent",
        score_range=(0, 10),
        judge=Judge(model=FakeJudge(lambda request: {"score": 8}), instructions="You grade answers."),
    ).generate_score(
        description="Grade the answer", create_prompt=lambda ctx: f"Grade:\n{ctx.fenced(ctx.run.output.text)}"
    )

    assert float(helpful.run_sync(output="Sunny.")) == 8.0


def test_calculate_score_turns_the_answer_into_a_number() -> None:
    """With a schema of its own, `calculate_score` gets the validated answer as `ctx.output`."""
    judge = FakeJudge(lambda request: {"supported": 3, "total": 4})
    grounded = (
        create_scorer(id="grounded", type="agent", judge=Judge(model=judge, instructions="You check facts."))
        .generate_score(
            description="Count the supported claims",
            create_prompt=lambda ctx: f"Check:\n{ctx.fenced(ctx.run.output.text)}",
            output_schema=Verdict,
            calculate_score=lambda ctx: ctx.output.supported / ctx.output.total,
        )
        .generate_reason(lambda ctx: f"{ctx.output.supported} of {ctx.output.total} claims are supported.")
    )

    score = grounded.run_sync(output="It is sunny.")

    assert isinstance(score, Score)
    assert float(score) == 0.75
    assert score.reason == "3 of 4 claims are supported."


class Tone(BaseModel):
    tone: Literal["kind", "neutral", "rude"]


def test_a_label_becomes_a_number() -> None:
    """A judge that classifies has a closed list of answers, and each of them its score."""
    points = {"kind": 1.0, "neutral": 0.5, "rude": 0.0}
    answers: list[Answer] = [{"tone": "neutral"}, {"tone": "angry"}, {"tone": "rude"}]
    tone = create_scorer(
        id="tone", type="agent", judge=Judge(model=FakeJudge(answers), instructions="You hear tones.")
    ).generate_score(
        description="Name the tone",
        create_prompt=lambda ctx: f"Which tone has this?\n{ctx.fenced(ctx.run.output.text)}",
        output_schema=Tone,
        calculate_score=lambda ctx: points[ctx.output.tone],
    )

    assert [float(tone.run_sync(output="Sit down.")) for _ in range(2)] == [0.5, 0.0]  # the second was asked for again


def test_a_reason_prompt_gives_plain_text() -> None:
    """A reason needs no schema; its prompt knows the score."""
    judge = FakeJudge(lambda request: "It names no source." if request.schema is None else {"score": 0.5})
    sourced = (
        create_scorer(id="sourced", type="agent", judge=Judge(model=judge, instructions="You grade sources."))
        .generate_score(description="Grade the sources", create_prompt=lambda ctx: "Grade the sources.")
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Explain the score {ctx.score}.")
    )

    score = sourced.run_sync(output="It is sunny.")

    assert isinstance(score, Score)
    assert score.reason == "It names no source."
    assert judge.requests[1].messages[-1]["content"] == "Explain the score 0.5."


def test_every_judge_call_is_kept_as_evidence() -> None:
    """The score says what was asked, what came back, and from whom."""
    judged = create_scorer(
        id="judged",
        type="agent",
        judge=Judge(model=FakeJudge(lambda request: {"score": 1}), instructions="You grade."),
    ).generate_score(description="Grade", create_prompt=lambda ctx: "Grade it.")

    score = judged.run_sync(output="It is sunny.")

    assert isinstance(score, Score)
    [call] = score.evidence.judge_calls
    assert (call.step, call.prompt, call.raw_reply, call.model_answered) == (
        "generate_score",
        "Grade it.",
        '{"score":1}',
        "fake-judge",
    )


def test_an_answer_that_is_not_the_schema_is_a_failure() -> None:
    """It is never guessed at: the run has no score, and the raw reply is kept."""
    judged = create_scorer(
        id="judged",
        type="agent",
        judge=Judge(model=FakeJudge(lambda request: "I would say 0.8."), instructions="You grade."),
    ).generate_score(description="Grade", create_prompt=lambda ctx: "Grade it.")

    failure = judged.run_sync(output="It is sunny.")

    assert isinstance(failure, ScoreFailure)
    assert failure.error_type == "JudgeReplyError"
    assert failure.evidence.judge_calls[0].raw_reply == "I would say 0.8."


def test_a_step_may_ask_another_judge() -> None:
    """Settings inherit one by one: what a step does not say is the scorer's."""

    def temperature(request: JudgeRequest) -> dict[str, float]:
        return {"score": request.sampling["temperature"]}

    base = Judge(model=FakeJudge(temperature), instructions="You grade.", temperature=0.0)
    judged = create_scorer(id="judged", type="agent", judge=base).generate_score(
        description="Grade", create_prompt=lambda ctx: "Grade it.", judge=Judge(temperature=0.5)
    )

    assert float(judged.run_sync(output="It is sunny.")) == 0.5
