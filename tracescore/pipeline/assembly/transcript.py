"""Messages being put together: tool results fold into their calls, and no tool message remains."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tracescore.dialects import Said, ToolResult
from tracescore.model import JSONValue, Message, Messages, Part, Role, TextPart, ToolInvocationPart
from tracescore.pipeline.assembly.tree import Node


@dataclass(slots=True, eq=False)
class Slot:
    """One tool call, while it is still being found out what came of it."""

    name: str
    id: str | None = None
    arguments: JSONValue = None
    result: JSONValue = None
    error: str | None = None
    duration_ms: float | None = None
    answered: bool = False
    """True where a message says that there was a result, known or not."""
    execution: Node | None = None
    raised: bool = False
    """True where the error is what the execution raised."""
    asked_by: str | None = None
    """The span that shows the call."""

    def part(self) -> ToolInvocationPart:
        """Give the finished part."""
        return ToolInvocationPart(
            id=self.id,
            name=self.name,
            arguments=self.arguments,
            result=self.result,
            error=self.error,
            duration_ms=self.duration_ms,
        )


Piece: TypeAlias = Part | Slot


@dataclass(slots=True, eq=False)
class Entry:
    """One message in the making."""

    role: Role
    pieces: list[Piece] = field(default_factory=list)
    span_id: str | None = None

    @property
    def slots(self) -> list[Slot]:
        """Give the tool calls of the message."""
        pieces = self.pieces
        if len(pieces) == 1:
            only = pieces[0]
            return [only] if isinstance(only, Slot) else []
        return [piece for piece in pieces if isinstance(piece, Slot)]

    @property
    def text(self) -> str:
        """Give its text parts, joined by a newline."""
        return "\n".join(piece.text for piece in self.pieces if isinstance(piece, TextPart))

    def message(self) -> Message:
        """Give the finished message."""
        parts = tuple([piece.part() if isinstance(piece, Slot) else piece for piece in self.pieces])
        return Message(role=self.role, parts=parts)


class Transcript:
    """Messages in order, and the calls among them that nothing has answered yet."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._by_id: dict[str, deque[Slot]] = {}
        self._last_by_id: dict[str, Slot] = {}
        self._by_name: dict[str, deque[Slot]] = {}
        self._open: deque[Slot] = deque()

    def say(self, said: Said, *, span_id: str | None = None) -> Entry | None:
        """Add a message; results that it carries answer calls before it, or its own."""
        entry = Entry(said.role if said.role != "tool" else "assistant", span_id=span_id)
        if said.role != "tool":
            self.extend(entry, said)
        for result in said.results:
            self.answer(result)
        if entry.pieces:
            self.entries.append(entry)
            return entry
        return None

    def extend(self, entry: Entry, said: Said) -> None:
        """Add the parts of a message to an entry."""
        for part in said.parts:
            if isinstance(part, ToolInvocationPart):
                entry.pieces.append(self.ask(part, span_id=entry.span_id))
            else:
                entry.pieces.append(part)

    def ask(self, call: ToolInvocationPart, *, span_id: str | None = None) -> Slot:
        """Open a call that may be answered later."""
        slot = Slot(name=call.name, id=call.id, arguments=call.arguments, result=call.result, error=call.error)
        slot.duration_ms, slot.asked_by = call.duration_ms, span_id
        slot.answered = call.result is not None
        if slot.id is not None:
            self._by_id.setdefault(slot.id, deque()).append(slot)
            self._last_by_id[slot.id] = slot
        self._by_name.setdefault(slot.name, deque()).append(slot)
        self._open.append(slot)
        return slot

    def holds(self, result: ToolResult) -> bool:
        """Tell whether a result's id belongs to a call here."""
        return result.id is not None and self.knows(result.id)

    def knows(self, call_id: str) -> bool:
        """Tell whether a call here has this id."""
        return call_id in self._last_by_id

    def answer(self, result: ToolResult) -> bool:
        """Fold a result into its call: by id, else by name and order."""
        slot = self._asked(result)
        if slot is None:
            if result.id is None or not self.knows(result.id):
                return self._unasked(result)
            slot = self._last_by_id[result.id]
            if result.failed and slot.error is None and slot.result == result.value:
                # Said twice, and only once as what failed.
                slot.error = result.value if isinstance(result.value, str) else "error"
            return True
        slot.answered = True
        slot.result = result.value
        if result.failed:
            slot.error = result.value if isinstance(result.value, str) else slot.error or "error"
        if not slot.name and result.name:
            slot.name = result.name
        return True

    def _asked(self, result: ToolResult) -> Slot | None:
        if result.id is not None and result.id in self._by_id:
            return _first_open(self._by_id[result.id])
        if result.name is not None:
            named = _first_open(self._by_name.get(result.name))
            if named is not None:
                return named
        slot = _first_open(self._open)
        if slot is not None and result.name is None and (result.id is None or slot.id is None):
            return slot
        # Some name a call by the id of its item, and its result by that of the call: it answers what stands before it.
        return self._asked_last() if result.name is None else None

    def _asked_last(self) -> Slot | None:
        """Give the first call that nothing answered, of those asked for last; each may be a message of its own."""
        found: Slot | None = None
        for entry in reversed(self.entries):
            waiting = [slot for slot in entry.slots if not slot.answered]
            found = waiting[0] if waiting else found
            if not waiting or len(waiting) < len(entry.slots):
                break
        return found

    def _unasked(self, result: ToolResult) -> bool:
        """Keep a result whose call is not there, where it says what it is of."""
        if result.name is None or result.elided:
            return False
        slot = self.ask(ToolInvocationPart(id=result.id, name=result.name))
        slot.result, slot.answered = result.value, True
        if result.failed and isinstance(result.value, str):
            slot.error = result.value
        self.entries.append(Entry("assistant", [slot]))
        return True

    def slots(self) -> list[Slot]:
        """Give all calls in order."""
        return [piece for entry in self.entries for piece in entry.pieces if isinstance(piece, Slot)]

    def messages(self) -> Messages:
        """Give the finished messages."""
        return Messages([entry.message() for entry in self.entries if entry.pieces])


def _first_open(slots: deque[Slot] | None) -> Slot | None:
    while slots and slots[0].answered:
        slots.popleft()
    return slots[0] if slots else None


def folded(messages: Iterable[Said]) -> Messages:
    """Make messages of what was said, results folded into their calls."""
    transcript: Transcript | None = None
    for said in messages:
        if transcript is None:
            transcript = Transcript()
        transcript.say(said)
    return transcript.messages() if transcript is not None else Messages()
