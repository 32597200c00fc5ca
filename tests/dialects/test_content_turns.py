"""A history that every call repeats is decoded once, also where calls of two dialects take turns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tracescore.dialects import Content, Said
from tracescore.dialects.decode_message import said_of
from tracescore.model import Role

CALLS = 40
TEXTS = [f"message {number}" for number in range(CALLS)]


def shaped(text: str, dialect: int) -> dict[str, Any]:
    return {"role": "user", **({"parts": [{"type": "text", "content": text}]} if dialect else {"content": text})}


class Counted:
    """A dialect's way to decode, that counts."""

    def __init__(self) -> None:
        self.decoded = 0

    def __call__(self, raw: Any, role: Role) -> list[Said]:
        self.decoded += 1
        return said_of(raw, role)


def histories(decoders: list[Counted], *, changed: int | None = None) -> list[Content]:
    """Give the input of each call, all messages so far; one message of the last may differ."""
    contents: list[Content] = []
    for length in range(1, CALLS + 1):
        place = length % len(decoders)
        texts = TEXTS[:length]
        if changed is not None and length == CALLS:
            texts[changed] = "something else"
        elements = {number: shaped(text, place) for number, text in enumerate(texts)}
        contents.append(Content(role="user", elements=elements, decode=decoders[place]))
    return contents


@pytest.mark.parametrize("dialects", [1, 2])
def test_what_is_new_is_read_and_the_rest_is_not_decoded_again(dialects: int) -> None:
    decoders = [Counted() for _ in range(dialects)]
    contents = histories(decoders)

    added = [[said.text for said in later.after(earlier) or ()] for earlier, later in pairwise(contents)]

    assert added == [[text] for text in TEXTS[1:]]
    assert [said.text for said in contents[-1].said()] == TEXTS
    assert sum(decoder.decoded for decoder in decoders) < 6 * CALLS


@pytest.mark.parametrize("changed", [0, 17, CALLS - 2])
def test_a_history_that_differs_anywhere_continues_nothing(changed: int) -> None:
    contents = histories([Counted(), Counted()], changed=changed)

    added = [later.after(earlier) for earlier, later in pairwise(contents)]

    assert None not in added[:-1]
    assert added[-1] is None
    assert contents[-1].said()[changed].text == "something else"


@pytest.mark.parametrize("role", ['"role":"assistant",', ""])
def test_an_answer_that_a_history_repeats_reads_the_same_whether_it_is_known_or_not(role: str) -> None:
    asked = '{"role":"user","parts":[{"type":"text","content":"a"}]}'
    replied = f'{{{role}"parts":[{{"type":"text","content":"b"}}]}}'
    earlier, answer = Content(f"[{asked}]", role="user"), Content(f"[{replied}]", role="assistant")
    later = Content(f"[{asked},{replied},{asked}]", role="user")
    known = answer.said()

    added = later.after(earlier, answer)

    assert added is not None
    assert added == later.after(earlier)
    assert [said is known[0] for said in added] == [bool(role), False]
