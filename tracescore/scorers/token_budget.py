"""The token budget of a run: what goes first, and what never does.

The order is the same on every machine: results of tools, the oldest first; remembered messages, the oldest first; what
the agent did on its way to the final answer, the oldest first; tagged system messages, by tag; system messages, the
last first. The input and the final answer always stay, also where they alone are more than the budget. Cutting ends as
soon as the rest fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracescore.model import DataPart, Message, Part, TextPart
from tracescore.scorers.filter_content import OUTPUT, REMEMBERED, SYSTEM, TAGGED, Content, Items
from tracescore.scorers.token_counts import TokenCounter
from tracescore.scorers.trimming import without_result

_Place = tuple[tuple[str, str], int]


def total_tokens(content: Content, counter: TokenCounter) -> int:
    """Count the tokens of all messages."""
    return sum(counter.of_messages(items) for items in content.values())


def within_budget(content: Content, *, limit: int, counter: TokenCounter) -> Content:
    """Give what of the messages fits into ``limit`` tokens."""
    total = total_tokens(content, counter)
    if total <= limit:
        return content
    draft = {key: list(items) for key, items in content.items()}
    for (key, index), message in _edits(content, counter):
        before = draft[key][index]
        saved = counter.of_message(before) - (0 if message is None else counter.of_message(message))
        if saved <= 0:
            continue
        draft[key][index] = message
        total -= saved
        if total <= limit:
            break
    return {key: _kept(items, draft[key]) for key, items in content.items()}


def _edits(content: Content, counter: TokenCounter) -> Iterator[tuple[_Place, Message | None]]:
    """Give the cuts in their order: a place, and what the message there becomes."""
    final = final_answer(content.get((OUTPUT, ""), ()))
    without: dict[_Place, Message] = {}
    for group in (REMEMBERED, OUTPUT):
        for place, message in _places(content, group):
            for number, part in enumerate(message.parts):
                shorter = without_result(part)
                # A result may well be shorter than the words that would stand for it.
                if shorter is not part and counter.of_part(shorter) < counter.of_part(part):
                    parts = without.get(place, message).parts
                    without[place] = Message(role=message.role, parts=(*parts[:number], shorter, *parts[number + 1 :]))
                    yield place, without[place]
    for place, _ in _places(content, REMEMBERED):
        yield place, None
    for place, message in _places(content, OUTPUT):
        protected = final.get(place[1], ())
        if not protected:
            yield place, None
        elif len(protected) < len(message.parts):
            yield place, Message(role=message.role, parts=protected)
    for place, _ in sorted(_places(content, TAGGED), key=lambda pair: pair[0]):
        yield place, None
    for place, _ in reversed(list(_places(content, SYSTEM))):
        yield place, None


def _places(content: Content, group: str) -> Iterator[tuple[_Place, Message]]:
    for key, items in content.items():
        if key[0] == group:
            for index, item in enumerate(items):
                if isinstance(item, Message):
                    yield (key, index), item


def final_answer(output: Items) -> dict[int, tuple[Part, ...]]:
    """Give the parts of the final answer by the place of their message.

    It is the text of the last assistant message that has any, and a structured object in or behind that message.
    """
    found: dict[int, tuple[Part, ...]] = {}
    for index in range(len(output) - 1, -1, -1):
        message = output[index]
        if not isinstance(message, Message) or message.role != "assistant":
            continue
        answer = tuple(part for part in message.parts if isinstance(part, (TextPart, DataPart)))
        if answer and (message.content or not found):
            found[index] = answer
        if message.content:
            break
    return found


def _kept(items: Items, draft: Sequence[Message | None]) -> Items:
    if all(one is other for one, other in zip(items, draft, strict=True)):
        return items
    return [item for item in draft if item is not None]
