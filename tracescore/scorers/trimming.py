"""Rules that look inside messages: parts that go, tool results that are left out, texts that are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tracescore.model import Message, Part, ReasoningPart, TextPart, ToolInvocationPart
from tracescore.scorers.token_counts import as_text

RESULT_LEFT_OUT = "[result left out]"
"""Stands for a tool's result: a judge that saw none would take the tool for one that gave nothing."""


def with_parts(message: Message, edit: Callable[[Part], Part | None]) -> Message | None:
    """Give a message with its parts edited, None where none of them is left; the same object if nothing changed."""
    after = [edit(part) for part in message.parts]
    if all(one is other for one, other in zip(message.parts, after, strict=True)):
        return message
    parts = tuple(part for part in after if part is not None)
    return replace(message, parts=parts) if parts else None


def kept_part(part: Part, *, keep: tuple[str, ...] | None, drop: tuple[str, ...] | None) -> Part | None:
    """Give the part if its type is to be kept, by the beginnings of types."""
    if (keep is not None and not part.type.startswith(keep)) or (drop is not None and part.type.startswith(drop)):
        return None
    return part


def without_result(part: Part) -> Part:
    """Leave out a tool call's result; what the tool raised stays, since it says that the call failed."""
    if isinstance(part, ToolInvocationPart) and part.result is not None and part.result != RESULT_LEFT_OUT:
        return replace(part, result=RESULT_LEFT_OUT)
    return part


def shorter_result(part: Part, *, limit: int) -> Part:
    """Cut a tool call's result; one that is not text becomes the beginning of its JSON."""
    if not isinstance(part, ToolInvocationPart) or part.result is None or part.result == RESULT_LEFT_OUT:
        return part
    text = as_text(part.result)
    return part if len(text) <= limit else replace(part, result=shortened(text, limit))


def shorter_text(part: Part, *, limit: int) -> Part | None:
    """Cut a text or reasoning part; at no characters at all it goes."""
    if not isinstance(part, (TextPart, ReasoningPart)) or len(part.text) <= limit:
        return part
    return replace(part, text=shortened(part.text, limit)) if limit else None


def shortened(text: str, limit: int) -> str:
    """Give the beginning of a text and say how much is missing, within the limit where it leaves room for that."""
    note = f" [... {len(text)} characters in all]"
    return text[: limit - len(note)] + note if len(note) < limit else text[:limit]
