"""What the stand-in model answers, and what it was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import orjson

from tracescore.judge import schema_in
from tracescore.testing.minimal import minimal_value


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """One answer of the stand-in, as a provider would give it.

    ``text`` None with a ``refusal`` is a refusal; ``finish_reason="length"`` a reply that was cut off. A ``status``
    other than 200 answers an error with ``text`` as its message. ``fault`` ``"reset"`` cuts the connection and
    ``"hang"`` never answers. ``latency`` is in seconds, the server's own if None. ``body`` is sent as it is instead.

    The class methods give what providers do wrong, for the sequence or the function of a ``ModelServer``.

    Example:
        >>> ModelReply.rate_limited(retry_after=2).headers
        {'retry-after': '2'}
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    refusal: str | None = None
    latency: float | None = None
    error_code: str | None = None
    fault: Literal["reset", "hang"] | None = None
    error_param: str | None = None
    usage: Mapping[str, Any] | None = None
    """The usage as the endpoint tells it; counted from the texts if None."""
    body: bytes | None = None

    @classmethod
    def rate_limited(cls, *, retry_after: float | str | None = None) -> ModelReply:
        """Give a 429; ``retry_after`` in seconds, or as the header's own text."""
        headers = {} if retry_after is None else {"retry-after": f"{retry_after}"}
        return cls(status=429, text="too many requests", error_code="rate_limit_exceeded", headers=headers)

    @classmethod
    def server_error(cls, status: int = 500) -> ModelReply:
        """Give a 500, or another fault of the server."""
        return cls(status=status, text="the server had an error", error_code="server_error")

    @classmethod
    def hang(cls) -> ModelReply:
        """Give no answer, ever."""
        return cls(fault="hang")

    @classmethod
    def reset(cls) -> ModelReply:
        """Give no answer and cut the connection."""
        return cls(fault="reset")

    @classmethod
    def truncated(cls, value: Any, *, finish_reason: str = "length") -> ModelReply:
        """Give JSON without its end."""
        return cls(text=_json(value)[:-1], finish_reason=finish_reason)

    @classmethod
    def fenced(cls, value: Any) -> ModelReply:
        """Give JSON in a code fence."""
        return cls(text=f"```json\n{_json(value)}\n```")

    @classmethod
    def in_prose(cls, value: Any) -> ModelReply:
        """Give JSON with a sentence before and one after."""
        return cls(text=f"Here is my verdict:\n{_json(value)}\nThat is all.")

    @classmethod
    def thinking(cls, value: Any) -> ModelReply:
        """Give JSON after a thought."""
        return cls(text=f"<think>Let me see.</think>\n{_json(value)}")

    @classmethod
    def wrong_schema(cls) -> ModelReply:
        """Give JSON that fits no schema with a property of its own."""
        return cls(text='{"not": "what was asked"}')

    @classmethod
    def refused(cls, words: str = "I cannot help with that.") -> ModelReply:
        """Give a refusal of the model's own."""
        return cls(refusal=words)

    @classmethod
    def refused_parameter(cls, name: str) -> ModelReply:
        """Give a 400 that names one parameter of the request."""
        return cls(
            status=400,
            text=f"Unsupported parameter: '{name}' is not supported with this model.",
            error_code="unsupported_parameter",
            error_param=name,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    """One request that the stand-in got."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int
    """From 0, in the order of arrival."""

    @property
    def prompt(self) -> str:
        """Give the text of the last message."""
        messages = self.body.get("messages") or [{}]
        content = messages[-1].get("content", "")
        return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """Give the JSON Schema that the answer should have, from beside the messages or from within them."""
        response_format = self.body.get("response_format") or {}
        native = (response_format.get("json_schema") or {}).get("schema")
        return native or schema_in(self.body.get("messages") or ())


ReplyLike: TypeAlias = ModelReply | str | Mapping[str, Any]
Replies: TypeAlias = Callable[[ModelCall], ReplyLike | None] | Mapping[str, ReplyLike] | Sequence[ReplyLike]


class Script:
    """Choose the answer to a call: from a function, by words of the prompt, or one after the other.

    What the script does not answer gets the smallest value that the schema accepts, or a short text.
    """

    def __init__(self, replies: Replies | None) -> None:
        self._replies = replies
        self._next: Iterator[ReplyLike] = iter(())
        if isinstance(replies, Sequence):
            self._next = iter(replies)

    def answer(self, call: ModelCall) -> ModelReply:
        """Give the answer to a call."""
        chosen = self._choose(call)
        if chosen is None:
            chosen = "Because." if call.schema is None else minimal_value(call.schema)
        if isinstance(chosen, ModelReply):
            return chosen
        return ModelReply(text=chosen if isinstance(chosen, str) else _json(chosen))

    def _choose(self, call: ModelCall) -> ReplyLike | None:
        replies = self._replies
        if isinstance(replies, Mapping):
            return next((reply for words, reply in replies.items() if words in call.prompt), None)
        if callable(replies):
            return replies(call)
        return next(self._next, None)


def completion_body(call: ModelCall, reply: ModelReply) -> bytes:
    """Give an answer in the form of a chat completion, or of an error."""
    if reply.body is not None:
        return reply.body
    if reply.status != 200:
        message = reply.text or f"status {reply.status}"
        error = {"message": message, "type": reply.error_code, "code": reply.error_code}
        return orjson.dumps({"error": error if reply.error_param is None else {**error, "param": reply.error_param}})
    text = reply.text or ""
    prompt_tokens = sum(len(str(message.get("content", ""))) for message in call.body.get("messages", ())) // 4
    return orjson.dumps(
        {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": call.body.get("model", "stand-in"),
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": reply.text, "refusal": reply.refusal},
                    "finish_reason": reply.finish_reason,
                }
            ],
            "usage": reply.usage
            or {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": len(text) // 4,
                "total_tokens": prompt_tokens + len(text) // 4,
            },
        }
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
