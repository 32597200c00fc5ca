"""What OpenLLMetry numbered before 0.5, as its versions for Anthropic and Bedrock wrote it."""

from __future__ import annotations

import pytest

from tests.assembly.building import dumped, span
from tests.dialects.weather import numbered
from tracescore.dialects import KNOWN_DIALECTS
from tracescore.model import JSONValue, Part, ReasoningPart, TextPart, ToolInvocationPart

CALL = {"tool_calls.0.id": "c1", "tool_calls.0.name": "look", "tool_calls.0.arguments": "{}"}
USE = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}
LOOK = ToolInvocationPart(id="c1", name="look", arguments={})


@pytest.mark.parametrize(
    ("prompt", "completion", "given", "answered"),
    [
        (
            [{"role": "user", "content": "hi"}],
            [{"role": "thinking", "content": "hm"}, {"role": "assistant", "content": "I look", **CALL}],
            TextPart(text="hi"),
            (ReasoningPart(text="hm"), TextPart(text="I look"), LOOK),
        ),
        (
            [{"role": "user", "content": '"hi"'}],
            [{"role": "assistant"}, {"content": "fine"}],
            TextPart(text="hi"),
            (TextPart(text="fine"),),
        ),
        (
            [{"role": "user", "content": dumped([{"text": "hi"}])}],
            [{"role": "assistant", "content": dumped([{"text": "I look"}, USE])}],
            TextPart(text="hi"),
            (TextPart(text="I look"), LOOK),
        ),
        (
            [{"role": "user", "content": '"hi"'}, {"role": "assistant", "content": "hello"}],
            [{"role": "assistant", "content": "fine"}],
            TextPart(text='"hi"'),
            (TextPart(text="fine"),),
        ),
    ],
    ids=["thinking apart", "all of it in quotes", "blocks of bedrock", "quotes of a user"],
)
def test_numbered_messages_are_what_was_said(
    prompt: list[dict[str, JSONValue]],
    completion: list[dict[str, JSONValue]],
    given: Part,
    answered: tuple[Part, ...],
) -> None:
    attributes = {**numbered("gen_ai.prompt.", *prompt), **numbered("gen_ai.completion.", *completion)}
    reading = KNOWN_DIALECTS.read(span("call", attributes=attributes), ())

    assert reading.input is not None
    assert reading.output is not None
    assert reading.input.said()[0].parts == (given,)
    assert [said.parts for said in reading.output.said()] == [answered]
