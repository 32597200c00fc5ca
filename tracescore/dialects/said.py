"""A message as a span records it, before results are folded into their calls."""

from __future__ import annotations

from typing import NamedTuple

from tracescore.model import JSONValue, Part, Role, TextPart, ToolInvocationPart


class ToolResult(NamedTuple):
    """What came of a tool call, as a message carries it."""

    id: str | None = None
    name: str | None = None
    value: JSONValue = None
    failed: bool = False
    elided: bool = False
    """True where the message says that there was a result, and not which."""


class Said(NamedTuple):
    """One message: its parts, and the tool results that it carries."""

    role: Role
    parts: tuple[Part, ...] = ()
    results: tuple[ToolResult, ...] = ()
    name: str | None = None
    finish: str | None = None
    tag: str | None = None
    """The origin that a span states for a system message: memory, tools, a processor."""
    fragment: bool = False
    """True for an item that is one part of a turn: the items next to it belong to the same message."""
    elided: bool = False
    """True where a part stands there without its content."""

    @property
    def text(self) -> str:
        """Give the text parts, joined by a newline."""
        parts = self.parts
        if len(parts) == 1:
            only = parts[0]
            return only.text if isinstance(only, TextPart) else ""
        return "\n".join([part.text for part in parts if isinstance(part, TextPart)])

    @property
    def calls(self) -> tuple[ToolInvocationPart, ...]:
        """Give the tool calls that the message asks for."""
        parts = self.parts
        if len(parts) == 1:
            only = parts[0]
            return (only,) if isinstance(only, ToolInvocationPart) else ()
        return tuple([part for part in parts if isinstance(part, ToolInvocationPart)])

    def told(self) -> list[object]:
        """Give what is compared to tell whether the same was said, however it was recorded; nothing of the system."""
        if self.role == "system":
            return []
        calls = [(call.name, call.arguments) for call in self.calls]
        own: list[object] = [(self.role, self.text.strip(), calls)] if self.role != "tool" else []
        return [*own, *(("tool", result.value) for result in self.results)]

    @property
    def captured(self) -> bool:
        """Tell whether anything of the message's content was recorded."""
        return any(
            not isinstance(part, ToolInvocationPart) or part.arguments is not None for part in self.parts
        ) or any(not result.elided for result in self.results)


def join_fragments(messages: list[Said]) -> list[Said]:
    """Unite neighbouring fragments of one role into one message."""
    if len(messages) < 2 or True not in [message.fragment for message in messages]:
        return messages
    turns: list[list[Said]] = []
    for message in messages:
        last = turns[-1][-1] if turns else None
        if last is not None and last.fragment and message.fragment and last.role == message.role:
            turns[-1].append(message)
        else:
            turns.append([message])
    return [turn[0] if len(turn) == 1 else _united(turn) for turn in turns]


def _united(turn: list[Said]) -> Said:
    return turn[0]._replace(
        parts=tuple(part for message in turn for part in message.parts),
        results=tuple(result for message in turn for result in message.results),
        finish=next((message.finish for message in reversed(turn) if message.finish), None),
        elided=any(message.elided for message in turn),
    )
