"""A schema inside the messages, for models that take none beside them; and the one re-ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import orjson

JsonPromptInjection: TypeAlias = Literal["auto", "inline", "system"] | bool

ChatMessage: TypeAlias = Mapping[str, Any]

_IN_SYSTEM = "Answer with one JSON object of this JSON Schema, and with nothing else.\nJSON Schema: "
_INLINE = "Answer in JSON that fits this schema; no code fence, and no text before or after it.\nJSON Schema: "
_MARK = "JSON Schema: "
_REPLY_LIMIT = 20_000


def with_schema(
    messages: Sequence[ChatMessage], schema: Mapping[str, Any], mode: Literal["inline", "system"]
) -> list[ChatMessage]:
    """Give the messages with the schema at the end of the system message, or of the last user message.

    Where there is no such message, one is added: a system message first, a user message last.
    """
    role, words = ("system", _IN_SYSTEM) if mode == "system" else ("user", _INLINE)
    text = words + orjson.dumps(schema).decode()
    result = list(messages)
    places = [number for number, message in enumerate(result) if message.get("role") == role]
    if not places:
        added = {"role": role, "content": text}
        return [added, *result] if mode == "system" else [*result, added]
    at = places[0] if mode == "system" else places[-1]
    result[at] = {**result[at], "content": _joined(result[at].get("content"), text)}
    return result


def asked_again(
    messages: Sequence[ChatMessage], *, reply: str | None, problem: str, schema: Mapping[str, Any]
) -> list[ChatMessage]:
    """Give the messages that tell a judge what is wrong with its reply and ask once more."""
    said = [{"role": "assistant", "content": reply[:_REPLY_LIMIT]}] if reply and reply.strip() else []
    again = (
        f"This reply cannot be used. {problem[:1].upper()}{problem[1:]}\n"
        f"Answer the question again. {_INLINE}{orjson.dumps(schema).decode()}"
    )
    return [*messages, *said, {"role": "user", "content": again}]


def schema_in(messages: Sequence[ChatMessage]) -> Mapping[str, Any] | None:
    """Find the schema that ``with_schema`` or ``asked_again`` put into messages, the last if several."""
    for message in reversed(messages):
        content = message.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
        for text in reversed(parts):
            _, found, after = text.rpartition(_MARK)
            if found:
                try:
                    schema = orjson.loads(after)
                except orjson.JSONDecodeError:
                    continue
                if isinstance(schema, dict):
                    return schema
    return None


def _joined(content: Any, text: str) -> Any:
    if isinstance(content, (list, tuple)):
        return [*content, {"type": "text", "text": text}]
    return f"{content or ''}\n\n{text}".lstrip("\n")
