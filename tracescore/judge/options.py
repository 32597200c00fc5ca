"""What a judge is asked with: settings that inherit field by field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from tracescore.arguments import FLAG, TEXT, Wanted, an, check, number, optional, whole
from tracescore.errors import ConfigurationError
from tracescore.judge.injection import JsonPromptInjection
from tracescore.judge.processors import DEFAULT_PROCESSOR_RETRIES, ErrorProcessor, InputProcessor, OutputProcessor
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

_OUTSIDE_THE_VERSION: Final = (
    "api_key",
    "base_url",
    "ca_file",
    "client",
    "error_processors",
    "max_processor_retries",
    "proxy",
    "timeout",
)
"""What a scorer's version must not depend on: keys, and where, by what way and how often the same judge is asked."""

_PROCESSORS: Final = {
    "input_processors": "process_input",
    "output_processors": "process_output",
    "error_processors": "process_api_error",
}
_ARGUMENTS: Final = {
    "model": Wanted(
        words="'provider/model', such as 'openai/gpt-5-mini', or an object with the method of JudgeModel",
        fits=lambda value: isinstance(value, str) or callable(getattr(value, "ask", None)),
    ),
    "instructions": TEXT,
    "base_url": optional(TEXT),
    "api_key": optional(
        Wanted(words="a text or a function", fits=lambda value: isinstance(value, str) or callable(value), secret=True)
    ),
    "client": optional(
        Wanted(
            words="an AsyncOpenAI or one compatible with it, or a function that makes one",
            fits=lambda value: callable(value) or hasattr(value, "chat") or hasattr(value, "post"),
            secret=True,
        )
    ),
    "timeout": optional(number("a number of seconds greater than 0", lambda value: value > 0)),
    "temperature": optional(number("a number, such as 0")),
    "top_p": optional(number("a number from 0 to 1", lambda value: 0 <= value <= 1)),
    "max_output_tokens": optional(whole(1)),
    "seed": optional(Wanted(words="a whole number", fits=lambda value: type(value) is int)),
    "reasoning_effort": optional(TEXT),
    "strict_settings": FLAG,
    "proxy": optional(Wanted(words="a URL", fits=TEXT.fits, secret=True)),
    "ca_file": optional(an((str, PathLike), "the path of a file")),
}
_INJECTIONS: Final = (False, True, "auto", "inline", "system")


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """Say which LLM a prompt step asks, and how.

    ``model`` is ``"provider/model"`` or any object with the one method of ``JudgeModel``. ``api_key`` may be a
    function, sync or async, that is called for each request. ``client`` is an ``AsyncOpenAI`` or one compatible with
    it, or a function that makes one; it is used instead of our own. ``timeout`` is in seconds. What is not given is
    taken from the level above (step, scorer, app) and, where none gives it, not sent at all.

    ``json_prompt_injection`` says how a step's schema reaches the model: ``False`` beside the messages (native
    structured output), ``True`` or ``"system"`` in the system message, ``"inline"`` in the last user message. With
    ``"auto"``, the default, it goes natively until the model clearly refuses that, and inline from then on. Plain text,
    which a reason is, has none.

    A model setting that a model clearly refuses is left out from then on, and the evidence says so; with
    ``strict_settings`` the step fails instead.

    The processors see the messages before sending, the raw reply before reading, and a provider's errors; a list
    replaces the list of the level above. ``max_processor_retries`` caps what the error processors may retry in one
    judge call: 10 unless given, 0 is none. Without error processors nothing is retried.

    ``proxy`` is a URL and ``ca_file`` a file of PEM certificates, for endpoints that are asked by our own client; the
    environment's HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR hold where they are not
    given. ``proxy=None`` is no proxy at all.

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
    json_prompt_injection: Given[JsonPromptInjection] = UNSET
    strict_settings: Given[bool] = UNSET
    input_processors: Given[Sequence[InputProcessor]] = UNSET
    output_processors: Given[Sequence[OutputProcessor]] = UNSET
    error_processors: Given[Sequence[ErrorProcessor]] = UNSET
    max_processor_retries: Given[int] = UNSET
    proxy: Given[str | None] = field(default=UNSET, repr=False)  # its URL may hold a password
    ca_file: Given[str | PathLike[str] | None] = UNSET

    def __post_init__(self) -> None:
        check("Judge", _ARGUMENTS, self.given())
        if isinstance(self.model, str) and not self.model.strip():
            raise ConfigurationError("Judge(model=...) is empty: give 'provider/model' or a JudgeModel")
        if isinstance(self.base_url, str) and not self.base_url.startswith(("http://", "https://")):
            raise ConfigurationError(f"Judge(base_url={self.base_url!r}) must start with http:// or https://")
        # By identity of the two truth values: 1 and 0 are no modes.
        mode = self.json_prompt_injection
        if mode is not UNSET and not any(
            mode is known or (mode == known and isinstance(mode, str)) for known in _INJECTIONS
        ):
            raise ConfigurationError(
                f"Judge(json_prompt_injection={mode!r}): known are False, True, 'system', 'inline' and 'auto'"
            )
        for name, method in _PROCESSORS.items():
            self._take_processors(name, method)
        cap = self.max_processor_retries
        if cap is not UNSET and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"Judge(max_processor_retries={cap!r}) must be a whole number, 0 or more")
        if isinstance(self.proxy, str) and not self.proxy.startswith(("http://", "https://")):
            raise ConfigurationError("Judge(proxy=...) must start with http:// or https://")
        if self.ca_file is not UNSET and self.ca_file is not None and not Path(self.ca_file).is_file():
            raise ConfigurationError(f"Judge(ca_file={fspath(self.ca_file)!r}): there is no such file")

    def _take_processors(self, name: str, method: str) -> None:
        given = getattr(self, name)
        if given is UNSET:
            return
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ConfigurationError(f"Judge({name}=...) takes a list, not {given!r:.80}")
        for processor in given:
            if isinstance(processor, type) or not callable(getattr(processor, method, None)):
                raise ConfigurationError(f"Judge({name}=...): {processor!r:.80} has no method {method}")
        object.__setattr__(self, name, tuple(given))  # frozen, as the judge is

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
        given = {name: value for name, value in self.given().items() if name not in _OUTSIDE_THE_VERSION}
        if "model" in given:
            given["model"] = self.model_name
        return given

    @property
    def retry_cap(self) -> int:
        """Give how often one judge call may be retried: 0 without error processors."""
        if self.error_processors is UNSET or not self.error_processors:
            return 0
        return DEFAULT_PROCESSOR_RETRIES if self.max_processor_retries is UNSET else self.max_processor_retries

    @property
    def retries(self) -> str:
        """Say in one line what is retried, for people."""
        if self.retry_cap == 0 or self.error_processors is UNSET:
            return "no retries"
        named = "; ".join(_described(processor) for processor in self.error_processors)
        return f"{named}; at most {self.retry_cap} in a judge call"

    @property
    def model_name(self) -> str:
        """Name the model: its string, else what the object calls itself, else its class; ``""`` if not given."""
        if self.model is UNSET:
            return ""
        if isinstance(self.model, str):
            return self.model
        name = getattr(self.model, "name", None)
        return name if isinstance(name, str) else type(self.model).__qualname__


def _described(processor: object) -> str:
    describe = getattr(processor, "describe", None)
    return str(describe()) if callable(describe) else type(processor).__qualname__
