"""How a run's output ends: with what its own span records, or with the answer of whoever took over."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import takewhile
from typing import Any

from tracescore.dialects import Content, Said
from tracescore.model import AgentOutput, DataPart, JSONValue, Message, Part, TextPart, ToolInvocationPart
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.pauses import INTERRUPTED, asks
from tracescore.pipeline.assembly.transcript import Entry, Piece, Transcript
from tracescore.pipeline.assembly.tree import Node

_ENDS = frozenset({"agent", "container", "step", "loop", None})
"""Roles whose recorded output is an answer."""
_STRUCTURED = ("structured_response", "structured_output")
_TASK = ("pydantic", "json_dict", "raw")
"""Where the output of a task holds its answer: an object, else its text."""
_ABORTED = "aborted"
_MAX_LEAVES = 10_000


def own_content(invocation: Invocation, side: str) -> Content | None:
    """Give what an invocation's own span records as input or output, else what another span of the same one does."""
    for node in invocation.records:
        if node.role not in _ENDS:
            query = node.reading.query
            return Content(query, role="user", plain=True) if side == "input" and query else None
        found: Content | None = getattr(node.reading, side)
        if found and not (side == "output" and found.kind == "value" and _was_stopped(node)):
            return found
    return None


def _was_stopped(node: Node) -> bool:
    """Tell a span whose recorded output, where that is an object, says no more than that and why it was stopped."""
    return bool(node.reading.paused) or node.reading.ended == _ABORTED


def input_around(invocation: Invocation, shared: Container[int]) -> Content | None:
    """Give the messages that a workflow around an invocation, and around no other, was given."""
    around = takewhile(lambda wrapper: id(wrapper) not in shared, invocation.wrappers())
    contents = (wrapper.reading.input for wrapper in around if wrapper.role in _ENDS)
    return next((content for content in contents if content and content.kind == "messages"), None)


def say_own_output(content: Content, transcript: Transcript, *, span_id: str) -> None:
    """Take the output from the invocation's own span, where no model call shows any."""
    said = content.said()
    if content.kind == "messages":
        # A span may record its whole state: what stands behind the last user message is new.
        last = max((place for place, message in enumerate(said) if message.role == "user"), default=-1)
        said = said[last + 1 :]
    for message in said:
        if message.role in ("assistant", "tool"):
            transcript.say(message, span_id=span_id)


def end_with_own_output(content: Content, transcript: Transcript, *, span_id: str) -> None:
    """Add the final text or object that the invocation's own span records, where no message says it yet."""
    spoken = [text for entry in transcript.entries if entry.role == "assistant" and (text := entry.text.strip())]
    last = spoken[-1] if spoken else ""
    part = _final_part(content)
    if part is None:
        return
    if isinstance(part, TextPart):
        text = part.text.strip()
        if not text or text in spoken or (last and (last in text or last.startswith(text))):
            return
        if text[0] in "{[" and last[:1] == text[0] and _spells(last, Content(text, role="assistant").value):
            return  # one object, written anew
    elif isinstance(part, DataPart):
        said = any(isinstance(one, DataPart) and one.data == part.data for one in _last_pieces(transcript))
        if said or (last and _holds(part.data, last)):
            return
    transcript.entries.append(Entry("assistant", [part], span_id=span_id))


def _last_pieces(transcript: Transcript) -> Sequence[Piece]:
    return next((entry.pieces for entry in reversed(transcript.entries) if entry.pieces), ())


def _final_part(content: Content) -> Part | None:
    if content.kind == "messages":
        structured = _structured(content.value)
        if structured is not None:
            return TextPart(text=structured) if isinstance(structured, str) else DataPart(data=structured)
        return next((part for said in reversed(content.said()) for part in _answer(said)), None)
    value = _noted(content.value)
    if isinstance(value, str):
        return TextPart(text=value) if value.strip() else None
    return DataPart(data=value) if value is not None and content.kind == "value" else None


def _noted(value: JSONValue) -> JSONValue:
    """Take a chain's answer out of what a callback notes around it."""
    if not isinstance(value, dict) or value.keys() != {"outputs", "kwargs"}:
        return value
    answer = value["outputs"]
    only = next(iter(answer.values())) if isinstance(answer, dict) and len(answer) == 1 else None
    return only if isinstance(only, str) else answer


def _structured(state: JSONValue) -> JSONValue:
    """Find the answer that a graph's state, or a task's output, holds beside its messages: an object, else its text."""
    for holder in (state, state.get("outputs") if isinstance(state, dict) else None):
        if isinstance(holder, dict):
            for name in _STRUCTURED:
                if holder.get(name) is not None:
                    return holder[name]
            if all(name in holder for name in _TASK):
                found = [holder[name] for name in _TASK if holder[name]]
                return next((value for value in found if isinstance(value, dict)), found[-1] if found else None)
    return None


def _answer(said: Said) -> Iterable[Part]:
    if said.role != "assistant" or said.finish == INTERRUPTED:
        return ()
    parts = (part for part in reversed(said.parts) if isinstance(part, TextPart | DataPart))
    return tuple(part for part in parts if isinstance(part, TextPart) or not asks(part.data))


def _holds(value: JSONValue, text: str) -> bool:
    """Tell whether an object is a text's wrapper, or the object that the text spells out."""
    stack: list[Any] = [value]
    for _ in range(_MAX_LEAVES):
        if not stack:
            break
        item = stack.pop()
        if isinstance(item, str):
            if text in item:
                return True
        elif isinstance(item, dict):
            if len(item) == 1 and text == str(next(iter(item.values()))):
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return _spells(text, value)


def _spells(text: str, value: JSONValue) -> bool:
    content = Content(text, role="assistant")
    return content.kind in ("value", "messages") and content.value == value


def final_answer(output: AgentOutput) -> Message | None:
    """Give the final answer of a run as one message: the last that is more than calls, without its reasoning."""
    for message in reversed(output):
        parts = tuple(
            part for part in message.parts if part.type != "reasoning" and not isinstance(part, ToolInvocationPart)
        )
        if message.role == "assistant" and parts:
            return Message(role="assistant", parts=parts)
    return None


def answer_value(output: AgentOutput) -> JSONValue:
    """Give the final answer of a run as a tool would return it: its text, else its object."""
    message = final_answer(output)
    if message is None:
        return None
    if message.content:
        return message.content
    return next((part.data for part in message.parts if isinstance(part, DataPart)), None)
