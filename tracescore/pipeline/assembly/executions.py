"""Join tool spans with the calls that asked for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence

from tracescore.dialects import Reading, combine
from tracescore.model import ToolInvocationPart
from tracescore.pipeline.assembly.errors import message_kept
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.pauses import stops
from tracescore.pipeline.assembly.status import went_on
from tracescore.pipeline.assembly.transcript import Entry, Slot, Transcript
from tracescore.pipeline.assembly.transfers import hands_over, transfers
from tracescore.pipeline.assembly.tree import Node

_WORDS = re.compile(r"[\w-]+")
_NUMBERED = re.compile(r"(.+)_\d{1,4}")
"""One tracer numbers the spans of a trace that go by one name."""
_MAX_WORDS = 16
_MARKS = (".", "/", ":", "-")


def join_executions(invocation: Invocation, transcript: Transcript, entries: dict[int, Entry]) -> dict[int, Slot]:
    """Give each call its execution: by call id, else by name and order.

    A tool that ran without a call that anybody recorded stands in the output all the same, behind the model call before
    it. Gives the call of each execution.
    """
    joined: dict[int, Slot] = {}
    unasked: list[Node] = []
    waiting = _Waiting(transcript.slots())
    for node in invocation.tools:
        reading = _whole(invocation, node)
        slot = waiting.take(reading, node)
        if slot is None:
            unasked.append(node)
            continue
        joined[id(node)] = slot
        for copy in invocation.copies.get(id(node), ()):
            joined[id(copy)] = slot
        _fill(slot, reading, node)
    if unasked:
        _add_unasked(invocation, unasked, transcript, entries, joined)
    return joined


class _Waiting:
    """Calls that no execution was found for yet, and those that may be tried again."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._by_id: dict[str, deque[Slot]] = {}
        self._last_by_id: dict[str, Slot] = {}
        self._by_name: dict[str, deque[Slot]] = {}
        self._transfers: deque[Slot] = deque()
        self._all: deque[Slot] = deque()
        self._failed: dict[str, Slot] = {}
        for slot in slots:
            if slot.id is not None:
                self._by_id.setdefault(slot.id, deque()).append(slot)
                self._last_by_id[slot.id] = slot
            for name in _names(slot.name):
                self._by_name.setdefault(name, deque()).append(slot)
            if transfers(slot.name):
                self._transfers.append(slot)
            self._all.append(slot)

    def take(self, reading: Reading, node: Node) -> Slot | None:
        """Find the call of one execution: one that is waiting, else the one that failed and is tried again."""
        slot = self._find(reading, node) or self._tried_again(reading, node)
        if slot is not None:
            slot.execution = node
            self._failed.pop(slot.name, None)
            if node.span.status == "error":
                self._failed[slot.name] = slot
        return slot

    def _find(self, reading: Reading, node: Node) -> Slot | None:
        if reading.tool_call_id is not None:
            # A call that is tried again has several executions: the last one counts.
            slot = _first_waiting(self._by_id.get(reading.tool_call_id)) or self._last_by_id.get(reading.tool_call_id)
            if slot is not None:
                return slot
        names = _names(reading.tool_name) if reading.tool_name else _words(node.span.name)
        candidates = [self._by_name.get(name) for name in names]
        if node.role == "handoff":
            candidates.append(self._transfers)
        if (numbered := _NUMBERED.fullmatch(reading.tool_name or "")) is not None:
            candidates.append(self._by_name.get(numbered.group(1)))
        slot = next((slot for slots in candidates if (slot := _first_waiting(slots)) is not None), None)
        if slot is None and not reading.tool_name and node.role != "handoff":
            slot = _first_waiting(self._all)
            if slot is not None and None not in (slot.arguments, reading.tool_arguments):
                slot = slot if slot.arguments == reading.tool_arguments else None
        return slot

    def _tried_again(self, reading: Reading, node: Node) -> Slot | None:
        slot = self._failed.get(reading.tool_name or "")
        if slot is None or slot.execution is None or reading.tool_call_id is not None:
            return None
        before = slot.execution
        same = reading.tool_arguments == before.reading.tool_arguments and before.reading.tool_call_id is None
        return slot if same and 0 < before.span.end_ns <= node.span.start_ns else None


def _first_waiting(slots: deque[Slot] | None) -> Slot | None:
    while slots and slots[0].execution is not None:
        slots.popleft()
    return slots[0] if slots else None


def _words(text: str) -> list[str]:
    """Give the name of a span, and the words of it: several senders put the tool's name there and nowhere else."""
    return list(dict.fromkeys([text, *_WORDS.findall(text)]))[:_MAX_WORDS]


def _names(name: str) -> list[str]:
    """Give a tool's name, and what is behind the name of its agent or plugin."""
    if not name:
        return []
    short = name
    for mark in _MARKS:
        if mark in short:
            short = short.rpartition(mark)[2] or short
    return [name] if short == name else [name, short]


def _whole(invocation: Invocation, node: Node) -> Reading:
    copies = invocation.copies.get(id(node))
    return combine([node.reading, *(copy.reading for copy in copies)]) if copies else node.reading


def _fill(slot: Slot, reading: Reading, node: Node) -> None:
    span = node.span
    slot.execution = node
    if span.end_ns >= span.start_ns > 0:
        slot.duration_ms = (span.end_ns - span.start_ns) / 1e6
    slot.id = slot.id or reading.tool_call_id
    slot.name = slot.name or _called(reading, node)
    if slot.arguments is None:
        slot.arguments = reading.tool_arguments
    error = error_of(reading, node)
    if error is not None and error == reading.error_type and not slot.raised:
        error = slot.error or error  # what the model was told says more than the type
    if error is not None or slot.raised:
        slot.error, slot.raised = error, error is not None
    if slot.result is None and not (error is not None and reading.tool_result == error):
        slot.result = reading.tool_result


def _called(reading: Reading, node: Node) -> str:
    """Name what ran: as the span states it, else as the object whose call the span is named after, else as the span."""
    return reading.tool_name or node.span.name.removesuffix(".__call__") or node.span.name


def error_of(reading: Reading, node: Node) -> str | None:
    """Give what the tool raised: the exception's message, else the status, else the type of the error."""
    if reading.tool_error is not None:
        return reading.tool_error
    if (node.span.status != "error" and reading.error_type is None) or went_on(node) or stops(node):
        return None
    for event in reversed(node.span.events):
        if event.name == "exception":
            message = event.attributes.get("exception.message")
            if isinstance(message, str) and message:
                return message_kept(message)
    return message_kept(node.span.status_message) or reading.error_type or "error"


def _add_unasked(
    invocation: Invocation,
    nodes: Sequence[Node],
    transcript: Transcript,
    entries: dict[int, Entry],
    joined: dict[int, Slot],
) -> None:
    """Put calls that only their execution shows behind the model call before them.

    Where nothing is known of that call's answer they are its message; else those that overlap are one.
    """
    calls = [call for call in invocation.calls if id(call) in entries]
    silent = {id(entry) for entry in entries.values() if not entry.pieces}
    behind: dict[int, list[Entry]] = {}
    before: dict[int, list[Entry]] = {}
    last: Entry | None = None
    ends_ns = 0
    for node in nodes:
        place = bisect_right(calls, node.span.start_ns, key=lambda call: call.start_ns)
        entry = entries[id(calls[place - 1])] if place else None
        if entry is None or id(entry) not in silent:
            if last is None or node.span.start_ns >= ends_ns:
                last = Entry("assistant", span_id=node.span.span_id)
                # What ran while its call was still being answered came before the answer.
                inside = entry is not None and node.span.end_ns <= calls[place - 1].end_ns
                (before if inside else behind).setdefault(id(entry), []).append(last)
            entry = last
        reading = _whole(invocation, node)
        slot = transcript.ask(ToolInvocationPart(name=_called(reading, node)), span_id=node.span.span_id)
        _fill(slot, reading, node)
        entry.pieces.append(slot)
        joined[id(node)] = slot
        ends_ns = max(ends_ns, node.span.end_ns)
    ordered = list(behind.get(id(None), []))
    for entry in transcript.entries:
        ordered += before.get(id(entry), [])
        ordered.append(entry)
        ordered += behind.get(id(entry), [])
    transcript.entries = ordered


def is_answered(slot: Slot) -> bool:
    """Tell whether anything shows what came of a call."""
    return slot.answered or slot.result is not None or slot.error is not None


def is_transfer(slot: Slot) -> bool:
    """Tell whether a call hands over to another agent."""
    return transfers(slot.name) or (slot.execution is not None and hands_over(slot.execution))
