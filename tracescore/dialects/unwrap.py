"""Find the list of messages inside what a span records as input or output."""

from __future__ import annotations

from typing import Any, NamedTuple

from tracescore.dialects.decode_message import BLOCK_TYPES, ROLES
from tracescore.dialects.decode_pydantic import are_messages, of_messages, pydantic_messages
from tracescore.dialects.decode_repr import object_message
from tracescore.dialects.decode_tools import first, is_object
from tracescore.model import Role

_LISTS = ("messages", "contents", "chat_history", "replies", "choices", "candidates", "generations")
"""Where a list of messages or alternatives stands, in the order of trust."""
_HISTORY, _ASKED = "chat_history", ("input", "question", "query", "human_input")
"""Under which names a chain is given what was said before, and beside it what is asked now."""
_ENVELOPES = ("inputs", "outputs", "kwargs", "output", "input", "data", "result", "request", "state", "new_message")
"""What frameworks wrap a call's input or output in."""
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_PYDANTIC_AI = frozenset({"kind", "_state", "user_prompt"})
_SAYING = frozenset(
    {"content", "parts", "tool_calls", "toolCalls", "blocks", "text", "function_call", "functionCall", "refusal"}
)
"""What makes an object with a role a message."""
_ANSWER = frozenset({"toolCalls", "files", "finishReason", "finish_reason", "sources", "raw"})
"""Fields beside the text of an answer that a toolkit gives as one object."""
_BLOCKED = ("prompt_feedback", "promptFeedback")
"""Where Gemini says why it answered nothing."""
_MAX_ENVELOPES = 4
_ALTERNATIVES = ("choices", "candidates", "generations")
AUTOMATIC_HISTORY = "automatic_function_calling_history"
"""Where a client that runs functions by itself keeps the calls in between."""


class Found(NamedTuple):
    """Raw messages, and the role of those that state none; ``alternatives`` where each is another answer."""

    elements: list[Any]
    alternatives: bool = False


def find_messages(value: Any, role: Role, depth: int = 0) -> Found | None:
    """Find raw messages in a decoded value; ``None`` where it is something else.

    A request's system text comes first as a message of its own.
    """
    if depth > _MAX_ENVELOPES:
        return None
    if isinstance(value, list):
        return _from_list(value, role, depth)
    if not is_object(value):
        return None
    if not _PYDANTIC_AI.isdisjoint(value) and (own := pydantic_messages(value)) is not None:
        return Found(own)
    if _is_message(value):
        return Found([value])
    if role == "assistant" and _is_calling(value):
        return Found([{"role": role, **value}])
    if role == "assistant" and isinstance(value.get("text"), str) and value.keys() & _ANSWER:
        thought = value.get("reasoning")
        content = [*(thought if isinstance(thought, list) else []), {"type": "text", "text": value["text"]}]
        return Found([{"role": "assistant", "content": content, "toolCalls": value.get("toolCalls")}])
    if isinstance(history := value.get(AUTOMATIC_HISTORY), list) and isinstance(value.get("candidates"), list):
        asked = [{"role": "user", **one} if is_object(one) else one for one in history]
        return Found([*asked, *value["candidates"][:1]])
    if role == "assistant" and "candidates" not in value and is_object(blocked := first(value, _BLOCKED)):
        return Found([{"role": role, "content": [], "finish_reason": first(blocked, ("block_reason", "blockReason"))}])
    for key in _LISTS:
        listed = value.get(key)
        if isinstance(listed, list) and listed:
            found = _from_list(listed, role, depth)
            if found is not None and key == _HISTORY and isinstance(asked := first(value, _ASKED), str):
                return Found([*_system_of(value, key), *found.elements, {"role": "user", "content": asked}])
            if found is not None:
                alternatives = found.alternatives or key in _ALTERNATIVES
                return Found(_system_of(value, key) + found.elements, alternatives)
    if role == "assistant" and [] in [value.get(key) for key in _ALTERNATIVES]:
        return Found([])
    if "model" in value and (asked := value.get("contents")) and role == "user":
        # Gemini's client takes one text, or parts, for a user's message.
        listed = asked if isinstance(asked, list) else [asked]
        parts = [{"text": part} if isinstance(part, str) else part for part in listed]
        return Found([*_system_of(value, "contents"), {"role": "user", "parts": parts}])
    message = value.get("message")
    if is_object(message):
        found = find_messages(message, role, depth + 1)
        if found is not None:
            return found
    for key in _ENVELOPES:
        inner = value.get(key)
        if isinstance(inner, str) and key in ("input", "new_message") and (_has_system(value) or "model" in value):
            return Found([*_system_of(value, key), {"role": "user", "content": inner}])
        if isinstance(inner, list | dict):
            found = find_messages(inner, role, depth + 1)
            if found is not None:
                return Found(_system_of(value, key) + found.elements, found.alternatives)
    prompt = value.get("prompt")
    if isinstance(prompt, str) and prompt and role == "user":
        return Found([*_system_of(value, "prompt"), {"role": "user", "content": prompt}])
    if len(value) == 1:
        only = next(iter(value.values()))
        return find_messages(only, role, depth + 1) if isinstance(only, list | dict) else None
    return None


def _from_list(items: list[Any], role: Role, depth: int) -> Found | None:
    if not items:
        return None
    head = items[0]
    if isinstance(head, list):
        if all(_is_pair(item) for item in items):
            return Found([{"role": item[0], "content": item[1]} for item in items])
        # Batches: frameworks write one list of messages for each of several prompts.
        return find_messages(head, role, depth + 1)
    if isinstance(head, str):
        read = [object_message(item) for item in items if isinstance(item, str)]
        return Found(read) if len(read) == len(items) and None not in read else None
    if isinstance(head, dict) and "kind" in head and are_messages(items):
        return Found(of_messages(items))
    objects = [item for item in items if isinstance(item, dict)]
    if len(objects) != len(items):
        return None
    if role == "assistant" and all("generation_info" in item and "message" not in item for item in objects):
        # What a model that only completes answered.
        return Found([{"role": role, "content": item.get("text")} for item in objects], True)
    for item in objects:
        if not _is_message(item) and not _is_item(item):
            break
    else:
        return Found(items)
    if role != "system" and all(item.get("type") in BLOCK_TYPES for item in objects):
        # The content of one message, as a client gave it or got it.
        return Found([{"role": role, "content": list(items)}])
    if len(objects) == 1:
        return find_messages(objects[0], role, depth + 1)
    nested = [is_object(item.get("message")) or is_object(item.get("content")) for item in objects]
    return Found(list(items), True) if all(nested) else None


def _is_calling(value: dict[str, Any]) -> bool:
    """Tell the calls of an answer that a client gives without its role."""
    calls = value.get("tool_calls")
    if "role" in value or not isinstance(calls, list) or not calls:
        return False
    return all(is_object(call) and is_object(call.get("function")) for call in calls)


def _is_pair(item: Any) -> bool:
    """Tell a message that is spelled as its role and its text."""
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and item[0] in ROLES


def _is_message(value: dict[str, Any]) -> bool:
    role = value["role"] if "role" in value else value.get("_role")
    if isinstance(role, str) and (role in ROLES or role.lower() in ROLES):
        return not _SAYING.isdisjoint(value)
    if isinstance(role, str) and "additional_kwargs" in value and "content" in value:
        return True
    if is_object(value.get("kwargs")) and "lc" in value:
        return True
    kind = value.get("type")
    if isinstance(kind, str) and kind in ROLES and kind not in ("function", "tool"):
        return "content" in value or is_object(value.get("data"))
    if kind in ("tool", "ToolMessage"):
        return is_object(value.get("data")) or "tool_call_id" in value
    if is_object(message := value.get("message")) and ("finish_reason" in value or "index" in value):
        return _is_message(message)
    return is_object(content := value.get("content")) and "parts" in content and "role" in content


def _is_item(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and (
        kind in ("message", "function_call", "function_call_output", "reasoning", "item_reference")
        or kind.startswith("mcp_")
        or (kind.endswith(("_call", "_call_output")) and ("call_id" in value or "id" in value))
    )


def _has_system(value: dict[str, Any]) -> bool:
    return any(key in value for key in _SYSTEM)


def _system_of(value: dict[str, Any], beside: str) -> list[Any]:
    """Give the system text that stands beside the messages, where they do not hold it."""
    found = first(value, _SYSTEM)
    if found is None and is_object(config := value.get("config")):
        found = first(config, _SYSTEM)
    if found is None or found == "" or beside in ("output", "outputs", *_ALTERNATIVES):
        return []
    if is_object(found) and "parts" in found:
        found = found["parts"]
    return [{"role": "system", "content": found}]
