"""Tool calls and tool results in the shapes that providers and frameworks give them."""

from __future__ import annotations

from typing import Any, TypeGuard

from tracescore.dialects.decode_json import clean, loads, parse
from tracescore.dialects.said import ToolResult
from tracescore.model import JSONValue, ToolInvocationPart

_NAME_KEYS = ("name", "toolName", "tool_name")
_CALL_ID_KEYS = ("call_id", "id", "toolCallId", "tool_call_id", "toolUseId", "ref")
_ARGUMENT_KEYS = ("arguments", "args", "input", "tool_kwargs", "parameters")
_RESULT_ID_KEYS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "ref", "id")
_OF_PROVIDER, _GOOD = "server_tool_call_response", "OUTCOME_OK"
_RESULT_KEYS = ("response", "result", "output", "content", "value", _OF_PROVIDER)
_BOXED = '"function_result"'
"""What marks a result that a framework encoded with its own type and id around it."""
_BLOCK = '[{"json":'
"""How the text of Bedrock's block begins that holds an object."""
_TYPED = '{"type":"'
_TYPES = ("text", "json", "error-text", "error-json", "content")
"""What the AI SDK calls the outputs of a tool; an exporter may have written one as text."""
ELIDED = frozenset({"<elided>", "<REDACTED>", "[REDACTED]", "__REDACTED__", "<redacted>", "<replaced>"})
"""What senders write in the place of content that they leave out."""


_ELIDED_STARTS = frozenset(text[0] for text in ELIDED)


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a decoded value is an object."""
    return isinstance(value, dict)


def is_elided(text: str) -> bool:
    """Tell what stands in the place of content that was left out."""
    return text[:1] in _ELIDED_STARTS and text in ELIDED  # else each long text would be hashed


def text_or_none(value: Any) -> str | None:
    """Give a non-empty string, a number as its digits, anything else as ``None``."""
    if isinstance(value, str):
        return clean(value) or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """Give the first value that is there and not null."""
    for key in keys:
        found = value.get(key)
        if found is not None:
            return found
    return None


def arguments_of(value: Any) -> JSONValue:
    """Decode call arguments: a dict where they are a JSON object, the raw value otherwise."""
    if isinstance(value, str):
        if is_elided(value):
            return None
        decoded = parse(value)
        if is_object(decoded.value) and not decoded.truncated:
            return decoded.value
        return clean(value)
    return value


def tool_call(value: dict[str, Any]) -> ToolInvocationPart:
    """Read one call, as an OpenAI ``function`` or ``custom`` object, a content block or a flat object."""
    function = first(value, ("function", "custom"))
    inner = function if is_object(function) else value
    name = text_or_none(first(inner, _NAME_KEYS)) or text_or_none(first(value, _NAME_KEYS)) or ""
    arguments = first(inner, _ARGUMENT_KEYS)
    if arguments is None and inner is not value:
        arguments = first(value, _ARGUMENT_KEYS)
    return ToolInvocationPart(
        id=text_or_none(first(value, _CALL_ID_KEYS)), name=name, arguments=arguments_of(arguments)
    )


def tool_result(value: dict[str, Any]) -> ToolResult:
    """Read what came of a call, as a tool message, a content block or a flat object."""
    origin = value.get("origin")
    source = {**value, **{key: origin[key] for key in origin if key != "arguments"}} if is_object(origin) else value
    raw = first(value, _RESULT_KEYS)
    status = value.get("status")
    failed = bool(value.get("is_error") or value.get("isError") or value.get("error")) or status in ("error", "failed")
    if raw is None and isinstance(value.get("error"), str):
        raw = value["error"]
    if is_object(raw) and raw is value.get(_OF_PROVIDER):
        # What a provider's own tool gave stands beside the tool's type.
        failed = failed or raw.get("is_error") is True or raw.get("outcome", _GOOD) != _GOOD
        raw = first(raw, _RESULT_KEYS) if any(key in raw for key in _RESULT_KEYS) else raw
    given, flagged = result_value(raw)
    elided = given is None and not any(key in value for key in _RESULT_KEYS)
    if isinstance(given, str) and is_elided(given):
        given, elided = None, True
    return ToolResult(
        id=text_or_none(first(source, _RESULT_ID_KEYS)),
        name=text_or_none(first(source, _NAME_KEYS)),
        value=given,
        failed=failed or flagged,
        elided=elided,
    )


def result_value(raw: Any) -> tuple[JSONValue, bool]:
    """Give what the model was given, and whether it is marked as an error: text parts as their text."""
    if isinstance(raw, str):
        if raw.startswith(_BLOCK) and isinstance(blocks := parse(raw).value, list) and len(blocks) == 1:
            return _joined(blocks), False
        if raw.startswith(_TYPED) and is_object(inner := parse(raw).value) and inner.keys() == {"type", "value"}:
            return result_value(inner) if inner["type"] in _TYPES else (clean(raw), False)
        inner = parse(raw).value if _BOXED in raw[:40] else None
        return (inner["result"], False) if is_object(inner) and "result" in inner else (clean(raw), False)
    if is_object(raw):
        kind = raw.get("type")
        if "value" in raw and isinstance(kind, str) and kind.split("-")[-1] in ("text", "json", "content"):
            value, flagged = result_value(raw["value"])
            return value, flagged or kind.startswith("error")
        return raw, False
    if isinstance(raw, list):
        return _joined(raw), False
    return raw, False


def _joined(items: list[Any]) -> JSONValue:
    texts: list[str] = []
    for item in items:
        if isinstance(item, str):
            texts.append(item)
        elif is_object(item) and isinstance(item.get("text"), str):
            texts.append(item["text"])
        elif is_object(item) and item.get("type") == "text" and isinstance(item.get("content"), str):
            texts.append(item["content"])
        elif is_object(item) and len(items) == 1 and "json" in item:
            return item["json"]
        else:
            return items
    return clean("\n".join(texts)) if texts else None


def unwrapped_response(response: Any) -> JSONValue:
    """Give what a function returned out of a Gemini function response, which must be an object."""
    if is_object(response) and len(response) == 1:
        for key in ("result", "output"):
            if key in response:
                return response[key]
    return response


def unwrapped_response_text(text: str) -> JSONValue:
    """Give what a function returned out of a Gemini function response as JSON text; other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        value = unwrapped_response(loads(text))
    except ValueError:
        return text
    return value if isinstance(value, str) else text
