"""Messages in numbered attributes, ``gen_ai.prompt.N`` and ``gen_ai.completion.N``, of OpenLLMetry before 0.5."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import loads, parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.flattened import Group, numbered
from tracescore.model import JSONValue, Role

_BEDROCK = frozenset(
    {"text", "image", "document", "video", "toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"}
)


def numbered_messages(group: Group | None, role: Role, *, tail_lost: bool = False) -> Content | None:
    """Read numbered messages; ``None`` where none of them says anything."""
    if not group or not any(key not in ("role", "finish_reason") for fields in group.values() for key in fields):
        return None
    spelled = _spelled_out(group.values())
    elements = {number: _message(fields, spelled=spelled) for number, fields in group.items()}
    if role == "assistant":
        elements = _answers(elements)
    return Content(role=role, elements=elements, tail_lost=tail_lost)


def _answers(elements: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Give the first answer, or all the parts of one: what a model thought may be a message of its own."""
    thoughts = [message["content"] for message in elements.values() if message.get("role") == "thinking"]
    said = {
        number: message
        for number, message in elements.items()
        if message.get("role") != "thinking" and message.keys() - {"role", "finish_reason"}
    }
    if not said:
        return {0: {"role": "assistant", "reasoning": thoughts[0]}} if thoughts else elements
    if not all("tool_calls" in message for message in said.values()):
        said = dict(list(said.items())[:1])
    if thoughts:
        first_number, first_said = next(iter(said.items()))
        said[first_number] = {**first_said, "reasoning": "\n".join(str(thought) for thought in thoughts)}
    return said


def _spelled_out(messages: Iterable[dict[str, JSONValue]]) -> bool:
    """Tell whether a library wrote every content as JSON, texts in quotes too."""
    texts = [content for fields in messages if isinstance(content := fields.get("content"), str)]
    return bool(texts) and all(text[:1] == text[-1:] == '"' or text[:2] == "[{" for text in texts)


def _message(fields: dict[str, JSONValue], *, spelled: bool) -> dict[str, Any]:
    message: dict[str, Any] = {
        key: fields[key] for key in ("role", "content", "name", "tool_call_id", "finish_reason") if key in fields
    }
    content = message.get("content")
    if content == '""':
        message["content"] = content = None
    if isinstance(content, str) and (spelled or content[:2] == "[{"):
        message["content"] = _blocks(content) or content
    calls = numbered(fields, ("tool_calls.",)).get("tool_calls.", {})
    if calls:
        message["tool_calls"] = list(calls.values())
    elif (listed := _calls_in(fields.get("content"))) is not None:
        message |= {"role": "assistant", "content": None, "tool_calls": listed}
    elif (name := fields.get("function_call.name")) is not None:
        message["tool_calls"] = [{"name": name, "arguments": fields.get("function_call.arguments")}]
    if (reasoning := fields.get("reasoning")) is not None:
        message["reasoning"] = reasoning
    return message


def _blocks(content: str) -> JSONValue:
    """Read blocks of Bedrock, which have no type, and text in quotes, out of the JSON text of a content."""
    read = parse(content).value
    if content[:1] == '"':
        with suppress(ValueError):
            read = loads(content)
        return read if isinstance(read, str) else None
    bare = isinstance(read, list) and all(is_object(one) and len(one) == 1 and one.keys() <= _BEDROCK for one in read)
    return read if bare else None


def _calls_in(content: JSONValue) -> list[Any] | None:
    """Read the calls that one library writes as the text of a message."""
    listed = parse(content).value if isinstance(content, str) and content[:2] == "[{" else None
    if not isinstance(listed, list):
        return None
    calls = [call for call in listed if is_object(call) and call.get("type") == "function" and "function" in call]
    return calls if len(calls) == len(listed) else None
