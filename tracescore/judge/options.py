"""What a judge is asked with: settings that inherit field by field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from tracescore.errors import ConfigurationError
from tracescore.judge.protocol import JudgeModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")


class _Unset(Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset.UNSET
"""Not given: the value of the level above holds. ``None`` is a value of its own."""

Given: TypeAlias = T | Literal[_Unset.UNSET]

ApiKey: TypeAlias = str | Callable[[], str | Awaitable[str]]

SAMPLING_FIELDS: Final = ("temperature", "top_p", "max_output_tokens", "seed", "reasoning_effort")
"""Settings that are sent to the endpoint, each only where it is given."""

_SECRET_FIELDS: Final = ("api_key", "client", "base_url", "timeout")
"""What a scorer's version must not depend on: keys, and where and how long the same judge is asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """Say which LLM a prompt step asks, and how.

    ``model`` is ``"provider/model"`` or any object with the one method of ``JudgeModel``. ``api_key`` may be a
    function, sync or async, that is called for each request. ``client`` is an ``AsyncOpenAI`` or one compatible with
    it, or a function that makes one; it is used instead of our own. ``timeout`` is in seconds. What is not given is
    taken from the level above (step, scorer, app) and, where none gives it, not sent at all.

    Example:
        >>> strict = Judge(model="openai/gpt-5-mini", instructions="You are a strict fact checker.", temperature=0)
        >>> Judge(temperature=1).over(strict).temperature
        1
    """

    model: Given[str | JudgeModel] = UNSET
    instructions: Given[str] = UNSET
    base_url: Given[str | None] = UNSET
    api_key: Given[ApiKey | None] = field(default=UNSET, repr=False)  # a key must not get into a log
    client: Given[AsyncOpenAI | Callable[[], AsyncOpenAI | Awaitable[AsyncOpenAI]] | None] = field(
        default=UNSET, repr=False
    )
    timeout: Given[float | None] = UNSET
    temperature: Given[float | None] = UNSET
    top_p: Given[float | None] = UNSET
    max_output_tokens: Given[int | None] = UNSET
    seed: Given[int | None] = UNSET
    reasoning_effort: Given[str | None] = UNSET

    def __post_init__(self) -> None:
        if isinstance(self.model, str) and not self.model.strip():
            raise ConfigurationError("Judge(model=...) is empty: give 'provider/model' or a JudgeModel")
        if isinstance(self.base_url, str) and not self.base_url.startswith(("http://", "https://")):
            raise ConfigurationError(f"Judge(base_url={self.base_url!r}) must start with http:// or https://")
        if self.timeout is not UNSET and self.timeout is not None and self.timeout <= 0:
            raise ConfigurationError(f"Judge(timeout={self.timeout!r}) must be greater than 0 seconds")

    def over(self, base: Judge | None) -> Judge:
        """Give these settings where they are given, and those of ``base`` elsewhere."""
        return self if base is None else replace(base, **self.given())

    def given(self) -> dict[str, Any]:
        """Give the settings that are given, by name."""
        return {known.name: value for known in fields(self) if (value := getattr(self, known.name)) is not UNSET}

    def sampling(self) -> Mapping[str, Any]:
        """Give what is to be sent to the endpoint beside model and messages."""
        given = self.given()
        return {name: given[name] for name in SAMPLING_FIELDS if given.get(name) is not None}

    def fingerprint(self) -> dict[str, Any]:
        """Give what of these settings makes a judge's answer, as JSON: never keys, clients or addresses."""
        given = {name: value for name, value in self.given().items() if name not in _SECRET_FIELDS}
        if "model" in given:
            given["model"] = self.model_name
        return given

    @property
    def model_name(self) -> str:
        """Name the model: its string, else what the object calls itself, else its class; ``""`` if not given."""
        if self.model is UNSET:
            return ""
        if isinstance(self.model, str):
            return self.model
        name = getattr(self.model, "name", None)
        return name if isinstance(name, str) else type(self.model).__qualname__
