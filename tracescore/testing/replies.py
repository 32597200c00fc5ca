"""What the stand-in model answers, and what it was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import orjson

from tracescore.testing.minimal import minimal_value


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """One answer of the stand-in, as a provider would give it.

    ``text`` None with a ``refusal`` is a refusal; ``finish_reason="length"`` a reply that was cut off. A ``status``
    other than 200 answers an error with ``text`` as its message. ``fault`` ``"reset"`` cuts the connection and
    ``"hang"`` never answers. ``latency`` is in seconds, the server's own if None.
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    refusal: str | None = None
    latency: float | None = None
    error_code: str | None = None
    fault: Literal["reset", "hang"] | None = None


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
        return str(messages[-1].get("content", ""))

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """Give the JSON Schema that the answer should have."""
        response_format = self.body.get("response_format") or {}
        return (response_format.get("json_schema") or {}).get("schema")


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
        return ModelReply(text=chosen if isinstance(chosen, str) else orjson.dumps(chosen).decode())

    def _choose(self, call: ModelCall) -> ReplyLike | None:
        replies = self._replies
        if isinstance(replies, Mapping):
            return next((reply for words, reply in replies.items() if words in call.prompt), None)
        if callable(replies):
            return replies(call)
        return next(self._next, None)


def completion_body(call: ModelCall, reply: ModelReply) -> bytes:
    """Give an answer in the form of a chat completion, or of an error."""
    if reply.status != 200:
        message = reply.text or f"status {reply.status}"
        return orjson.dumps({"error": {"message": message, "type": reply.error_code, "code": reply.error_code}})
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
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": len(text) // 4,
                "total_tokens": prompt_tokens + len(text) // 4,
            },
        }
    )
