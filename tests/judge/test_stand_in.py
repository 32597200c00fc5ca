"""The stand-in model server, as users' tests use it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from tracescore.judge.injection import with_schema
from tracescore.testing import ModelCall, ModelReply, ModelServer, model_server


def post(base_url: str, body: Any, *, connection: http.client.HTTPConnection | None = None) -> tuple[int, Any]:
    if connection is None:
        with closing(http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=10)) as fresh:
            return post(base_url, body, connection=fresh)
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    path = f"{urlsplit(base_url).path}/chat/completions"
    connection.request("POST", path, payload, {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def text_of(answer: tuple[int, Any]) -> str:
    return answer[1]["choices"][0]["message"]["content"]


def asking(prompt: str, schema: Any = None) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    return body


def by_function(call: ModelCall) -> str | None:
    return f"you said {call.prompt}" if "hello" in call.prompt else None


@pytest.mark.parametrize(
    ("replies", "prompts", "texts"),
    [
        (None, ["a"], ["Because."]),
        (["one", {"two": 2}], ["a", "b", "c"], ["one", '{"two":2}', "Because."]),
        (
            {"weather": "Sunny.", "score": {"score": 1}},
            ["the weather?", "score it", "else"],
            ["Sunny.", '{"score":1}', "Because."],
        ),
        (by_function, ["hello", "bye"], ["you said hello", "Because."]),
    ],
)
def test_replies_are_scripted(replies: Any, prompts: list[str], texts: list[str]) -> None:
    with ModelServer(replies) as server:
        connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=10)  # kept alive
        said = [text_of(post(server.base_url, asking(prompt), connection=connection)) for prompt in prompts]
        connection.close()

    assert said == texts
    assert [call.prompt for call in server.calls] == prompts


def test_a_schema_gets_its_smallest_value() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 2}}, "required": ["n"]}

    with ModelServer() as server:
        assert text_of(post(server.base_url, asking("a", schema))) == '{"n":2}'


def test_errors_and_what_is_no_json() -> None:
    with ModelServer([ModelReply(status=429, text="slow down", headers={"retry-after": "1"})]) as server:
        assert post(server.base_url, asking("a")) == (
            429,
            {"error": {"message": "slow down", "type": None, "code": None}},
        )
        assert post(server.base_url, b"no json")[0] == 400


def test_a_port_that_is_taken_is_said() -> None:
    with ModelServer() as server, pytest.raises(OSError, match="in use"):
        ModelServer(port=urlsplit(server.base_url).port or 0).start()


def test_faults_that_it_does_not_know_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["model_server", "--faults", "429, 418"])

    with pytest.raises(SystemExit):
        model_server.main()
    assert "--faults '418' is unknown: known are 429, 500, hang, reset, truncated" in capsys.readouterr().err


def test_what_is_refused_and_what_was_answered() -> None:
    with ModelServer([ModelReply.server_error()], refuses=["seed"]) as server:
        answers = [post(server.base_url, asking("a") | extra)[0] for extra in ({"seed": 1}, {}, {})]

    assert answers == [400, 500, 200]
    assert server.report() == {"calls": 3, "most_in_flight": 1, "statuses": {"200": 1, "400": 1, "500": 1}}


def test_a_schema_in_the_prompt_is_answered_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 2}}, "required": ["n"]}
    messages = with_schema([{"role": "user", "content": "a"}], schema, "inline")

    with ModelServer() as server:
        assert text_of(post(server.base_url, {"model": "m", "messages": messages})) == '{"n":2}'


def test_it_runs_as_a_process_and_counts() -> None:
    command = [sys.executable, "-m", "tracescore.testing.model_server", "--latency", "0.01", "--faults", "429"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        post(base_url, asking("a"))
        connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=10)
        connection.request("GET", "/calls")
        counters = json.loads(connection.getresponse().read())
        connection.close()
        process.terminate()

    assert counters == {"calls": 1, "most_in_flight": 1, "statuses": {"429": 1}}
    assert process.returncode == 0
