"""A judge's settings: what inherits, what is sent, where a model's name leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracescore import UNSET, ConfigurationError, Judge
from tracescore.judge.providers import endpoint_of
from tracescore.testing import FakeJudge


def test_settings_inherit_one_by_one() -> None:
    scorers = Judge(model="openai/gpt-5", instructions="You grade.", temperature=0.5, seed=1)

    assert Judge(temperature=0).over(scorers) == Judge(
        model="openai/gpt-5", instructions="You grade.", temperature=0, seed=1
    )
    assert Judge(temperature=0).over(None) == Judge(temperature=0)


def test_none_is_a_value_and_takes_a_setting_back() -> None:
    merged = Judge(temperature=None, base_url=None).over(Judge(temperature=0.5, base_url="http://there"))

    assert merged == Judge(temperature=None, base_url=None)
    assert merged.sampling() == {}
    assert Judge().temperature is UNSET
    assert repr(UNSET) == "UNSET"


def test_a_key_does_not_show() -> None:
    assert "sk-1" not in repr(Judge(model="openai/gpt-5", api_key="sk-1"))


def test_only_what_was_given_is_sent() -> None:
    judge = Judge(model="openai/gpt-5", temperature=0, max_output_tokens=10, reasoning_effort="low", timeout=5)

    assert judge.sampling() == {"temperature": 0, "max_output_tokens": 10, "reasoning_effort": "low"}


@pytest.mark.parametrize("options", [{"model": " "}, {"timeout": 0}, {"timeout": -1}, {"base_url": "nonsense"}])
def test_settings_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Judge(**options)


def test_a_model_has_a_name() -> None:
    class Nameless:
        async def ask(self, request: Any, /) -> Any: ...

    assert [Judge(model=model).model_name for model in ("a/b", FakeJudge(name="mine"), Nameless())] == [
        "a/b",
        "mine",
        "test_a_model_has_a_name.<locals>.Nameless",
    ]
    assert Judge().model_name == ""


def where(environ: dict[str, str] | None = None, **options: Any) -> tuple[str, str | None, bool]:
    endpoint = endpoint_of(Judge(**options), environ or {})
    return (endpoint.model, endpoint.base_url, endpoint.needs_key)


def test_a_models_name_leads_to_an_endpoint() -> None:
    client: Any = SimpleNamespace(chat=None)

    assert where(model="openai/gpt-5") == ("gpt-5", "https://api.openai.com/v1", True)
    assert where(model="openrouter/meta/llama") == ("meta/llama", "https://openrouter.ai/api/v1", True)
    assert where(model="ollama/qwen3") == ("qwen3", "http://localhost:11434/v1", False)
    assert where(model="openai/gpt-5", base_url="http://gateway") == ("gpt-5", "http://gateway", False)
    assert where(model="meta/llama", base_url="http://vllm") == ("meta/llama", "http://vllm", False)
    assert where(model="gpt-5", client=client) == ("gpt-5", None, False)
    assert where({"OPENAI_BASE_URL": "http://env"}, model="openai/gpt-5") == ("gpt-5", "http://env", False)
    assert where({"OPENAI_BASE_URL": "http://env"}, model="openai/gpt-5", base_url="http://own")[1] == "http://own"
    assert where({"OPENAI_BASE_URL": "http://env"}, model="groq/llama")[1] == "https://api.groq.com/openai/v1"


@pytest.mark.parametrize("model", ["gpt-5", "opnai/gpt-5", "openai/", "/gpt-5"])
def test_a_name_that_leads_nowhere_is_refused(model: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Write 'provider/model' with one of anthropic, "):
        where(model=model)
