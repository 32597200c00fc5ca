"""How a step's schema reaches the model: beside the messages, in them, or as the model takes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge.judging import Serve, call_of, judge_at, scored
from tracescore import ConfigurationError, Judge, Score, ScoreFailure, create_scorer
from tracescore.bridge import run_sync
from tracescore.judge import JudgeRequest, reply_of, schema_in
from tracescore.judge.injection import with_schema
from tracescore.judge.learned import Learned
from tracescore.testing import FakeJudge, MemoryReplies, ModelCall, ModelReply, ModelServer

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}}


def sent(server: ModelServer, number: int = -1) -> tuple[bool, bool, bool]:
    """Tell where the schema stood in a request: beside the messages, in the system message, in the user's."""
    body = server.calls[number].body
    system, user = (schema_in([message]) is not None for message in body["messages"][:2])
    return ("response_format" in body, system, user)


@pytest.mark.parametrize(
    ("mode", "where"),
    [
        ({}, (True, False, False)),
        ({"json_prompt_injection": "auto"}, (True, False, False)),
        ({"json_prompt_injection": False}, (True, False, False)),
        ({"json_prompt_injection": True}, (False, True, False)),
        ({"json_prompt_injection": "system"}, (False, True, False)),
        ({"json_prompt_injection": "inline"}, (False, False, True)),
    ],
)
def test_each_mode_puts_the_schema_in_its_place(
    serve: Serve, mode: dict[str, Any], where: tuple[bool, bool, bool]
) -> None:
    server = serve()

    assert scored(judge_at(server, **mode)).ok

    assert sent(server) == where
    messages = server.calls[0].body["messages"]
    assert [message["content"].split("\n\n")[0] for message in messages] == ["You grade.", "Grade."]


def test_a_reason_never_has_a_schema(serve: Serve) -> None:
    server = serve()
    judged = (
        create_scorer(id="judged", type="agent", judge=judge_at(server, json_prompt_injection=True))
        .generate_score(lambda ctx: 1.0)
        .generate_reason(description="d", create_prompt=lambda ctx: "Why?")
    )

    assert judged.run_sync(output="Sunny.").ok
    assert sent(server) == (False, False, False)


def test_a_step_overrides_the_scorers_mode(serve: Serve) -> None:
    server = serve()
    judged = create_scorer(
        id="judged", type="agent", judge=judge_at(server, json_prompt_injection="inline")
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.", judge=Judge(json_prompt_injection=False))

    assert judged.run_sync(output="Sunny.").ok
    assert sent(server) == (True, False, False)


def test_auto_learns_from_a_clear_refusal_and_asks_inline_from_then_on(serve: Serve) -> None:
    server = serve(refuses=["response_format"])
    judge = judge_at(server)

    outcomes = [scored(judge) for _ in range(3)]
    other = scored(judge_at(server, model="openai/gpt-5"))

    assert all(isinstance(outcome, Score) for outcome in [*outcomes, other])
    # One refusal for each model, and none after it.
    assert [call_of(outcome).attempts for outcome in [*outcomes, other]] == [2, 1, 1, 2]
    assert sent(server, 3) == (False, False, True)
    for outcome in outcomes:
        assert call_of(outcome).notes == ("the model refuses a schema beside the messages: it stands in the prompt",)
        assert schema_in(call_of(outcome).messages) is not None  # as it was sent


def test_what_the_user_wrote_is_not_overruled_by_a_refusal(serve: Serve) -> None:
    server = serve(refuses=["response_format"])

    failure = scored(judge_at(server, json_prompt_injection=False))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, len(server.calls)) == ("JudgeSettingRefused", 1)


@pytest.mark.parametrize(
    ("message", "learns"),
    [
        ("response_format: Extra inputs are not permitted", True),
        ("This model does not support structured outputs.", True),
        ("'json_schema' is not supported", True),
        ("Invalid schema for response_format 'score': 'minimum' is not permitted.", False),  # this schema, not schemas
        ("Unknown model", False),
        ("Bad request", False),
    ],
)
def test_only_a_clear_refusal_is_one(serve: Serve, message: str, learns: bool) -> None:
    server = serve([ModelReply(status=400, text=message)])

    assert scored(judge_at(server)).ok == learns
    assert len(server.calls) == 1 + learns


def in_prose(call: ModelCall) -> ModelReply:
    return ModelReply.in_prose({"score": 0.5})


def test_a_stored_reply_is_found_whatever_a_process_has_learned(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is read as it was meant: prose is passed over where the schema stood in the prompt."""
    server, replies = (
        serve(in_prose, refuses=["response_format"]),
        MemoryReplies(),
    )
    judged = create_scorer(id="judged", type="agent", judge=judge_at(server)).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )

    outcomes = [run_sync(judged.run(output="Sunny.", replies=replies))]
    monkeypatch.setattr("tracescore.judge.chat.PROCESS_FACTS", Learned())  # another process
    outcomes.append(run_sync(judged.run(output="Sunny.", replies=replies)))

    assert [outcome.ok for outcome in outcomes] == [True, True]
    assert len(server.calls) == 2
    assert [reply_of(call_of(outcome).replies[0]).native for outcome in outcomes] == [False, False]


@pytest.mark.parametrize(
    ("messages", "mode", "roles"),
    [
        ([{"role": "user", "content": "a"}], "system", ["system", "user"]),
        ([{"role": "system", "content": "a"}], "inline", ["system", "user"]),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}], "inline", ["user"]),
        ([], "inline", ["user"]),
    ],
)
def test_a_message_that_is_missing_is_added(messages: list[Any], mode: Any, roles: list[str]) -> None:
    injected = with_schema(messages, SCHEMA, mode)

    assert [message["role"] for message in injected] == roles
    assert schema_in(injected) == SCHEMA
    assert schema_in(messages) is None


def test_a_judge_of_the_users_own_gets_the_schema_and_where_it_is_to_stand() -> None:
    def native(request: JudgeRequest) -> dict[str, float]:
        return {"score": float(request.native_schema)}

    scores = [
        scored(Judge(model=FakeJudge(native), instructions="You grade.", json_prompt_injection=mode))
        for mode in ("auto", False, True, "inline")
    ]

    assert [float(score) for score in scores if isinstance(score, Score)] == [1, 1, 0, 0]


@pytest.mark.parametrize("mode", ["native", 1, 0, None])
def test_a_mode_that_is_none_is_refused(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match="known are False, True, 'system', 'inline' and 'auto'"):
        Judge(json_prompt_injection=mode)
