"""Model settings that a model refuses: dropped once, remembered, noted; or an error where the user is strict."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.judge.judging import Serve, call_of, judge_at, scored
from tracescore import Score, ScoreFailure
from tracescore.bridge import run_sync
from tracescore.judge import JudgeRequest
from tracescore.testing import ModelReply


def test_a_refused_setting_is_dropped_once_remembered_and_noted(serve: Serve) -> None:
    server = serve(refuses=["temperature", "seed"])
    judge = judge_at(server, temperature=0, seed=7, top_p=0.5)

    first, second = scored(judge), scored(judge)

    assert isinstance(second, Score)
    assert (call_of(first).attempts, call_of(second).attempts) == (3, 1)
    expected = [f"{name} is not sent: the model refuses it" for name in ("temperature=0", "seed=7")]
    assert sorted(call_of(first).notes) == sorted(call_of(second).notes) == sorted(expected)
    assert {"temperature", "seed", "top_p"} & server.calls[-1].body.keys() == {"top_p"}


def test_strict_settings_fail_instead(serve: Serve) -> None:
    server = serve(refuses=["temperature"])
    scored(judge_at(server, temperature=0))  # what is known already makes no difference

    failure = scored(judge_at(server, temperature=0, strict_settings=True))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, len(server.calls)) == ("JudgeSettingRefused", 3)
    assert "'temperature' is not supported with this model" in failure.message


def test_a_limit_of_output_is_sent_under_its_other_name_first(serve: Serve) -> None:
    server = serve(refuses=["max_tokens"])
    judge = judge_at(server, model="groq/llama", max_output_tokens=100)

    first, second = scored(judge), scored(judge)

    assert (call_of(first).attempts, call_of(second).attempts) == (2, 1)
    assert server.calls[-1].body["max_completion_tokens"] == 100
    assert call_of(first).notes == ("max_output_tokens is sent as max_completion_tokens: the model refuses max_tokens",)


def test_a_limit_that_is_refused_under_both_names_is_dropped(serve: Serve) -> None:
    server = serve(refuses=["max_tokens", "max_completion_tokens"])

    assert call_of(scored(judge_at(server, max_output_tokens=100))).attempts == 3
    assert not {"max_tokens", "max_completion_tokens"} & server.calls[-1].body.keys()


def test_a_refused_value_leaves_other_values_alone(serve: Serve) -> None:
    def answer(call: Any) -> ModelReply | None:
        if call.body.get("reasoning_effort") != "minimal":
            return None
        text = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."
        return ModelReply(status=400, text=text, error_code="unsupported_value", error_param="reasoning_effort")

    server = serve(answer)

    attempts = [call_of(scored(judge_at(server, reasoning_effort=effort))).attempts for effort in ("minimal", "low")]

    assert attempts == [2, 1]
    assert server.calls[-1].body["reasoning_effort"] == "low"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ModelReply(status=400, text="Invalid 'temperature': above the maximum value of 2."), "JudgeError"),
        (ModelReply(status=400, text="temperature and top_p cannot both be given"), "JudgeError"),
        (ModelReply(status=400, text="'logprobs' is not supported"), "JudgeError"),
        (ModelReply(status=500, text="'temperature' is not supported"), "JudgeTransientError"),
    ],
)
def test_what_is_not_clear_is_an_error(serve: Serve, reply: ModelReply, expected: str) -> None:
    server = serve([reply])

    failure = scored(judge_at(server, temperature=3, top_p=1))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, len(server.calls)) == (expected, 1)


def test_a_refusal_of_another_form_is_understood(serve: Serve) -> None:
    """As servers answer that check the request's fields with pydantic."""
    detail = (
        b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}'
    )
    server = serve([ModelReply(status=422, body=detail)])

    assert call_of(scored(judge_at(server, seed=1))).attempts == 2


def test_calls_at_once_learn_together(serve: Serve) -> None:
    from tracescore import create_scorer

    server = serve(refuses=["max_tokens", "response_format"], latency=0.05)
    judged = create_scorer(
        id="judged", type="agent", judge=judge_at(server, model="groq/llama", max_output_tokens=9)
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    async def many() -> list[Any]:
        return await asyncio.gather(*(judged.run(output="Sunny.") for _ in range(8)))

    assert all(outcome.ok for outcome in run_sync(many()))
    assert len(server.calls) == 24  # each met both refusals, since all were under way
    assert server.calls[-1].body["max_completion_tokens"] == 9
    assert scored(judge_at(server, model="groq/llama", max_output_tokens=9)).ok
    assert len(server.calls) == 25


def test_a_judge_of_the_users_own_may_refuse_a_setting_too() -> None:
    from tracescore import Judge, JudgeSettingRefused
    from tracescore.testing import FakeJudge

    def answer(request: JudgeRequest) -> dict[str, float]:
        if "seed" in request.sampling:
            raise JudgeSettingRefused("no seeds here", setting="seed")
        return {"score": 1}

    outcome = scored(Judge(model=FakeJudge(answer), instructions="You grade.", seed=1))

    assert call_of(outcome).notes == ("seed=1 is not sent: the model refuses it",)
