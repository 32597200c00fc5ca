"""Messages spread over numbered attributes: ``prefix.0.message.role``, ``prefix.0.message.content`` and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tracescore.dialects.content import NATIVE, Content
from tracescore.dialects.decode_json import clean, parse
from tracescore.dialects.decode_message import ROLES, blocks_in
from tracescore.dialects.decode_parts import Piece, part_of
from tracescore.dialects.decode_repr import python_value
from tracescore.dialects.decode_tools import (
    arguments_of,
    is_elided,
    is_object,
    result_value,
    text_or_none,
    tool_call,
    tool_result,
)
from tracescore.dialects.results import returned_values
from tracescore.dialects.said import Said, ToolResult
from tracescore.model import JSONValue, MediaPart, Part, ReasoningPart, Role, TextPart, ToolInvocationPart

_MAX_DIGITS = 6
"""Of an index: a larger one is an attack, and no list that long is ever read."""

_CONTENTS = "message.contents."
_CALLS = "message.tool_calls."
_INSIDE = (_CONTENTS, _CALLS)
_PLAIN = frozenset({"message.role", "message.content"})
"""What most messages are no more than."""

_CALLING, _OBSERVED = "tool-call", "tool-response"
"""Roles of messages that tell in words of calls and of what came of them."""
_TOLD_CALLS = "told.calls"
_EMPTY = (TextPart(text=""), ReasoningPart(text=""))
"""Blocks that streaming opened and never filled."""

_SAYS = ("text", "reasoning", "thinking", None)
"""The kinds of blocks whose text was said."""

Group: TypeAlias = dict[int, dict[str, JSONValue]]
"""Attributes by their number, then by the rest of their name."""


def numbered(attributes: Mapping[str, JSONValue], prefixes: Iterable[str]) -> dict[str, Group]:
    """Group the attributes below each prefix by their number, in order; gaps stay gaps."""
    groups: dict[str, Group] = {prefix: {} for prefix in prefixes}
    starts = tuple(groups)
    for key, value in attributes.items():
        if not key.startswith(starts):
            continue
        for prefix in starts:
            if key.startswith(prefix):
                digits, _, rest = key[len(prefix) :].partition(".")
                if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
                    groups[prefix].setdefault(int(digits), {})[rest] = value
                break
    return {prefix: dict(sorted(group.items())) for prefix, group in groups.items() if group}


def flattened_messages(group: Group, *, role: Role, tail_lost: bool = False, gemini: bool = False) -> Content | None:
    """Make numbered messages a content; ``None`` where no message says anything."""
    if not any(any(key != "message.role" for key in fields) for fields in group.values()):
        return None
    return Content(
        role=role,
        rank=NATIVE,
        elements=_with_told_calls(group),
        decode=returned_values(_said_of) if gemini else _said_of,
        tail_lost=tail_lost,
    )


def _said_of(raw: Any, role: Role) -> list[Said]:
    fields: dict[str, JSONValue] = raw
    stated = fields.get("message.role")
    found = ROLES.get(stated) or ROLES.get(stated.lower()) if isinstance(stated, str) else None
    speaker = found or role
    name = text_or_none(fields.get("message.name"))
    inside = {} if fields.keys() <= _PLAIN else numbered(fields, _INSIDE)
    given: list[ToolResult] = []
    parts, elided = _parts(fields, inside.get(_CONTENTS, {}), given)
    if stated == _CALLING:
        return [Said(role="assistant", parts=tuple(_told_calls(parts)))]
    if stated == _OBSERVED:
        return [Said(role="tool", results=tuple(_told_results(fields, parts)))]
    if speaker == "tool":
        return [Said(role="tool", results=tuple(_results(fields, parts, name)), name=name, elided=elided)]
    parts += _calls(fields, inside.get(_CALLS, {}), parts)
    return [Said(role=speaker, parts=tuple(parts), results=tuple(given), name=name, elided=elided)]


def _parts(
    fields: dict[str, JSONValue], blocks: Group, given: list[ToolResult] | None = None
) -> tuple[list[Part], bool]:
    """Read the parts, and whether one was left out; what a provider's own tools gave is added to ``given``."""
    parts: list[Part] = []
    elided = False
    content = fields.get("message.content")
    if isinstance(content, str) and content:
        if is_elided(content):
            elided = True
        elif fields.get("message.role") != "tool" and (spelled := blocks_in(content)) is not None:
            read = [part_of(block) for block in spelled]
            parts += [part for part in read if part is not None and not isinstance(part, ToolResult)]
        else:
            parts.append(TextPart(text=clean(content)))
    elif content is not None and content != "":
        piece = part_of(content)
        if piece is not None and not isinstance(piece, ToolResult):
            parts.append(piece)
    whole = tuple(parts)
    for block in blocks.values():
        part = _block(block)
        if isinstance(part, ToolResult):
            if given is not None:
                given.append(part)
        elif part is None:
            elided = True
        elif part not in whole and part not in _EMPTY:  # the same text stands in content and in its only block
            parts.append(part)
    reasoning = fields.get("message.reasoning_content")
    if isinstance(reasoning, str) and reasoning and not any(isinstance(part, ReasoningPart) for part in parts):
        parts.insert(0, ReasoningPart(text=clean(reasoning)))
    return parts, elided


def _block(block: dict[str, JSONValue]) -> Piece:
    kind = block.get("message_content.type")
    text = block.get("message_content.text")
    call = _call(block, "tool_call.") or _call(block, "message_content.tool_call.")
    if call is not None:
        return call
    if isinstance(text, str):
        if is_elided(text):
            return None
        if kind not in _SAYS and text.startswith('{"') and is_object(spelled := parse(text).value):
            return part_of(spelled)  # a block of another kind is spelled out
        return ReasoningPart(text=clean(text)) if kind in ("reasoning", "thinking") else TextPart(text=clean(text))
    for form in ("image", "audio", "file"):
        url = block.get(f"message_content.{form}.{form}.url")
        if isinstance(url, str) and not is_elided(url):
            piece = part_of(
                {"type": form, "url": url, "mime_type": block.get(f"message_content.{form}.{form}.mime_type")}
            )
            return piece if isinstance(piece, MediaPart) else None
    return None


def _calls(fields: dict[str, JSONValue], listed: Group, parts: list[Part]) -> list[ToolInvocationPart]:
    known = {(part.id, part.name) for part in parts if isinstance(part, ToolInvocationPart)}
    calls: list[ToolInvocationPart] = []
    for group in listed.values():
        call = _call(group, "tool_call.")
        if call is not None and (call.id, call.name) not in known:
            calls.append(call)
    function = text_or_none(fields.get("message.function_call_name"))
    if function is not None and not calls and (None, function) not in known:
        calls.append(
            ToolInvocationPart(
                name=function, arguments=arguments_of(fields.get("message.function_call_arguments_json"))
            )
        )
    return calls


def _call(group: dict[str, JSONValue], prefix: str) -> ToolInvocationPart | None:
    name = text_or_none(group.get(f"{prefix}function.name"))
    call_id = text_or_none(group.get(f"{prefix}id"))
    if name is None and call_id is None:
        return None
    return ToolInvocationPart(
        id=call_id, name=name or "", arguments=arguments_of(group.get(f"{prefix}function.arguments"))
    )


def _of_blocks(text: str) -> JSONValue:
    """Read a result out of blocks, or of an output's type and value, that were encoded once more."""
    blocks = parse(text).value if text.startswith("[{") and '"text"' in text else None
    whole = isinstance(blocks, list) and all(is_object(one) and one.get("type") == "text" for one in blocks)
    return result_value(blocks if whole else text)[0]


def _results(fields: dict[str, JSONValue], parts: list[Part], name: str | None) -> list[ToolResult]:
    listed = [value for key, value in sorted(fields.items()) if key.startswith("function.")]
    results = [tool_result(value) for item in listed if is_object(value := parse(item).value)]
    if results:
        return results
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    blocks = numbered(fields, ("message.contents.",)).get("message.contents.", {})
    answered = [text_or_none(block.get("message.tool_call_id")) for block in blocks.values()]
    if len(answered) > 1 and None not in answered and len(answered) == len(texts):
        return [ToolResult(id=one, value=text) for one, text in zip(answered, texts, strict=True)]
    call_id = text_or_none(fields.get("message.tool_call_id")) or next(iter(answered), None)
    name = name or text_or_none(fields.get("message.function_call_name"))
    value: JSONValue = _of_blocks("\n".join(texts)) if texts else None
    if value is None and fields.get("message.content") == "":
        value = ""
    return [ToolResult(id=call_id, name=name, value=value, elided=value is None)]


def _with_told_calls(group: Group) -> dict[int, Any]:
    """Write beside each observation which calls it tells of: those of the message before it."""
    elements: dict[int, Any] = dict(group)
    calls: list[ToolInvocationPart] = []
    for number, fields in group.items():
        stated = fields.get("message.role")
        if stated == _CALLING:
            calls = _told_calls(_parts(fields, numbered(fields, _INSIDE).get(_CONTENTS, {}))[0])
        elif stated == _OBSERVED:
            elements[number] = {**fields, _TOLD_CALLS: [call.id for call in calls]}
            calls = []
    return elements


def _told_calls(parts: list[Part]) -> list[ToolInvocationPart]:
    """Read calls out of the words that a framework gives its model: a line, then the text of a Python list.

    A call of code is what the message before it holds already.
    """
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    listed = python_value(texts[0].partition("\n")[2]) if texts else None
    found = [tool_call(item) for item in listed if is_object(item)] if isinstance(listed, list) else []
    return [call for call in found if not isinstance(call.arguments, str)]


def _told_results(fields: dict[str, JSONValue], parts: list[Part]) -> list[ToolResult]:
    """Read what came of calls: one observation tells of all calls of a step, and which part is whose is not told."""
    listed = fields.get(_TOLD_CALLS)
    ids = listed if isinstance(listed, list) else []
    if len(ids) != 1:
        return [ToolResult(id=text_or_none(one), elided=True) for one in ids]
    head, _, rest = "\n".join(part.text for part in parts if isinstance(part, TextPart)).partition("\n")
    return [ToolResult(id=text_or_none(ids[0]), value=rest, failed=head.startswith("Error"))]
