"""One raw message of any shape into what was said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.decode_json import MAX_NESTED, clean, looks_like_json, parse
from tracescore.dialects.decode_parts import Piece, part_of
from tracescore.dialects.decode_tools import (
    arguments_of,
    first,
    is_elided,
    is_object,
    text_or_none,
    tool_call,
    tool_result,
)
from tracescore.dialects.provider_tools import LISTING, asked_of_provider, came_of
from tracescore.dialects.said import Said, ToolResult
from tracescore.model import DataPart, Part, ReasoningPart, Role, TextPart, ToolInvocationPart

ROLES: dict[str, Role] = {
    **dict.fromkeys(("system", "developer", "SystemMessage", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "bot", "agent", "AIMessage", "AIMessageChunk", "CHATBOT"), "assistant"
    ),
    **dict.fromkeys(("tool", "function", "ToolMessage", "FunctionMessage", "ipython", "toolResult"), "tool"),
}
_ITEM_CALL, _ITEM_RESULT = "_call", "_call_output"
"""How the types of items end that are calls, and what came of them."""
_APPROVALS = ("tool-approval-response", "tool_approval_response")
BLOCK_TYPES = frozenset(
    {"text", "image_url", "tool_use", "tool_result", "thinking", "image", "input_text", "output_text"}
    | {"redacted_thinking", "server_tool_use", "input_image"}
)
_MESSAGE_KEYS = frozenset(
    {"role", "_role", "content", "contents", "parts", "blocks", "text", "tool_calls", "toolCalls", "function_call"}
)
_ROLE_KEYS = ("role", "type", "_role")
_CONTENT_KEYS = ("parts", "content", "contents", "blocks", "text", "refusal")
_PLAIN_KEYS = frozenset({"role", "content", "parts", "finish_reason"})
_MAX_PARTS = 10_000


def said_of(raw: Any, role: Role, depth: int = 0) -> list[Said]:
    """Read one raw message; ``role`` is for one that states none.

    One raw message may hold two: tool results and what a user says beside them.
    """
    if isinstance(raw, str):
        return (
            [Said(role=role, elided=True)] if is_elided(raw) else [Said(role=role, parts=(TextPart(text=clean(raw)),))]
        )
    if isinstance(raw, list):
        return _split(role, [part_of(block) for block in raw[:_MAX_PARTS]])
    if not isinstance(raw, dict) or depth > MAX_NESTED:
        return [] if raw is None else [Said(role=role, parts=(DataPart(data=raw),))]
    if len(raw) > 1 and raw.keys() <= _PLAIN_KEYS and not isinstance(raw.get("content"), dict):
        speaker = _role(raw) or role
        pieces = _content_pieces(raw)
        if speaker != "tool" or any(isinstance(piece, ToolResult) for piece in pieces):
            # Most messages are no more than this.
            finish = text_or_none(raw["finish_reason"]) if "finish_reason" in raw else None
            return _split(speaker, pieces, finish=finish)
    inner = _inner(raw)
    if inner is not None:
        return said_of(inner, _role(raw) or role, depth + 1)
    kind = raw.get("type")
    if isinstance(kind, str) and "role" not in raw:
        item = _item(raw, kind)
        if item is not None:
            return [item]
    if not raw.keys() & _MESSAGE_KEYS:
        if (finish := text_or_none(first(raw, ("finish_reason", "finishReason")))) is not None:
            return [Said(role=role, finish=finish)]  # an answer that was stopped before it began
        return [Said(role=role, parts=(DataPart(data=raw),))]
    return _message(raw, _role(raw) or role)


def _inner(raw: dict[str, Any]) -> dict[str, Any] | None:
    """Find the message in its wrapper: a constructor's arguments, a dump's data, a choice's message."""
    kwargs = raw.get("kwargs")
    if is_object(kwargs) and ("lc" in raw or raw.get("type") == "constructor"):
        path = raw.get("id")
        name = path[-1] if isinstance(path, list) and path else None
        return {"type": name, **kwargs} if isinstance(name, str) and name in ROLES else kwargs
    data = raw.get("data")
    if is_object(data) and isinstance(raw.get("type"), str) and raw["type"] in ROLES:
        return {"type": raw["type"], **data}
    message = raw.get("message")
    if is_object(message):
        finish = first(raw, ("finish_reason", "finishReason"))
        calls = {"tool_calls": raw["tool_calls"]} if "tool_calls" in raw and not message.get("tool_calls") else {}
        return {**({"finish_reason": finish} if finish is not None else {}), **message, **calls}
    content = raw.get("content")
    if is_object(content) and ("parts" in content or "role" in content):
        finish = first(raw, ("finish_reason", "finishReason"))
        return {**({"finish_reason": finish} if finish is not None else {}), **content}
    return None


def _role(raw: dict[str, Any]) -> Role | None:
    for key in _ROLE_KEYS:
        value = raw.get(key)
        if isinstance(value, str):
            found = ROLES.get(value) or ROLES.get(value.lower())
            if found is not None:
                return found
    source = raw.get("source")
    if isinstance(source, str) and "content" in raw:
        return "user" if source == "user" else "assistant"
    return "tool" if _role_is_tool(raw) else None


def _role_is_tool(raw: dict[str, Any]) -> bool:
    """Tell the message of a tool whose name one callback of LangChain writes in the place of its role."""
    return isinstance(raw.get("role"), str) and "additional_kwargs" in raw and "content" in raw


def _item(raw: dict[str, Any], kind: str) -> Said | None:
    """Read a Responses item that is no message: each is one part of a turn."""
    if kind.endswith(_ITEM_CALL) and kind not in ("tool_call", "server_tool_call"):
        call = tool_call(raw)
        name = call.name or kind.removesuffix(_ITEM_CALL)
        call_id = text_or_none(raw.get("call_id")) or call.id
        arguments = call.arguments if call.arguments is not None else asked_of_provider(raw)
        result = came_of(raw, call_id, name)
        return Said(
            role="assistant",
            parts=(ToolInvocationPart(id=call_id, name=name, arguments=arguments),),
            results=(result,) if result is not None else (),
            fragment=True,
        )
    if kind == LISTING:
        return Said(role="assistant", fragment=True)
    if kind.endswith(_ITEM_RESULT):
        return Said(role="tool", results=(tool_result({**raw, "id": raw.get("call_id")}),), fragment=True)
    if kind == "reasoning":
        texts = [
            part
            for key in ("summary", "content")
            for part in _pieces(raw.get(key))
            if isinstance(part, TextPart | ReasoningPart)
        ]
        text = "\n".join(part.text for part in texts) or text_or_none(raw.get("text")) or ""
        return Said(role="assistant", parts=(ReasoningPart(text=text),) if text else (), fragment=True, elided=not text)
    if kind in ("tool_call", "tool-call", "tool_use", "toolCall") and ("name" in raw or "toolName" in raw):
        return Said(role="assistant", parts=(tool_call(raw),), fragment=True)
    return None


def _offers_tool(raw: dict[str, Any]) -> bool:
    """Tell the description of a tool, which one library lists among the messages, from what a tool returned."""
    content = raw.get("content")
    function = content.get("function") if is_object(content) and content.get("type") == "function" else None
    return is_object(function) and "parameters" in function and "arguments" not in function


def _approves(raw: dict[str, Any]) -> bool:
    """Tell the message by which a human allowed calls: it is no result of theirs."""
    parts = first(raw, ("parts", "content"))
    return (
        isinstance(parts, list)
        and bool(parts)
        and all(is_object(part) and part.get("type") in _APPROVALS for part in parts)
    )


def _message(raw: dict[str, Any], role: Role) -> list[Said]:
    if role == "tool" and (_offers_tool(raw) or _approves(raw)):
        return []
    pieces = _content_pieces(raw)
    reasoning = first(raw, ("reasoning_content", "reasoning", "thinking", "tool_plan"))
    if isinstance(reasoning, str) and reasoning and not any(isinstance(piece, ReasoningPart) for piece in pieces):
        pieces.insert(0, ReasoningPart(text=clean(reasoning)))
    if is_object(audio := raw.get("audio")):
        pieces += _spoken(audio, pieces)
    calls = _calls(raw)
    if calls:
        blocks = [piece for piece in pieces if isinstance(piece, ToolInvocationPart)]
        known = {(call.id, call.name) for call in blocks}
        named = {call.name for call in blocks}
        # Several emitters write the same call as a block and as a call.
        pieces += [
            call for call in calls if (call.id, call.name) not in known and not (call.id is None and call.name in named)
        ]
    name = text_or_none(raw.get("name")) or _source(raw)
    if name is None and role == "tool" and _role_is_tool(raw) and raw["role"] not in ROLES:
        name = text_or_none(raw["role"])
    if role == "tool" and not any(isinstance(piece, ToolResult) for piece in pieces):
        content = first(raw, ("content", "result", "output", "parts"))
        given = {key: value for key, value in raw.items() if key not in ("parts", "type")}
        # A tool message's own id is the call's only where it states no other.
        result = tool_result({**given, "content": content})
        return [Said(role="tool", results=(result,), name=name, elided=result.elided)]
    return _split(
        role,
        pieces,
        name=name,
        finish=text_or_none(first(raw, ("finish_reason", "finishReason", "stop_reason"))),
        tag=text_or_none(raw.get("tag")) if role == "system" else None,
        fragment=role == "assistant" and raw.get("type") == "message" and "id" in raw,
    )


def _spoken(audio: dict[str, Any], beside: Sequence[Piece]) -> list[Piece]:
    """Read an answer that was spoken: what was said, where no text says it, and the sound."""
    told = audio.get("transcript")
    known = any(isinstance(piece, TextPart) and piece.text for piece in beside)
    texts: list[Piece] = [TextPart(text=clean(told))] if isinstance(told, str) and told and not known else []
    return [*texts, part_of({"type": "audio", "file_id": audio.get("id"), **audio})]


def _source(raw: dict[str, Any]) -> str | None:
    source = raw.get("source")
    return source if isinstance(source, str) and source not in ("user", "assistant", "system") else None


def _content_pieces(raw: dict[str, Any]) -> list[Piece]:
    for key in _CONTENT_KEYS:
        if key in raw:
            value = raw[key]
            pieces = _pieces(value) if value != "" else None
            if pieces:
                return pieces
    return []


def _pieces(value: Any) -> list[Piece]:
    if isinstance(value, list):
        return [part_of(value[0])] if len(value) == 1 else [part_of(block) for block in value[:_MAX_PARTS]]
    if isinstance(value, str):
        blocks = blocks_in(value)
        return [part_of(value)] if blocks is None else [part_of(block) for block in blocks[:_MAX_PARTS]]
    return [] if value is None else [part_of(value)]


def blocks_in(text: str) -> list[Any] | None:
    """Give the blocks that were encoded once more as text; ``None`` for other text, and for JSON that a user wrote."""
    if text[:2] != "[{" or not looks_like_json(text):
        return None
    items = parse(text).value
    blocks = [item for item in items if is_object(item)] if isinstance(items, list) else []
    marked = any(block.get("type") in BLOCK_TYPES or "toolUse" in block or "toolResult" in block for block in blocks)
    return blocks if marked and isinstance(items, list) and len(blocks) == len(items) else None


def _calls(raw: dict[str, Any]) -> list[ToolInvocationPart]:
    calls: list[ToolInvocationPart] = []
    for key in ("tool_calls", "toolCalls", "invalid_tool_calls"):
        listed = raw.get(key)
        if isinstance(listed, str):
            listed = parse(listed).value
        if isinstance(listed, list):
            given = (parse(item).value if isinstance(item, str) else item for item in listed[:_MAX_PARTS])
            calls += [tool_call(item) for item in given if is_object(item)]
        if calls:
            return calls
    function = first(raw, ("function_call", "functionCall"))
    if is_object(function) and function.get("name"):
        return [tool_call(function)]
    extra = first(raw, ("additional_kwargs", "additionalKwargs"))
    if not is_object(extra):
        return []
    if is_object(function := extra.get("function_call")):
        return [
            ToolInvocationPart(name=str(function.get("name", "")), arguments=arguments_of(function.get("arguments")))
        ]
    return _calls({"tool_calls": extra["tool_calls"]}) if isinstance(extra.get("tool_calls"), list) else []


def _split(
    role: Role,
    pieces: Sequence[Piece],
    *,
    name: str | None = None,
    finish: str | None = None,
    tag: str | None = None,
    fragment: bool = False,
) -> list[Said]:
    """Tell results from what is said beside them, and mark what stands there without its content."""
    if len(pieces) == 1 and isinstance(only := pieces[0], TextPart) and only.text and role != "tool":
        return [Said(role, (only,), (), name, finish, tag, fragment)]
    results: tuple[ToolResult, ...] = ()
    kept: list[Part] = []
    elided = False
    for piece in pieces:
        if piece is None:
            elided = True
        elif isinstance(piece, ToolResult):
            results = (*results, piece)
        elif piece.type != "text" or piece.text:
            kept.append(piece)
    if name is not None and len(results) == 1 and results[0].name is None and role == "tool":
        results = (results[0]._replace(name=name),)
    said: list[Said] = []
    if results and role != "assistant":
        said.append(Said(role="tool", results=results, name=name))
        if not kept:
            return said
        results = ()
    if role == "tool" and kept:
        role = "user"
    if role == "assistant" and len(kept) > 1:
        kept = _in_order(kept, finish)
    said.append(Said(role, tuple(kept), results, name, finish, tag, fragment, elided))
    return said


def _in_order(parts: list[Part], finish: str | None) -> list[Part]:
    """Give the parts of an answer as they came, where a library lists them by their kind.

    Reasoning leads to what it stands with, and an answer that ends by calling tools has said before what it says.
    """
    calls = [part for part in parts if isinstance(part, ToolInvocationPart)]
    if len(calls) > 1 and None not in (ids := [call.id for call in calls]) and len(set(ids)) < len(ids):
        # The same call stands there as a block and as a call.
        again = {id(call) for place, call in enumerate(calls) if call.id in ids[:place]}
        parts = [part for part in parts if id(part) not in again]
    last = parts[-1]
    if last.type == "reasoning" and not any(part.type == "reasoning" for part in parts[:-1]):
        return [last, *parts[:-1]]
    if last.type == "text" and finish is not None and ("tool" in finish or "function" in finish):
        return [*(part for part in parts if part.type != "tool-invocation"), *calls]
    return parts
