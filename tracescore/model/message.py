"""Messages and their parts: the one form that every dialect is read into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args, overload

from tracescore.arguments import TEXT, check, one_of

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """Plain text."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningPart:
    """What a model thought before it answered; never part of a message's text."""

    text: str
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One call of a tool, with what came of it.

    ``arguments`` is a dict where they are a JSON object, the raw value otherwise, and ``None`` where no span records
    them. ``result`` is what the model was given, ``error`` what the tool raised. ``duration_ms`` is in milliseconds.
    """

    name: str
    id: str | None = None
    arguments: JSONValue = None
    result: JSONValue = None
    error: str | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolInvocationPart(ToolCall):
    """A tool call as a part of the assistant message that asked for it."""

    type: Literal["tool-invocation"] = "tool-invocation"


@dataclass(frozen=True, kw_only=True, slots=True)
class MediaPart:
    """An image, a file or a piece of audio, by reference.

    ``url`` is a URL (base64 content stays a ``data:`` URL), ``file_id`` a provider's id, ``media_type`` an IANA type.
    """

    type: Literal["image", "file", "audio"]
    media_type: str | None = None
    url: str | None = None
    file_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DataPart:
    """A structured object: a structured final output, or a part of a kind that has no other form."""

    data: JSONValue
    type: Literal["data"] = "data"


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPart:
    """An error that stands in a message."""

    message: str
    type: Literal["error"] = "error"


Part: TypeAlias = TextPart | ReasoningPart | ToolInvocationPart | MediaPart | DataPart | ErrorPart

PART_TYPES: tuple[str, ...] = ("text", "reasoning", "tool-invocation", "image", "file", "audio", "data", "error")


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What one role said, part by part, in order."""

    role: Role
    parts: tuple[Part, ...] = ()

    @property
    def content(self) -> str:
        """Give the message's text parts, joined by a newline."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def text(self) -> str:
        """Give the same as ``content``."""
        return self.content

    @property
    def tool_calls(self) -> tuple[ToolInvocationPart, ...]:
        """Give the message's tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolInvocationPart))


class Messages(Sequence[Message]):
    """An immutable sequence of messages with the views that scorers ask for.

    ``.text`` is the text of the last assistant message that has any, else ``""``; ``.tool_calls`` are all tool calls
    in order.
    """

    __slots__ = ("_messages",)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: int | slice) -> Message | Messages:
        if isinstance(index, slice):
            return type(self)(self._messages[index])
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)  # Sequence's own goes through __getitem__, at five times the cost

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages):
            return self._messages == other._messages
        if isinstance(other, (list, tuple)):
            return list(self._messages) == list(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._messages)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._messages)!r})"

    @property
    def text(self) -> str:
        """Give the text of the last assistant message that has any."""
        for message in reversed(self._messages):
            if message.role == "assistant" and message.content:
                return message.content
        return ""

    @property
    def tool_calls(self) -> tuple[ToolInvocationPart, ...]:
        """Give every tool call of every message, in order."""
        return tuple(call for message in self._messages for call in message.tool_calls)


_TEXT_MESSAGE = {"role": one_of(*get_args(Role)), "text": TEXT}


def text_message(role: Role, text: str) -> Message:
    """Build a message of one text part.

    Raises:
        ConfigurationError: an unknown role, or what is no text.
    """
    if role not in _TEXT_MESSAGE["role"].known or not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        check("text_message", _TEXT_MESSAGE, {"role": role, "text": text})
    return Message(role=role, parts=(TextPart(text=text),))


def to_messages(value: Any, *, role: Role) -> Messages:
    """Read what a caller hands in as messages: text, one message or a sequence of them."""
    if isinstance(value, Messages):
        return value
    if isinstance(value, str):
        return Messages([text_message(role, value)])
    if isinstance(value, Message):
        return Messages([value])
    items = list(value)
    for item in items:
        if not isinstance(item, Message):
            raise TypeError(f"expected a Message, not {type(item).__name__}: {item!r:.80}")
    return Messages(items)
