"""Texts with markers in the place of what must not pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Protocol

from tracescore.errors import RedactionError
from tracescore.model import (
    AgentInput,
    DataPart,
    ErrorPart,
    Messages,
    ReasoningPart,
    ScorerRun,
    TextPart,
    ToolInvocationPart,
)
from tracescore.redaction.rules import is_placeholder
from tracescore.redaction.sweep import DoorRules

_NUMBERED = re.compile(r"\[([a-z][a-z0-9_]{0,31}):(\d{1,6})\]")
_DEPTH = 100

MarkerOf = Callable[[str, str], str]
"""Gives the marker of a kind and a value."""


class TextRedactor(Protocol):
    """Give a text with markers in the place of what must not pass."""

    def redact(self, text: str, /) -> str:
        """Give the text that may pass.

        Raises:
            RedactionError: a rule raised; the text must not be used at all.
        """
        ...


def redacted(text: str, rules: DoorRules, marker_of: MarkerOf) -> str:
    """Give a text with every match replaced, rule by rule; the same object where there is none."""
    encoded = text.encode("utf-8", "replace")
    if rules.passes(encoded):
        return text
    for finder in rules.within(encoded):
        pieces: list[str] = []
        end = 0
        try:
            for start, stop in finder.find(text):
                pieces += (text[end:start], marker_of(finder.kind, text[start:stop]))
                end = stop
        except Exception as error:  # noqa: BLE001 - a user's rule may raise anything, and may name the text in it
            raise RedactionError(f"redaction rule {finder.kind!r} raised {type(error).__name__}") from None
        if pieces:
            text = "".join((*pieces, text[end:]))
    return text


def redacted_json(value: Any, rules: DoorRules, marker_of: MarkerOf, *, name: str = "", depth: int = 0) -> Any:
    """Give a JSON value with its texts redacted, keys too; the same object where nothing was."""
    if isinstance(value, str):
        if name and (kind := rules.kind_named(name)) is not None and not is_placeholder(value):
            return marker_of(kind, value)
        return redacted(value, rules, marker_of)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if depth > _DEPTH:
        raise RedactionError(f"what is to be redacted is nested deeper than {_DEPTH} levels")
    if isinstance(value, Mapping):
        made = {
            redacted(key, rules, marker_of) if isinstance(key, str) else key: redacted_json(
                item, rules, marker_of, name=str(key), depth=depth + 1
            )
            for key, item in value.items()
        }
        same = len(made) == len(value) and all(made.get(key, made) is item for key, item in value.items())
        return value if same else made
    items = [redacted_json(item, rules, marker_of, name=name, depth=depth + 1) for item in value]
    if all(one is other for one, other in zip(items, value, strict=True)):
        return value
    return tuple(items) if isinstance(value, tuple) else items


def hashed_marker(salt: bytes) -> MarkerOf:
    """Give markers that are made of the value: the same at every server and in any order of arrival.

    16 bits of a hash that the salt makes another in each trace: enough to tell a trace's secrets apart, too few to
    find one again.
    """

    def marker(kind: str, value: str) -> str:
        digest = blake2b(value.encode("utf-8", "replace"), key=salt[:64], digest_size=2).hexdigest()
        return f"[{kind}:{digest}]"

    return marker


class Hashed:
    """Redact with markers made of the values."""

    def __init__(self, rules: DoorRules, salt: str) -> None:
        self._rules = rules
        self._marker = hashed_marker(salt.encode())

    def redact(self, text: str, /) -> str:
        """Give the text that may pass."""
        return redacted(text, self._rules, self._marker)

    def redact_json(self, value: Any, /) -> Any:
        """Give the JSON value that may pass."""
        return redacted_json(value, self._rules, self._marker)


class Numbered:
    """Redact with markers that count: the first e-mail address is ``[email:1]``."""

    def __init__(self, rules: DoorRules, run: ScorerRun[Any, Any] | None = None) -> None:
        self._rules = rules
        self._run = run
        self._numbers: dict[tuple[str, str], int] = {}
        self._last: dict[str, int] = {}

    def redact(self, text: str, /) -> str:
        """Give the text that may pass."""
        if "[" in text:  # a judge's reason names markers of the judge's door: new ones must not be taken for them
            for kind, number in _NUMBERED.findall(text):
                self._last[kind] = max(self._last.get(kind, 0), int(number))
        return redacted(text, self._rules, self._marker)

    def _marker(self, kind: str, value: str) -> str:
        if (kind, value) not in self._numbers and self._run is not None:
            run, self._run = self._run, None  # read once, and only where something is found at all
            for text in texts_of(run):
                redacted(text, self._rules, self._number)
        return self._number(kind, value)

    def _number(self, kind: str, value: str) -> str:
        number = self._numbers.get((kind, value))
        if number is None:
            number = self._last[kind] = self._last.get(kind, 0) + 1
            self._numbers[kind, value] = number
        return f"[{kind}:{number}]"


def texts_of(run: ScorerRun[Any, Any]) -> Iterator[str]:
    """Give a run's texts in the order in which it was made: input, what came before, system, output, the rest."""
    given: list[Any] = [run.input]
    if isinstance(run.input, AgentInput):
        tagged = run.input.tagged_system_messages.values()
        given = [run.input.input_messages, run.input.remembered_messages, run.input.system_messages, *tagged]
    for value in (*given, run.output, run.ground_truth, run.request_context, run.additional_context, run.metadata):
        yield from _texts(value)
    for document in run.contexts:
        yield document.text
    yield run.error or ""


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Messages):
        for message in value:
            for part in message.parts:
                match part:
                    case TextPart() | ReasoningPart():
                        yield part.text
                    case ToolInvocationPart():
                        yield from _texts([part.arguments, part.result, part.error])
                    case DataPart():
                        yield from _texts(part.data)
                    case ErrorPart():
                        yield part.message
                    case _:
                        pass
    elif isinstance(value, (Mapping, list, tuple)) and depth < _DEPTH:
        for item in value.items() if isinstance(value, Mapping) else value:
            yield from _texts(item, depth + 1)
