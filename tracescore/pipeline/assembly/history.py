"""What an agent was given: its input, and what it remembered, out of the history of its first model call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracescore.dialects import Content, Said
from tracescore.dialects.decode_json import parse
from tracescore.model import DataPart, TextPart
from tracescore.pipeline.assembly.elsewhere import Others
from tracescore.pipeline.assembly.transcript import Transcript


@dataclass(slots=True)
class History:
    """A list of messages, split."""

    input: list[Said] = field(default_factory=list)
    remembered: list[Said] = field(default_factory=list)
    opening: list[Said] = field(default_factory=list)
    """What stands behind the input and nobody else said: the agent's own output."""


def read_history(call_input: Content | None, own_input: Content | None, others: Others) -> History:
    """Split the history of an agent's first model call, and the input of its own span where that counts.

    The span's own input counts where it is a list of messages, or where no model call carries content.
    """
    own = _own_history(own_input, others.afresh())
    if not call_input:
        return own
    messages = [said for said in call_input.said() if said.role != "system"]
    if call_input.truncated:
        at = _last_place(messages, own.input)
        if at is not None:
            return split(messages, others, at=at)
        remembered = own.remembered if len(own.remembered) > len(messages) else messages
        return History(input=own.input, remembered=remembered)
    found = split(messages, others.afresh())
    if own_input is None or own_input.kind != "messages" or _same(own.input, found.input):
        return found
    if not any(said.parts for said in own.input) or _are_variables(own.input):
        return found
    at = _last_place(messages, own.input)
    if at is not None:
        return split(messages, others, at=at)
    return History(input=own.input, remembered=found.remembered, opening=found.opening)


def _are_variables(own: Sequence[Said]) -> bool:
    """Tell the values that a prompt is filled with, spelled as one message: the call shows what became of them."""
    text = own[-1].text if len(own) == 1 else ""
    return text.startswith('{"') and isinstance(parse(text).value, dict)


def _own_history(content: Content | None, others: Others) -> History:
    if not content:
        return History()
    if content.kind == "messages":
        messages = [said for said in content.said() if said.role != "system"]
        if content.truncated:
            return History(remembered=messages)
        return split(messages, others)
    value = content.value
    if isinstance(value, dict):
        # What else a call was given, or not given, beside the one text that it is about.
        said = [item for item in value.values() if item is not None and not isinstance(item, bool)]
        value = said[0] if len(said) == 1 and isinstance(said[0], str) and said[0] else value
    part = TextPart(text=value) if isinstance(value, str) else DataPart(data=value)
    return History(input=[Said(role="user", parts=(part,))]) if content.kind != "nothing" else History()


def _same(one: Sequence[Said], other: Sequence[Said]) -> bool:
    return [said.text.strip() for said in one] == [said.text.strip() for said in other]


def _last_place(messages: Sequence[Said], wanted: Sequence[Said]) -> int | None:
    """Find where the input of the agent's span stands in the history of its call."""
    text = wanted[-1].text.strip() if wanted else ""
    if not text:
        return None
    places = (place for place in range(len(messages) - 1, -1, -1) if messages[place].role == "user")
    return next((place for place in places if messages[place].text.strip() == text), None)


def split(messages: Sequence[Said], others: Others, *, at: int | None = None) -> History:
    """Split a history at its last user message, or at the place that is given.

    Before it is what was remembered. Behind it, what others said is remembered as well; the rest opens the output.
    """
    end = at if at is not None else _input_place(messages, others)
    if end is None:
        return History(remembered=list(messages))
    start = end
    while start > 0 and messages[start - 1].role == "user" and not _is_quote(messages[start - 1], others):
        start -= 1
    history = History(input=list(messages[start : end + 1]), remembered=list(messages[:start]))
    if end + 1 == len(messages):
        return history
    own = Transcript()
    results_to = history.remembered
    for said in messages[end + 1 :]:
        if said.role == "user":
            if _is_quote(said, others) or others.said(said):
                history.remembered.append(said)
        elif said.role == "tool":
            mine = any(own.holds(result) for result in said.results)
            (history.opening if mine else results_to).append(said)
        else:
            results_to = history.remembered if others.said(said) else history.opening
            results_to.append(said)
            if results_to is history.opening:
                own.say(said)
    return history


def _is_quote(said: Said, others: Others) -> bool:
    return others.quoted(said)


def _input_place(messages: Sequence[Said], others: Others) -> int | None:
    """Find the last user message that does not quote another agent."""
    users = [place for place, said in enumerate(messages) if said.role == "user"]
    if not users:
        return None
    last = next((place for place in reversed(users) if not others.quoted(messages[place])), users[-1])
    # A user message may also be, word for word, what another agent said. It is passed over only where an earlier user
    # message is left, with nothing in between that this agent said: else it is the input.
    place = last
    while place >= 0:
        said = messages[place]
        foreign = others.quoted(said) if said.role == "user" else said.role == "tool"
        if not foreign and not others.said(said, keep=True):
            return place if said.role == "user" else last
        place -= 1
    return last
