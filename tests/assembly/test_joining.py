"""Which execution belongs to which call, and which call comes first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span, tool
from tracescore.model import JSONValue

ASK = says("user", "how is it?")
DONE = says("assistant", "fine")
LOOKED = [ASK, asks("look", {"at": 1}), returns("blue")]


@pytest.mark.parametrize("name", ["look", "execute_tool look", "look.run", "Tool: look", "SomeTool.call"])
def test_a_tool_span_that_states_no_name_joins_by_its_own_or_by_order(name: str) -> None:
    kind: dict[str, JSONValue] = {"openinference.span.kind": "TOOL", "input.value": '{"at": 1}', "output.value": "blue"}

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        span(name, parent="bot", at=3, until=5, attributes=kind),
        llm("two", parent="bot", at=9, given=LOOKED, answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> blue", "a: fine"]
    assert run.output.tool_calls[0].duration_ms == 2


def test_a_nameless_execution_of_other_arguments_is_another_call() -> None:
    kind: dict[str, JSONValue] = {"openinference.span.kind": "TOOL", "input.value": '{"at": 2}', "output.value": "red"}

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        span("extra", parent="bot", at=3, until=5, attributes=kind),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> None", "a: extra({'at': 2}) -> red"]


@pytest.mark.parametrize("stated", [{"gen_ai.tool.call.id": "c1"}, {}])
def test_a_call_that_is_tried_again_has_the_error_of_its_last_execution(stated: dict[str, Any]) -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        tool("first", called="look", parent="bot", at=3, until=4, status="error", message="down", attributes=stated),
        tool("second", called="look", parent="bot", at=5, until=8, attributes=stated),
        llm("two", parent="bot", at=9, given=LOOKED, answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> blue", "a: fine"]
    assert run.output.tool_calls[0].duration_ms == 3


def test_of_calls_that_start_at_one_time_the_longer_history_is_the_later() -> None:
    run = runs(
        agent("bot", until=30),
        llm("b", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        llm("a", parent="bot", at=1, given=LOOKED, answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> blue", "a: fine"]


def test_an_execution_that_two_instrumentations_record_side_by_side_is_one() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1})),
        tool("exec", called="look", parent="bot", at=3, until=8, attributes={"gen_ai.tool.call.id": "c1"}),
        tool("copy", called="look", parent="bot", at=4, until=7, scope="other"),
        agent("helper", parent="copy", at=5, until=6),
        llm("inner", parent="helper", at=5, until=6, given=[ASK], answer=says("assistant", "blue")),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> blue"]
