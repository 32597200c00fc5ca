"""The seam to a judge: one method, a request in, a reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRequest:
    """One question to a judge: chat messages ``{"role", "content"}`` and, for a structured answer, its JSON Schema.

    ``sampling`` holds only what a user gave: temperature, top_p, max_output_tokens, seed, reasoning_effort.
    ``native_schema`` is False where the messages themselves state the schema: it is not to be sent beside them.
    """

    messages: Sequence[Mapping[str, Any]]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "response"
    sampling: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    native_schema: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReply:
    """What a judge answered, unread.

    ``finish_reason`` is the endpoint's word: ``"length"`` says that the text was cut off. ``refusal`` is the judge's
    own refusal. ``usage`` counts tokens: input, output, cache_read, reasoning. ``native`` is False where the messages
    that it answers stated the schema: then prose may stand around the answer.
    """

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    request_id: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    native: bool = True


@runtime_checkable
class JudgeModel(Protocol):
    """Anything that answers a judge's question.

    Raise ``JudgeTransientError`` where the same call may succeed later, ``JudgeRefused`` where it will not, and
    ``JudgeSettingRefused`` where it would without one setting. A ``name`` attribute, where there is one, stands in the
    evidence and in the scorer's version.
    """

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Answer one request."""
        ...


class TextRedactor(Protocol):
    """What takes out of a text what must not leave for a judge."""

    def redact(self, text: str, /) -> str:
        """Give the text without it. Where this raises, the call stops and nothing is sent."""
        ...
