"""What other invocations of a trace said: their messages in a common history are not this agent's own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from tracescore.dialects import Said
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.transfers import names_fit, target_of, transfers

Key: TypeAlias = tuple[str, ...]

_QUOTE = re.compile(r"^\[[^\]\n]{1,200}\] (said:|called tool `|`[^`\n]{1,200}` tool returned)", re.MULTILINE)
_PREAMBLE = "For context:"
_MAX_SKIPS = 1_000


@dataclass(slots=True)
class Elsewhere:
    """What every model call of a trace said, in the order of time."""

    times: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    places: dict[Key, list[int]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def seen_by(self, invocation: Invocation, before_ns: int) -> Others:
        """Give what others had said when an invocation first asked its model."""
        return Others(elsewhere=self, owner=id(invocation), before_ns=before_ns, own_name=invocation.name)


@dataclass(slots=True)
class Others:
    """What others had said, each message to be found once and in its order."""

    elsewhere: Elsewhere
    owner: int
    before_ns: int
    own_name: str | None
    last: int = -1

    def afresh(self) -> Others:
        """Give the same to be asked anew, nothing of it found yet by the one that is returned."""
        return Others(self.elsewhere, self.owner, self.before_ns, self.own_name, self.last)

    def said(self, said: Said, *, keep: bool = False) -> bool:
        """Tell whether another invocation said this; ``keep`` leaves it to be found again.

        A call that hands over to this very agent is another's, also where that one's own answers were not recorded.
        """
        if self.own_name is not None and _hands_over_to(self.own_name, said):
            return True
        for key in [*keys_of(said), *_transfer_keys(said)] if self.elsewhere.places else ():
            place = self._find(key)
            if place is not None:
                if not keep:
                    self.last = place
                return True
        return False

    def _find(self, key: Key) -> int | None:
        places = self.elsewhere.places.get(key, [])
        start = bisect_right(places, self.last)
        for place in places[start : start + _MAX_SKIPS]:
            if self.elsewhere.times[place] >= self.before_ns:
                return None
            if self.elsewhere.owners[place] != self.owner:
                return place
        return None

    def quoted(self, said: Said) -> bool:
        """Tell a user message that quotes another agent: by its form, or by the name of its author."""
        if said.name is not None and said.name != self.own_name and said.name in self.elsewhere.names:
            return True
        text = said.text
        return text.startswith(_PREAMBLE) and _QUOTE.search(text) is not None


def _hands_over_to(name: str, said: Said) -> bool:
    targets = [target_of(call.name, call.arguments) for call in said.calls if transfers(call.name)]
    return bool(targets) and all(target is not None and names_fit(target, name) for target in targets)


def listen(invocations: Sequence[Invocation]) -> Elsewhere:
    """Collect what the model calls of all invocations said; nothing where there is but one."""
    names = frozenset(name for found in invocations if (name := found.name) is not None)
    elsewhere = Elsewhere(names=names)
    if len(invocations) < 2:
        return elsewhere
    spoken = [(call.turn, id(found), call) for found in invocations for call in found.calls]
    spoken.sort(key=lambda item: item[0])
    for (start_ns, *_), owner, call in spoken:
        for said in call.reading.output.said() if call.reading.output else ():
            # A history may part what was one message: its text, then its calls.
            for key in [*(_text_key(said) if said.calls else ()), *keys_of(said), *_transfer_keys(said)]:
                elsewhere.places.setdefault(key, []).append(len(elsewhere.times))
                elsewhere.times.append(start_ns)
                elsewhere.owners.append(owner)
    return elsewhere


def keys_of(said: Said) -> list[Key]:
    """Give what tells a message: its tool calls, or, having none, its text."""
    calls = said.calls
    if calls:
        return [
            ("call", call.id, call.name) if call.id is not None else ("call", "", call.name, _encoded(call.arguments))
            for call in calls
        ]
    return _text_key(said)


def _transfer_keys(said: Said) -> list[Key]:
    """Give what tells a hand-over, which a history may repeat under another id."""
    return [("transfer", call.name) for call in said.calls if transfers(call.name)]


def _text_key(said: Said) -> list[Key]:
    text = said.text.strip()
    return [("text", text)] if text else []


def _encoded(value: object) -> str:
    return orjson.dumps(value, default=repr, option=orjson.OPT_SORT_KEYS).decode()
