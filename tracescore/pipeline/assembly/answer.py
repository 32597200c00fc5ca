"""What an agent produced after its input, in order."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tracescore.dialects import Content, Said
from tracescore.model import ReasoningPart, TextPart, ToolInvocationPart
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.elsewhere import Elsewhere
from tracescore.pipeline.assembly.history import History
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.transcript import Entry, Transcript

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_MIN_WORDS = 16
"""Letters and digits that tell an answer from one that only begins alike."""
_THREADS = 4
"""Conversations of one invocation that are followed at once."""


@dataclass(slots=True, eq=False)
class _Thread:
    """One conversation with a model: its latest input, and the answers that its next call will repeat."""

    content: Content
    pending: deque[tuple[Entry, Call]] = field(default_factory=deque)


def produced(invocation: Invocation, history: History, elsewhere: Elsewhere) -> tuple[Transcript, dict[int, Entry]]:
    """Put together the messages of an invocation's model calls, one for each call.

    What the next call repeats of an earlier answer is one thing with it. An answer that only the next call shows, since
    its own call was not recorded, stands where it was given. Also gives the entry of each call.
    """
    transcript = Transcript()
    first = invocation.calls[0] if invocation.calls else None
    for said in history.opening:
        transcript.say(said, span_id=first.span_id if first is not None else invocation.node.span.span_id)
    entries: dict[int, Entry] = {}
    threads: list[_Thread] = []
    for place, call in enumerate(invocation.calls):
        thread = _thread_of(call, threads, transcript, invocation, elsewhere) if call.reading.input else None
        answers = _answer(call, transcript, invocation)
        entries[id(call)] = answers[-1]
        if thread is None and place and threads:
            thread = threads[-1]
        if thread is not None:
            thread.pending.extend((entry, call) for entry in answers)
    return transcript, entries


def _answer(call: Call, transcript: Transcript, invocation: Invocation) -> list[Entry]:
    """Add the answer of one call: all its parts are one message."""
    entry = Entry("assistant", span_id=call.span_id)
    transcript.entries.append(entry)
    entries = [entry]
    closed = False
    for said in answers_of(call):
        if said.role == "assistant":
            if closed:
                # The provider ran tools in between: what follows is another answer.
                entry = Entry("assistant", span_id=call.span_id)
                transcript.entries.append(entry)
                entries.append(entry)
                closed = False
            if call is invocation.calls[-1]:
                said = _without_stale_calls(said, transcript, invocation)
            transcript.extend(entry, said)
        for result in said.results:
            closed = transcript.answer(result) or closed
    return entries


def _without_stale_calls(said: Said, transcript: Transcript, invocation: Invocation) -> Said:
    """Leave out calls beside the final text that only repeat an answered one, and that nothing executed.

    Instrumentations that record a whole loop as one call leave the loop's calls on it, without ids.
    """
    if not said.text or not any(call.id is None for call in said.calls):
        return said
    answered = [(slot.name, slot.arguments) for slot in transcript.slots() if slot.answered]
    if len(invocation.tools) > len(answered):
        return said
    parts = tuple(
        part
        for part in said.parts
        if not (isinstance(part, ToolInvocationPart) and part.id is None and (part.name, part.arguments) in answered)
    )
    return said._replace(parts=parts)


def answers_of(call: Call) -> Sequence[Said]:
    """Give what a call answered; of several alternatives the first."""
    if call.answers is None:
        call.answers = _answers_of(call)
    return call.answers


def _answers_of(call: Call) -> Sequence[Said]:
    output = call.reading.output
    if not output:
        return ()
    said = output.said()
    if len(said) == 1:
        return said if said[0].role in ("assistant", "tool") else ()
    replies = [message for message in said if message.role == "assistant"]
    if len(replies) == len(said) > 1 and _is_told_in_pieces(replies):
        return replies[-1:]
    alternatives = len(replies) > 1 and (
        output.alternatives
        or (call.reading.choices or 1) > 1
        or all(message.finish and message.text and not message.fragment for message in replies)
    )
    if alternatives:
        return replies[:1]
    # An output that repeats the whole conversation answers behind its last user message.
    last = max((place for place, message in enumerate(said) if message.role == "user"), default=-1)
    return [message for message in said[last + 1 :] if message.role in ("assistant", "tool")]


def _is_told_in_pieces(replies: Sequence[Said]) -> bool:
    """Tell a stream that was recorded piece by piece, and then whole: only the whole says why it ended (Google ADK)."""
    *pieces, whole = replies
    return bool(whole.finish and whole.text) and (
        not any(piece.finish or piece.calls for piece in pieces)
        and "".join([piece.text for piece in pieces]).strip() == whole.text.strip()
    )


def _thread_of(
    call: Call, threads: list[_Thread], transcript: Transcript, invocation: Invocation, elsewhere: Elsewhere
) -> _Thread:
    """Find the conversation that a call continues, and take over what its input adds to it."""
    content = call.reading.input
    assert content is not None
    for thread in reversed(threads):
        answered = thread.pending[0][1].reading.output if thread.pending else None
        added = content.after(thread.content, answered)
        if added is not None:
            thread.content = content
            _take_over(added, thread, call, transcript, invocation, elsewhere)
            if threads[-1] is not thread:
                threads.remove(thread)
                threads.append(thread)
            return thread
    thread = _Thread(content)
    if threads:
        # Another conversation, or a history that was cut: only what it tells of known calls is new.
        said = [one for one in content.said() if one.role != "system"]
        # The provider keeps the history of one that begins with what tools returned.
        goes_on = bool(said) and said[0].role == "tool"
        for one in said:
            goes_on = goes_on and one.role == "tool"
            for result in one.results:
                if goes_on or transcript.holds(result):
                    transcript.answer(result)
        thread.pending = threads[-1].pending
    threads.append(thread)
    del threads[:-_THREADS]
    return thread


def _take_over(
    added: Sequence[Said],
    thread: _Thread,
    call: Call,
    transcript: Transcript,
    invocation: Invocation,
    elsewhere: Elsewhere,
) -> None:
    others = elsewhere.seen_by(invocation, call.start_ns)
    foreign = answered = False
    for said in _whole_answers(added, thread.pending):
        if said.role == "user" and said.parts:
            # Within an agent's invocation it is a word of the framework: an observation, a reminder.
            if answered and invocation.kind == "trace" and not (others.quoted(said) or others.said(said)):
                transcript.say(said)
            continue
        answered = said.role == "tool" or (bool(said.text) and not said.calls)
        if said.role == "assistant":
            repeated = _repeated(said, thread.pending)
            foreign = repeated is None and others.said(said)
            if repeated is not None:
                _unite(repeated, said, transcript)
            elif not foreign and not _is_known(said, transcript):
                entry = transcript.say(said, span_id=call.span_id)
                if entry is not None:
                    continue
        if not foreign or said.role == "tool":
            for result in said.results:
                if not foreign or transcript.holds(result):
                    transcript.answer(result)


def _whole_answers(added: Sequence[Said], pending: deque[tuple[Entry, Call]]) -> Iterator[Said]:
    """Put together what a history parts: each part of an answer may be a message of its own there."""
    together: list[Said] = []
    for said in added:
        if said.role == "assistant":
            together.append(said)
            continue
        yield from _as_answered(together, pending)
        together = []
        yield said
    yield from _as_answered(together, pending)


def _as_answered(parts: list[Said], pending: deque[tuple[Entry, Call]]) -> Sequence[Said]:
    if len(parts) < 2:
        return parts
    whole = parts[0]._replace(
        parts=tuple(part for said in parts for part in said.parts),
        results=tuple(result for said in parts for result in said.results),
    )
    return [whole] if any(entry.slots and _is_same(whole, entry) for entry, _ in pending) else parts


def _is_known(said: Said, transcript: Transcript) -> bool:
    """Tell a message that repeats calls of an earlier one: a history may part what was one message."""
    ids = [call.id for call in said.calls]
    return bool(ids) and not said.text and all(call_id is not None and transcript.knows(call_id) for call_id in ids)


def _repeated(said: Said, pending: deque[tuple[Entry, Call]]) -> Entry | None:
    """Find the answer that a message of the history repeats."""
    for place, (entry, call) in enumerate(pending):
        if _is_same(said, entry) or (not entry.pieces and not call.failed):
            for _ in range(place + 1):
                pending.popleft()
            return entry
    if pending and _is_rewritten(said, pending[0][0]):
        entry, _ = pending.popleft()
        if len(_words(said.text)) > len(_words(entry.text)):
            # The history says more: what was observed stands behind what was asked for.
            kept = [piece for piece in entry.pieces if not isinstance(piece, TextPart)]
            entry.pieces[:] = [*kept, *(part for part in said.parts if isinstance(part, TextPart))]
        return entry
    return None


def _is_rewritten(said: Said, entry: Entry) -> bool:
    """Tell an answer that a framework keeps in other marks, without its thoughts or with an observation behind it."""
    if entry.slots or said.calls:
        return False
    told, kept = (_words(_THOUGHTS.sub("", text)) for text in (entry.text, said.text))
    return bool(told) and (told == kept or (len(told) >= _MIN_WORDS and kept.startswith(told)))


def _words(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def _is_same(said: Said, entry: Entry) -> bool:
    slots = entry.slots
    calls = said.calls
    if (said.elided and not calls) or (bool(calls) != bool(slots) and (entry.text if calls else said.text)):
        # A library may leave the calls out of the answer or out of the history, and not out of the other.
        return said.text.strip() == entry.text.strip()
    if slots or calls:
        ids = {slot.id for slot in slots if slot.id is not None}
        given = {call.id for call in calls if call.id is not None}
        if ids & given:
            return True
        if [slot.name for slot in slots] != [call.name for call in calls]:
            return False
        # Some senders give the same call another id in the history: then it is the same by what it asks for.
        return not (ids and given) or [slot.arguments for slot in slots] == [call.arguments for call in calls]
    return said.text.strip() == entry.text.strip()


def _unite(entry: Entry, said: Said, transcript: Transcript) -> None:
    """Fill an answer with what the history shows of it and its own call did not."""
    if not entry.pieces:
        transcript.extend(entry, said)
        return
    slots = entry.slots
    if not slots:
        entry.pieces += [transcript.ask(call, span_id=entry.span_id) for call in said.calls]
    for place, call in enumerate(said.calls if slots else ()):
        slot = next((one for one in slots if one.id is not None and one.id == call.id), None)
        if slot is None and place < len(slots) and (slots[place].id is None or call.id is None):
            slot = slots[place] if slots[place].name == call.name else None
        if slot is not None:
            slot.id = slot.id or call.id
            slot.arguments = call.arguments if slot.arguments is None else slot.arguments
    kinds = {type(piece) for piece in entry.pieces}
    missing = tuple({TextPart, ReasoningPart} - kinds) if entry.slots else (TextPart,) * (not entry.text)
    entry.pieces[:0] = [part for part in said.parts if isinstance(part, missing)]
