"""By which way an endpoint is reached: clients of the user's own, proxies, certificates."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import openai
import pytest
import trustme

from tests.judge.judging import Serve, judge_at, scored
from tracescore import ConfigurationError, Judge, Score, ScoreFailure, create_scorer
from tracescore.bridge import run_sync
from tracescore.testing import ModelReply

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_azure_with_a_token_provider(serve: Serve) -> None:
    server = serve()
    tokens = iter(["token-1", "token-2"])

    def make() -> openai.AsyncAzureOpenAI:
        return openai.AsyncAzureOpenAI(
            azure_endpoint=server.base_url.removesuffix("/v1"),
            api_version="2026-01-01",
            azure_ad_token_provider=lambda: next(tokens),
        )

    judge = Judge(model="my-deployment", instructions="You grade.", client=make)
    assert scored(judge).ok
    assert scored(judge).ok

    assert [call.headers["authorization"] for call in server.calls] == ["Bearer token-1", "Bearer token-2"]
    assert server.calls[0].path.startswith("/openai/deployments/my-deployment/chat/completions?api-version=2026-01-01")


@pytest.mark.parametrize(
    ("reply", "error_type"),
    [
        (ModelReply.rate_limited(), "JudgeTransientError"),
        (ModelReply.reset(), "JudgeTransientError"),
        (ModelReply.hang(), "JudgeTransientError"),
        (ModelReply(status=401, text="the key sk-own and Bearer sk-other are wrong"), "JudgeRefused"),
        (ModelReply.refused_parameter("temperature"), "JudgeSettingRefused"),
        (ModelReply(body=b"<html>"), "JudgeReplyError"),
    ],
)
def test_the_errors_of_a_client_are_named_alike_and_its_retries_are_off(
    serve: Serve, reply: ModelReply, error_type: str
) -> None:
    server = serve([reply] * 9)

    def make() -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-own", max_retries=5)

    judge = Judge(model="own", instructions="You grade.", client=make, timeout=0.1, temperature=0, strict_settings=True)
    failure = scored(judge)

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, len(server.calls)) == (error_type, 1)
    assert "sk-o" not in repr(failure)


def test_a_setting_is_dropped_for_a_client_too(serve: Serve) -> None:
    server = serve(refuses=["temperature"])

    def make() -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-own")

    judge = Judge(model="own", instructions="You grade.", client=make, temperature=0)
    for _ in range(2):
        assert scored(judge).ok

    assert len(server.calls) == 3


def test_a_factory_that_fails_is_asked_again(serve: Serve) -> None:
    server, made = serve(), []

    async def make() -> openai.AsyncOpenAI:
        made.append(1)
        if len(made) == 1:
            raise RuntimeError("no token yet")
        return openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-own")

    scorer = create_scorer(
        id="judged", type="agent", judge=Judge(model="own", instructions="You grade.", client=make)
    ).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    async def twice() -> list[bool]:
        return [(await scorer.run(output="Sunny.")).ok for _ in range(2)]

    assert run_sync(twice()) == [False, True]


@pytest.mark.parametrize(
    ("environ", "options", "by_proxy"),
    [
        ({}, {"proxy": "PROXY"}, True),
        ({"HTTP_PROXY": "PROXY"}, {}, True),
        ({"http_proxy": "PROXY", "HTTP_PROXY": "PROXY"}, {}, True),
        ({"ALL_PROXY": "PROXY"}, {}, True),
        ({"HTTPS_PROXY": "PROXY"}, {}, False),
        ({"HTTP_PROXY": "PROXY"}, {"proxy": None}, False),
        ({"HTTP_PROXY": "PROXY", "NO_PROXY": "127.0.0.1"}, {}, False),
        ({"HTTP_PROXY": "PROXY", "NO_PROXY": "127.0.0.1"}, {"proxy": "PROXY"}, True),
    ],
)
def test_a_proxy_of_the_judge_or_of_the_environment(
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    options: dict[str, Any],
    by_proxy: bool,
) -> None:
    server, proxy = serve(), serve()
    url = proxy.base_url.removesuffix("/v1").replace("//", "//me:secret@")
    for name, value in environ.items():
        monkeypatch.setenv(name, url if value == "PROXY" else value)
    given = {name: url if value == "PROXY" else value for name, value in options.items()}

    outcome = scored(judge_at(server, **given))

    assert isinstance(outcome, Score)
    assert (len(server.calls), len(proxy.calls)) == ((0, 1) if by_proxy else (1, 0))
    if by_proxy:
        [call] = proxy.calls
        assert call.path == f"{server.base_url}/chat/completions"
        assert call.headers["proxy-authorization"].startswith("Basic ")
    assert "secret" not in repr(judge_at(server, **given))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.mark.parametrize("by", ["judge", "environment", "nobody"])
def test_certificates_of_the_judge_or_of_the_environment(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, authority: trustme.CA, by: str
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    server = serve(tls=context)
    ca_file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    if by == "environment":
        monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))

    outcome = scored(judge_at(server, **({"ca_file": ca_file} if by == "judge" else {})))

    if by == "nobody":
        assert isinstance(outcome, ScoreFailure)
        assert (outcome.error_type, outcome.transient) == ("JudgeError", False)
        assert "no safe connection" in outcome.message
    else:
        assert isinstance(outcome, Score)


def test_a_file_of_certificates_that_is_none(serve: Serve, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")

    with pytest.raises(ConfigurationError, match="there is no such file"):
        Judge(ca_file=tmp_path / "none.pem")
    failure = scored(judge_at(serve(), base_url="https://localhost:1/v1", ca_file=empty))
    assert isinstance(failure, ScoreFailure)
    assert "cannot be read" in failure.message
    with pytest.raises(ConfigurationError, match="must start with http"):
        Judge(proxy="socks5://localhost")


def test_our_own_endpoints_do_without_openais_client(serve: Serve) -> None:
    """It takes a second to load."""
    import subprocess

    server = serve()
    code = (
        "import sys; from tests.judge.judging import judge_at, scored; "
        f"class_ = type('Server', (), {{'base_url': {server.base_url!r}}}); "
        "assert scored(judge_at(class_)).ok; "
        "sys.exit('openai' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
