"""Parts of a message: content blocks of every provider, in one form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from tracescore.dialects.decode_json import clean, parse
from tracescore.dialects.decode_tools import (
    first,
    is_elided,
    is_object,
    result_value,
    text_or_none,
    tool_call,
    tool_result,
    unwrapped_response,
)
from tracescore.dialects.provider_tools import LISTING, asked_beside, asked_of_provider, given_by_provider
from tracescore.dialects.said import ToolResult
from tracescore.model import DataPart, ErrorPart, MediaPart, Part, ReasoningPart, TextPart, ToolInvocationPart

Piece: TypeAlias = Part | ToolResult | None
"""What one block amounts to; ``None`` for a block whose content was left out."""

_TEXT = frozenset({"text", "input_text", "output_text", "summary_text", "refusal", "plain_text"})
_REASONING = frozenset({"reasoning", "thinking", "reasoning_text", "redacted_thinking", "redacted-reasoning"})
_CALL = frozenset(
    {"tool_call", "tool-call", "tool_use", "function_call", "toolCall", "server_tool_call", "server_tool_use"}
    | {"custom_tool_call", "mcp_tool_use", "mcp_call", "web_search_call", "file_search_call", "computer_call"}
    | {"code_interpreter_call", "local_shell_call", "image_generation_call"}
)
_RESULT = frozenset(
    {"tool_call_response", "tool-result", "tool_result", "function_call_output", "custom_tool_call_output"}
    | {"function_result", "toolresult"}
    | {"server_tool_call_response", "mcp_tool_result", "computer_call_output", "tool_call_output"}
)
_UPLOADED = "@@@langfuseMedia:type="
"""How Langfuse's SDK writes media that it has uploaded."""
_DOTNET_REASONING = "Microsoft.Extensions.AI.TextReasoningContent"
"""What .NET's extensions wrote before the conventions had a part for it."""
_WAITING, _DECIDED = "_approval_request", "_approval_response"
_MEDIA: dict[str, Literal["image", "file", "audio"]] = {
    **dict.fromkeys(("image", "image_url", "image-url", "input_image", "output_image"), "image"),
    **dict.fromkeys(("audio", "input_audio", "output_audio", "audio_url", "audio-url"), "audio"),
    **dict.fromkeys(("file", "input_file", "document", "video", "video_url", "media", "blob", "uri"), "file"),
    **dict.fromkeys(("video-url", "document-url", "binary"), "file"),
}
_SPELLED = '{"reasoningContent": {'
"""How a block of Bedrock begins that a library gives as the text of another one."""
_SPELLED_KINDS: dict[str, tuple[str, ...]] = {
    "reasoning": ("summary",),
    "function_call": ("call_id",),
    **dict.fromkeys(("image", "audio", "file"), ("source_type", "base64")),
}
"""Kinds of blocks that are spelled out, and what tells them."""
_SPELLED_FIELDS = ('"summary"', '"call_id"', '"source_type"', '"base64"')
_BLOCKS = '[{"type":"text","text":"'
"""How a message's blocks begin that a library gives as the text of a single one."""
_BEDROCK_MEDIA: dict[str, Literal["image", "file", "audio"]] = {
    "image": "image",
    "audio": "audio",
    "document": "file",
    "video": "file",
}
_RUN = "code_execution"
_BEDROCK = frozenset({"reasoningContent", "guardContent", "citationsContent", "cachePoint", *_BEDROCK_MEDIA})
"""Blocks of Bedrock, told apart by their key; a library may write it as their type."""


def part_of(block: Any) -> Piece:
    """Read one content block."""
    if isinstance(block, str):
        return _text(block)
    if not isinstance(block, dict):
        return None if block is None else DataPart(data=block)
    kind = block.get("type") or block.get("block_type") or block.get("kind")
    if not isinstance(kind, str):
        return _untyped(block)
    if kind in _TEXT:
        text = block.get("text")  # nearly all have it here or under the next name
        return _text(text if text is not None else first(block, ("content", "refusal", "value")))
    if kind in _BEDROCK and is_object(content := block.get("content")):
        return _untyped({kind: content})
    if kind in _REASONING:
        return _reasoning(first(block, ("text", "content", "thinking", "reasoning", "summary")))
    if kind in _CALL:
        return _inner_call(block, kind)
    if kind in _RESULT or kind.endswith("_tool_result"):
        return tool_result(block)
    if kind in _MEDIA:
        return _media(block, _MEDIA[kind])
    if kind == "error":
        return ErrorPart(message=text_or_none(first(block, ("message", "error", "text", "content"))) or "")
    if kind.replace("-", "_").endswith(_WAITING) and len(block) > 1:
        return DataPart(data=block)  # the call that it is about stands beside it
    if kind.replace("-", "_").endswith((_WAITING, _DECIDED)):
        return TextPart(text="")  # nothing is said by it: what came of the call shows it
    if kind == "function" and is_object(block.get("function")):
        return tool_call(block)
    if kind == _DOTNET_REASONING and is_object(inner := block.get("content")):
        return _reasoning(inner.get("text") or None)
    return _untyped(block)


def _text(value: Any) -> Piece:
    if isinstance(value, str):
        start = value[:2]
        if start == '{"':
            if (spelled := _spelled(value)) is not None:
                return part_of(spelled)
            if value.startswith(_SPELLED):
                value = parse(value).value
                return _untyped(value) if is_object(value) else DataPart(data=value)
        elif start == "[{" and value.startswith(_BLOCKS) and isinstance(blocks := parse(value).value, list):
            return _text(blocks)
        return None if is_elided(value) else TextPart(text=clean(value))
    if is_object(value) and isinstance(text := first(value, ("value", "text")), str):
        return TextPart(text=clean(text))
    if isinstance(value, list) and isinstance(text := result_value(value)[0], str):
        return TextPart(text=text)
    return None if value is None else DataPart(data=value)


def _spelled(text: str) -> dict[str, Any] | None:
    """Read a block that a library gives as the text of another one; JSON that was said has no such fields."""
    if not any(mark in text for mark in _SPELLED_FIELDS):
        return None
    block = parse(text).value
    kind = block.get("type") if is_object(block) else None
    return (
        block
        if isinstance(kind, str) and kind in _SPELLED_KINDS and not block.keys().isdisjoint(_SPELLED_KINDS[kind])
        else None
    )


def _reasoning(value: Any) -> Piece:
    if isinstance(value, str) and value[:2] == "[{":
        value = parse(value).value  # a library may spell out the list of summaries
    if isinstance(value, str):
        return None if is_elided(value) else ReasoningPart(text=clean(value))
    given, _ = result_value(first(value, ("text", "content")) if is_object(value) else value)
    return ReasoningPart(text=given) if isinstance(given, str) else None


def _inner_call(block: dict[str, Any], kind: str) -> Piece:
    for key in ("server_tool_call", "functionCall", "function_call"):
        inner = block.get(key)
        if is_object(inner):
            call = tool_call({**inner, **{name: block[name] for name in ("id", "name") if name in block}})
            if key != kind:
                return call
            if inner.get("type") == LISTING:
                return TextPart(text="")
            # What a provider asks of its own tools, and what they returned, stands beside their type.
            asked = asked_of_provider(inner) or asked_beside(inner)
            return replace(
                call,
                arguments=call.arguments if call.arguments is not None else asked,
                result=given_by_provider(inner),
            )
    call = tool_call(block)
    if call.name:
        return call
    arguments = call.arguments if call.arguments is not None else asked_of_provider(block)
    return ToolInvocationPart(
        id=call.id, name=kind.removesuffix("_call"), arguments=arguments, result=given_by_provider(block)
    )


def _untyped(block: dict[str, Any]) -> Piece:
    """Read a block that its keys tell apart: Gemini, Bedrock, Genkit, Haystack, LlamaIndex."""
    for key in ("functionCall", "function_call", "toolUse", "toolRequest", "tool_call"):
        if is_object(inner := block.get(key)):
            return tool_call(inner)
    if is_object(inner := block.get("function")) and "name" in inner and "arguments" in inner:
        return tool_call(block)
    if "tool_kwargs" in block:
        return tool_call({**block, "id": block.get("tool_call_id")})
    for key in ("functionResponse", "function_response"):
        if is_object(inner := block.get(key)):
            return tool_result({**inner, "response": unwrapped_response(inner.get("response"))})
    for key in ("toolResult", "toolResponse", "tool_call_result"):
        if is_object(inner := block.get(key)):
            return tool_result(inner)
    if is_object(code := first(block, ("executableCode", "executable_code"))):
        return ToolInvocationPart(name=_RUN, arguments=asked_of_provider(code))
    if is_object(ran := first(block, ("codeExecutionResult", "code_execution_result"))):
        return tool_result({"name": _RUN, "server_tool_call_response": ran})
    if "cachePoint" in block and len(block) == 1:
        return None  # it tells a provider up to where to cache, and is nothing that was said
    for key in ("guardContent", "citationsContent"):
        if is_object(inner := block.get(key)):
            return _text(first(inner, ("text", "content")))
    if is_object(reasoning := block.get("reasoningContent")):
        return _reasoning(first(reasoning, ("reasoningText", "text")) or None)
    if isinstance(block.get("reasoning"), str):
        return _reasoning(block["reasoning"])
    if isinstance(text := block.get("text"), str):
        return _reasoning(text) if block.get("thought") is True else _text(text)
    for key in ("inlineData", "inline_data", "fileData", "file_data", "media", *_BEDROCK_MEDIA):
        if is_object(inner := block.get(key)):
            return _media(inner, _BEDROCK_MEDIA.get(key, "file"))
    for key in ("json", "data"):
        if key in block and len(block) <= 2:
            return DataPart(data=block[key])
    if isinstance(block.get("content"), str) and not block.keys() - {"content", "type"}:
        return _text(block["content"])
    return DataPart(data=block) if block.keys() - {"type", "block_type", "kind"} else None


def _media(block: dict[str, Any], kind: Literal["image", "file", "audio"]) -> Piece:
    flat = dict(block)
    for key in ("image_url", "input_audio", "file", "source", "image", "media", "data", "audio_url", "video_url"):
        if is_object(inner := block.get(key)):
            flat.update(inner)
    media_type = text_or_none(
        first(flat, ("media_type", "mime_type", "mimeType", "mediaType", "contentType", "image_mimetype"))
    )
    if media_type is None and isinstance(flat.get("format"), str):
        media_type = f"{kind if kind != 'file' else 'application'}/{flat['format']}"
    modality = flat.get("modality")
    if isinstance(modality, str) and modality in ("image", "audio"):
        kind = modality
    elif media_type is not None and media_type.split("/")[0] in ("image", "audio"):
        kind = "image" if media_type.startswith("image") else "audio"
    plain = flat.get("type") == "text" and isinstance(flat.get("data"), str)
    url = f"data:{media_type or 'text/plain'},{quote(clean(flat['data']))}" if plain else _url(flat, media_type)
    file_id = text_or_none(first(flat, ("file_id", "fileId")))
    if url is None and file_id is None and media_type is None:
        return None
    return MediaPart(type=kind, media_type=media_type or _type_of(url), url=url, file_id=file_id)


def _url(flat: dict[str, Any], media_type: str | None) -> str | None:
    for key in ("url", "uri", "image_url", "fileUri", "file_uri", "audio_url", "video_url", "image", "file_url"):
        if isinstance(found := flat.get(key), str) and found:
            return clean(found) if ":" in found[:32] else f"data:{media_type or ''};base64,{clean(found)}"
    for key in ("content", "data", "bytes", "file_data", "base64"):
        if isinstance(found := flat.get(key), str) and found and not is_elided(found) and found[:2] not in ("b'", 'b"'):
            return (
                clean(found)
                if found.startswith(("data:", "http"))
                else f"data:{media_type or ''};base64,{clean(found)}"
            )
    return None


def _type_of(url: str | None) -> str | None:
    if url is not None and url.startswith(_UPLOADED):
        return url.removeprefix(_UPLOADED).split("|", 1)[0][:64] or None
    if url is not None and url.startswith("data:"):
        return url[5:].split(";", 1)[0].split(",", 1)[0][:64] or None
    return None
