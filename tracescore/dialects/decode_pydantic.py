"""Pydantic AI's own messages, as tracers that wrap its functions write them: a list of parts for each request or reply.

One request may hold instructions, what the user says and what tools returned, so that it is several messages.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from tracescore.dialects.decode_tools import is_object

_KINDS = ("request", "response")
_PART = "part_kind"


def pydantic_messages(value: dict[str, Any]) -> list[Any] | None:
    """Read one of its messages, a run's arguments or a run's result; ``None`` for anything else."""
    if is_message(value):
        return _of_message(value)
    if is_object(state := value.get("_state")) and "message_history" in state and "output" in value:
        return [{"role": "assistant", "parts": [value["output"]]}] if value["output"] is not None else []
    asked = value.get("user_prompt")
    if asked is None or not (len(value) == 1 or "message_history" in value or "infer_name" in value):
        return None
    history = value.get("message_history")
    return [*(of_messages(history) if are_messages(history) else []), {"role": "user", "content": asked}]


def are_messages(value: Any) -> TypeGuard[list[Any]]:
    """Tell a list of its messages."""
    return isinstance(value, list) and bool(value) and all(is_object(one) and is_message(one) for one in value)


def is_message(value: dict[str, Any]) -> bool:
    """Tell one of its messages."""
    parts = value.get("parts")
    return value.get("kind") in _KINDS and isinstance(parts, list) and all(is_object(p) and _PART in p for p in parts)


def of_messages(values: list[Any]) -> list[Any]:
    """Give the messages of a list of its own."""
    return [one for value in values for one in _of_message(value)]


def _of_message(value: dict[str, Any]) -> list[dict[str, Any]]:
    if value["kind"] == "response":
        parts = [part for one in value["parts"] if (part := _said(one)) is not None]
        return [{"role": "assistant", "content": parts, "finish_reason": value.get("finish_reason")}]
    messages = [_given(part) for part in value["parts"]]
    instructions = value.get("instructions")
    return [{"role": "system", "content": instructions}, *messages] if instructions else messages


def _said(part: dict[str, Any]) -> dict[str, Any] | None:
    kind = part[_PART]
    if kind == "text":
        return {"type": "text", "text": part.get("content")}
    if kind == "thinking":
        return {"type": "thinking", "thinking": part.get("content")}
    if kind in ("tool-call", "builtin-tool-call", "native-tool-call"):
        call = {"id": part.get("tool_call_id"), "name": part.get("tool_name"), "arguments": part.get("args")}
        return {"type": "tool_call", **call}
    if kind in ("builtin-tool-return", "native-tool-return"):
        return _returned(part)
    return part.get("content")


def _given(part: dict[str, Any]) -> dict[str, Any]:
    kind = part[_PART]
    if kind == "system-prompt":
        return {"role": "system", "content": part.get("content")}
    if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
        returned = _returned(part)
        return {"role": "tool", "content": [{**returned, "is_error": kind == "retry-prompt"}]}
    return {"role": "user", "content": part.get("content")}


def _returned(part: dict[str, Any]) -> dict[str, Any]:
    named = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
    return {"type": "tool_call_response", **named, "result": part.get("content")}
