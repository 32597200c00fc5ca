"""A judge behind an OpenAI-compatible endpoint, over real HTTP to the stand-in."""

from __future__ import annotations

import asyncio
import email.utils
import gc
import socket
import time
from collections.abc import Callable
from typing import Any

import openai
import orjson
import pytest

from tracescore import AgentRun, ConfigurationError, Judge, create_scorer
from tracescore.bridge import run_sync
from tracescore.errors import JudgeError, JudgeRefused, JudgeReplyError, JudgeTransientError
from tracescore.judge import JudgeReply, JudgeRequest, resolve_model
from tracescore.testing import ModelReply, ModelServer

Serve = Callable[..., ModelServer]

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}}
REQUEST = JudgeRequest(messages=[{"role": "user", "content": "Grade."}], schema=SCHEMA, schema_name="verdict")


def judge_at(server: ModelServer, **options: Any) -> Judge:
    given: dict[str, Any] = {"model": "openai/gpt-5-mini", "base_url": server.base_url, "api_key": "sk-test"}
    return Judge(**{**given, **options})


def ask(judge: Judge, request: JudgeRequest = REQUEST) -> JudgeReply:
    return run_sync(resolve_model(judge).ask(request))


def test_a_request_holds_what_was_given_and_nothing_else(serve: Serve) -> None:
    server = serve()

    ask(judge_at(server))

    [call] = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.headers["authorization"] == "Bearer sk-test"
    assert call.body == {
        "model": "gpt-5-mini",
        "messages": [{"role": "user", "content": "Grade."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
        },
    }


@pytest.mark.parametrize(
    ("model", "limit", "seed"),
    [
        ("openai/gpt-5", "max_completion_tokens", "seed"),
        ("groq/llama", "max_tokens", "seed"),
        ("mistral/large", "max_tokens", "random_seed"),
    ],
)
def test_settings_are_sent_under_the_name_that_the_endpoint_takes(
    serve: Serve, model: str, limit: str, seed: str
) -> None:
    server = serve()
    judge = judge_at(server, model=model, temperature=0, max_output_tokens=100, seed=7, top_p=None)

    ask(judge, JudgeRequest(messages=[], sampling=judge.sampling()))

    assert server.calls[0].body == {
        "model": model.split("/")[1],
        "messages": [],
        "temperature": 0,
        limit: 100,
        seed: 7,
    }


def test_a_reply_keeps_what_the_endpoint_says_of_it(serve: Serve) -> None:
    server = serve([ModelReply(text='{"score": 1}')])

    reply = ask(judge_at(server))

    assert reply == JudgeReply(
        text='{"score": 1}',
        finish_reason="stop",
        model="gpt-5-mini",
        request_id="req-0",
        usage={"input": 1, "output": 3},
    )


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "invalid_api_key", JudgeRefused),
        (402, None, JudgeRefused),
        (403, None, JudgeRefused),
        (404, "model_not_found", JudgeRefused),
        (429, "insufficient_quota", JudgeRefused),
        (429, "rate_limit_exceeded", JudgeTransientError),
        (408, None, JudgeTransientError),
        (500, None, JudgeTransientError),
        (503, None, JudgeTransientError),
        (529, "overloaded", JudgeTransientError),
        (400, "context_length_exceeded", JudgeError),
        (422, None, JudgeError),
    ],
)
def test_an_error_is_named_by_what_it_means_and_costs_one_request(
    serve: Serve, status: int, code: str | None, expected: type[JudgeError]
) -> None:
    server = serve([ModelReply(status=status, error_code=code, text="no: sk-test is wrong")])

    with pytest.raises(JudgeError, match=r"judge model 'gpt-5-mini': .*no: \*\*\* is wrong") as caught:
        ask(judge_at(server))

    assert type(caught.value) is expected
    assert getattr(caught.value, "status", status) == status
    assert len(server.calls) == 1


def http_date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after": "0.5"}, 0.5, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25, 0.25),
        ({"retry-after": http_date(7200)}, 3600, 7200),
        ({"retry-after": http_date(-3600)}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "-1"}, None, None),
        ({"retry-after": "inf"}, None, None),
        ({}, None, None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read(
    serve: Serve, headers: dict[str, str], least: float | None, most: float | None
) -> None:
    server = serve([ModelReply(status=429, headers=headers)])

    with pytest.raises(JudgeTransientError) as caught:
        ask(judge_at(server))

    waits = caught.value.retry_after
    assert waits is None if least is None or most is None else waits is not None and least <= waits <= most


def test_a_connection_that_is_cut_or_refused_is_transient(serve: Serve) -> None:
    server = serve([ModelReply(fault="reset")])
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

    with pytest.raises(JudgeTransientError):
        ask(judge_at(server))
    with pytest.raises(JudgeTransientError, match="cannot connect"):
        ask(judge_at(server, base_url=nowhere))


def test_a_timeout_is_transient(serve: Serve) -> None:
    server = serve([ModelReply(fault="hang")])

    with pytest.raises(JudgeTransientError, match="no answer within the timeout"):
        ask(judge_at(server), JudgeRequest(messages=[], timeout=0.05))


@pytest.mark.parametrize(
    "body", ["<html>down</html>", "[]", '{"choices": []}', '{"choices": [{"message": {"content": 3}}]}']
)
def test_an_answer_that_is_no_chat_completion_is_a_reply_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    from tracescore.testing import stand_in

    monkeypatch.setattr(stand_in, "completion_body", lambda call, reply: body.encode())  # pyright: ignore[reportUnknownLambdaType]

    with pytest.raises(JudgeReplyError) as caught:
        ask(judge_at(serve()))

    assert caught.value.raw_reply


def test_content_in_parts_is_its_text(serve: Serve) -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": '{"score"'},
        {"type": "text", "text": ": 1}"},
    ]
    body = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}

    assert ask(judge_at(serve([ModelReply(body=orjson.dumps(body))]))).text == '{"score": 1}'


def test_keys_come_from_the_judge_or_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()

    async def fetched() -> str:
        return "sk-fetched"

    for key in ("sk-given", lambda: "sk-made", fetched):
        ask(judge_at(server, api_key=key))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    ask(Judge(model="openai/gpt-5", base_url=server.base_url))
    monkeypatch.setenv("GOOGLE_API_KEY", "sk-google")
    ask(Judge(model="google/gemini", base_url=server.base_url))

    assert [call.headers["authorization"] for call in server.calls] == [
        "Bearer sk-given",
        "Bearer sk-made",
        "Bearer sk-fetched",
        "Bearer sk-environment",
        "Bearer sk-google",
    ]


def test_a_provider_without_a_key_is_refused_before_any_call() -> None:
    with pytest.raises(JudgeRefused, match="needs a key: set OPENAI_API_KEY, or give api_key="):
        ask(Judge(model="openai/gpt-5"))


def test_the_base_url_may_come_from_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    ask(Judge(model="openai/gpt-5"))

    assert server.calls[0].body["model"] == "gpt-5"


def test_a_client_of_the_users_own_is_used_as_it_is(serve: Serve) -> None:
    server = serve()

    async def with_client() -> None:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-own", max_retries=5) as client:
            await resolve_model(Judge(model="any-name", client=client)).ask(REQUEST)

    run_sync(with_client())

    assert (server.calls[0].headers["authorization"], server.calls[0].body["model"]) == ("Bearer sk-own", "any-name")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_factory_makes_one_client_for_a_loop(serve: Serve, is_async: bool) -> None:
    server = serve()
    made: list[openai.AsyncOpenAI] = []

    def make() -> openai.AsyncOpenAI:
        made.append(openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-factory"))
        return made[-1]

    async def make_later() -> openai.AsyncOpenAI:
        return make()

    judge = Judge(model="openai/gpt-5", client=make_later if is_async else make)

    async def three() -> None:
        await asyncio.gather(*(resolve_model(judge).ask(REQUEST) for _ in range(3)))

    run_sync(three())

    assert (len(server.calls), len(made)) == (3, 1)
    assert made[0].is_closed()


def test_a_client_that_is_only_like_openais_is_called_by_its_documented_method() -> None:
    asked: list[dict[str, Any]] = []

    class Completions:
        async def create(self, **body: Any) -> dict[str, Any]:
            asked.append(body)
            return {"id": "c-1", "model": "alike", "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}

    class Chat:
        completions = Completions()

    class Client:
        chat = Chat()

    like: Any = Client()
    reply = ask(Judge(model="alike", client=like))

    assert (reply.text, reply.model, reply.request_id, asked[0]["model"]) == ("{}", "alike", "c-1", "alike")


def test_calls_share_the_clients_of_their_loop(serve: Serve) -> None:
    server = serve(latency=0.2)
    judged = create_scorer(id="judged", type="agent", judge=judge_at(server, instructions="You grade.")).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )

    async def many() -> list[Any]:
        return await asyncio.gather(*(judged.run(AgentRun(run_id=str(number))) for number in range(32)))

    for _ in range(2):  # a second loop has a client of its own
        assert all(outcome.ok for outcome in run_sync(many()))
    gc.collect()  # an unclosed connection would warn, and a warning is an error here

    assert len(server.calls) == 64
    assert server.most_in_flight > 16


def test_a_client_that_cannot_be_made_is_a_judge_error() -> None:
    def make() -> openai.AsyncOpenAI:
        raise openai.OpenAIError("no credentials")

    with pytest.raises(JudgeError, match="judge model 'gpt-5': no credentials"):
        ask(Judge(model="openai/gpt-5", client=make))


def test_a_judge_without_a_model_cannot_be_asked() -> None:
    with pytest.raises(ConfigurationError, match="the judge has no model"):
        resolve_model(Judge())


def test_no_key_stands_in_an_outcome(serve: Serve) -> None:
    server = serve([ModelReply(status=401, text="wrong key sk-test")])
    judged = create_scorer(id="judged", type="agent", judge=judge_at(server, instructions="You grade.")).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )

    assert "sk-test" not in repr(judged.run_sync(output="Sunny."))
    assert "sk-test" not in repr(judged.run_sync(output="Sunny."))
