"""What a span records as said, decoded only as far as it is asked for.

A trace repeats its history in every call: what a call shares with an earlier one is compared raw, never decoded again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from tracescore.dialects.decode_json import clean, parse
from tracescore.dialects.decode_message import ROLES, said_of
from tracescore.dialects.said import Said, join_fragments
from tracescore.dialects.unwrap import Found, find_messages
from tracescore.model import DataPart, JSONValue, Role, TextPart

Decoder: TypeAlias = Callable[[Any, Role], list[Said]]
ContentKind: TypeAlias = Literal["messages", "text", "value", "nothing"]

NATIVE = 3
"""Rank of attributes that are made for messages."""
_ENDS_CALLING = re.compile(r'"finish_reason": ?"tool_?(call|calls|use)"')
_ENDING = 80
"""Characters at the end of recorded messages that say why the last of them ended."""
_HOLLOW = 256
"""A list of messages that says nothing is shorter than this."""
DERIVED = 2
"""Rank of messages found in a value that may hold anything."""

_TURNS = 4
"""Dialects that may take turns in one conversation."""


class Content:
    """Messages, or whatever else a span records as input or output.

    Built from raw elements by position, or from a value that is looked into when first asked.
    """

    __slots__ = (
        "_continued",
        "_decode",
        "_elements",
        "_first",
        "_kind",
        "_role",
        "_said",
        "_text",
        "_told",
        "_value",
        "alternatives",
        "rank",
        "tail_lost",
    )

    def __init__(
        self,
        value: Any = None,
        *,
        role: Role,
        rank: int = NATIVE,
        elements: dict[int, Any] | None = None,
        decode: Decoder = said_of,
        tail_lost: bool = False,
        plain: bool = False,
    ) -> None:
        self._value = value
        self._text = value if isinstance(value, str) else None
        """The raw text, for comparing."""
        self._role: Role = role
        self._elements = elements
        self._decode = decode
        self._said: tuple[Said, ...] | None = None
        self._told: list[tuple[object, int]] | None = None
        """What was said, for comparing, each with its message's place."""
        self._continued: Content | None = None
        """The content that this one was found to continue."""
        self._first: list[object] | None = None
        """What was said first, for comparing."""
        self._kind: ContentKind | None = None if elements is None else "messages"
        if plain and isinstance(value, str):
            self._kind, rank = "text" if value else "nothing", 1
        self.rank = rank
        self.tail_lost = tail_lost
        self.alternatives = False

    @property
    def kind(self) -> ContentKind:
        """Tell what the content is."""
        if self._kind is None:
            self._look()
        assert self._kind is not None
        return self._kind

    @property
    def truncated(self) -> bool:
        """Tell whether what was said last is cut off; text that ends as JSON ends is not looked into for this."""
        if self._kind is None and self._text is not None and not _ends_as_it_began(self._text):
            self._look()
        return self.tail_lost

    @property
    def value(self) -> JSONValue:
        """Give the decoded value of content that is no list of messages, or the text."""
        _ = self.kind
        return self._value

    @property
    def size(self) -> int:
        """Tell how much is recorded, without decoding it; only to be compared with the like."""
        if self._text is not None:
            return len(self._text)
        held = self._elements if self._elements is not None else self._value
        return len(held) if isinstance(held, dict | list) else 0

    @property
    def lacks_calls(self) -> bool:
        """Tell messages that end by calling tools and show no call, without decoding them."""
        text = self._text
        return text is not None and _ENDS_CALLING.search(text[-_ENDING:]) is not None and '"arguments"' not in text

    @property
    def hollow(self) -> bool:
        """Tell a list of messages of which none says anything; a long one is not looked into for this."""
        if self._text is not None and len(self._text) > _HOLLOW:
            return False
        return (
            self.kind == "messages"
            and len(self._raw()) == 1
            and not any(said.parts or said.results for said in self.said())
        )

    def __bool__(self) -> bool:
        if self._elements is not None:
            return bool(self._elements)
        value = self._value
        if self._kind is None and isinstance(value, str):
            # Most are messages as JSON, and asked several times.
            return value[:2] == "[{" or value.strip() not in ("", "[]", "{}", "null", '""')
        return value is not None and value not in ("", [], {})

    def said(self) -> tuple[Said, ...]:
        """Decode all messages; other content is one message."""
        if self._said is None:
            self._said = tuple(self._decoded(self._raw().values()))
        return self._said

    def after(self, earlier: Content, answer: Content | None = None) -> tuple[Said, ...] | None:
        """Decode what stands behind an earlier content that this one continues; ``None`` where it does not.

        ``answer`` is what was answered to the earlier one. A system message may differ: some agents write theirs anew
        for each call.
        """
        added = self._after(earlier, answer)
        if added is not None:
            self._continued = earlier
        return added

    def _after(self, earlier: Content, answer: Content | None) -> tuple[Said, ...] | None:
        rest = _raw_rest(self._text, earlier._text)
        if rest is not None:
            known: tuple[Said, ...] = ()
            if answer is not None and (further := _raw_rest(rest, answer._text)) is not None:
                known = answer._whoever_said(self._decode)
                rest = further if known else rest
            behind = Content(rest, role=self._role, decode=self._decode)
            said = behind.said()
            self.tail_lost = self.tail_lost or behind.tail_lost
            return (*known, *said)
        if self.kind != "messages" or earlier.kind != "messages":
            return None
        added = self._raw_after(earlier)
        return added if added is not None else self._said_after(earlier)

    def _whoever_said(self, decode: Decoder) -> tuple[Said, ...]:
        """Give what was decoded, where a history that repeats it word for word would give the same."""
        if self._said and self._decode is decode and not self._said[-1].fragment:
            raws = list(self._raw().values())
            if raws == self._value and all(_states_role(raw) for raw in raws):
                return self._said
        return ()

    def _raw_after(self, earlier: Content) -> tuple[Said, ...] | None:
        mine, theirs = self._raw(), earlier._raw()
        last = next(reversed(theirs), None)
        if last is None or last not in mine:
            return None
        for position, value in theirs.items():
            if position in mine and mine[position] != value and not self._is_system(mine[position], value):
                return None
        return tuple(self._decoded(value for position, value in mine.items() if position > last))

    def _said_after(self, earlier: Content) -> tuple[Said, ...] | None:
        """Compare by what was said: the next call may be recorded in another dialect, or with other marks."""
        if self._opening() != earlier._opening():
            return None
        self._take_decoded(earlier)
        mine, theirs = self._all_told(), earlier._all_told()
        if len(theirs) > len(mine) or [what for what, _ in mine[: len(theirs)]] != [what for what, _ in theirs]:
            return None
        behind = mine[len(theirs)][1] if len(mine) > len(theirs) else len(self.said())
        return self.said()[behind:]

    def _all_told(self) -> list[tuple[object, int]]:
        if self._told is None:
            self._told = _told(self.said(), 0)
        return self._told

    def _take_decoded(self, earlier: Content) -> None:
        """Take what a call further back decoded of the same raw messages, where calls of two dialects take turns."""
        found = earlier
        for _ in range(_TURNS):
            if self._said is not None or found._continued is None:
                return
            found = found._continued
            known = found._said
            if not known or found._decode is not self._decode or found._role != self._role or known[-1].fragment:
                continue
            mine, theirs = list(self._raw().items()), list(found._raw().items())
            if mine[: len(theirs)] == theirs:
                added = self._decoded(value for _, value in mine[len(theirs) :])
                self._said = (*known, *added)
                self._told = found._all_told() + _told(added, len(known))

    def _opening(self) -> list[object]:
        if self._first is None:
            told = (said.told() for raw in self._raw().values() for said in self._decode(raw, self._role))
            self._first = next((what[:1] for what in told if what), [])
        return self._first

    def _is_system(self, *raws: Any) -> bool:
        return all(said.role == "system" for raw in raws for said in self._decode(raw, self._role))

    def _decoded(self, raws: Iterable[Any]) -> list[Said]:
        kind = self._kind or self.kind
        if kind == "nothing":
            return []
        if kind != "messages":
            part = TextPart(text=self._value) if isinstance(self._value, str) else DataPart(data=self._value)
            return [Said(role=self._role, parts=(part,))]
        decode, role = self._decode, self._role
        said: list[Said] = []
        for raw in raws:
            said += decode(raw, role)
        return join_fragments(said)

    def _raw(self) -> dict[int, Any]:
        if self._elements is None and self._kind is None:
            self._look()
        return self._elements if self._elements is not None else {}

    def _look(self) -> None:
        parsed = parse(self._value)
        value = parsed.value
        if parsed.truncated:
            self.tail_lost = True
        found = find_messages(value, self._role)
        if found is None and self.rank == NATIVE and isinstance(value, list) and value:
            found = Found(value)
        if found is not None:
            self._kind = "messages"
            self._elements = dict(enumerate(found.elements))
            self.alternatives = found.alternatives
            self._value = value
        elif value is None or value in ("", [], {}):
            self._kind = "nothing"
        elif isinstance(value, str):
            self._kind = "text"
            self._value = clean(value)
            self.rank = min(self.rank, 1)
        else:
            self._kind = "value"
            self._value = value
            self.rank = min(self.rank, 1)


def _told(said: Iterable[Said], start: int) -> list[tuple[object, int]]:
    return [(what, place) for place, message in enumerate(said, start) for what in message.told()]


def _states_role(raw: Any) -> bool:
    role = raw.get("role") if isinstance(raw, dict) else None
    return isinstance(role, str) and role in ROLES


def _ends_as_it_began(text: str) -> bool:
    start, end = text[:64].lstrip()[:1], text[-64:].rstrip()[-1:]
    return {"[": "]", "{": "}"}.get(start, end) == end


def _raw_rest(later: str | None, earlier: str | None) -> str | None:
    """Give the JSON list of what one list of messages appends to another, told by their text alone."""
    if later is None or earlier is None:
        return None
    head = earlier.rstrip()
    if not head.startswith("[{") or not head.endswith("}]"):
        return None
    head = head[:-1]
    if not later.startswith(head):
        return None
    rest = later[len(head) :].lstrip()
    if rest.startswith(","):
        return "[" + rest[1:]
    return "[]" if rest.rstrip() == "]" else None
