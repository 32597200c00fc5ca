"""One conversation whose calls are recorded in different dialects."""

from __future__ import annotations

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span
from tracescore.model import JSONValue

ASK = says("user", "how is it?")
DONE = says("assistant", "fine")


def test_what_another_dialect_records_of_the_next_call_is_said_once() -> None:
    between = [
        ASK,
        asks("look", {"at": 1}),
        returns("busy"),
        asks("look", {"at": 2}, id="c2"),
        returns("free", id="c2"),
    ]
    prefix = "llm.input_messages."
    flat: dict[str, JSONValue] = {"openinference.span.kind": "LLM", "llm.model_name": "small"}
    for place, (role, call, text) in enumerate(
        [("user", None, "how is it?"), ("assistant", "1", None), ("tool", None, "busy"), ("assistant", "2", None)]
    ):
        flat[f"{prefix}{place}.message.role"] = role
        if text is not None:
            flat[f"{prefix}{place}.message.content"] = text
        if call is not None:
            flat[f"{prefix}{place}.message.tool_calls.0.tool_call.id"] = f"c{call}"
            flat[f"{prefix}{place}.message.tool_calls.0.tool_call.function.name"] = "look"
            flat[f"{prefix}{place}.message.tool_calls.0.tool_call.function.arguments"] = f'{{"at": {call}}}'
    flat |= {f"{prefix}2.message.tool_call_id": "c1", f"{prefix}4.message.role": "tool"}
    flat |= {f"{prefix}4.message.content": "free", f"{prefix}4.message.tool_call_id": "c2"}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "hm"}

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        span("two", parent="bot", at=5, attributes={**flat, **said}),
        llm("three", parent="bot", at=9, given=[*between, says("assistant", "hm")], answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> busy", "a: look({'at': 2}) -> free", "a: hm", "a: fine"]
