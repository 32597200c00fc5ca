"""``filter_run``: which messages stay, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    ConfigurationError,
    Cut,
    DataPart,
    Message,
    Messages,
    ReasoningPart,
    ScorerRun,
    TextPart,
    ToolInvocationPart,
    filter_run,
)
from tracescore.model import Part


def message(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


def tool(name: str) -> ToolInvocationPart:
    return ToolInvocationPart(name=name)


MESSAGES: dict[str, Message] = {
    "text": message(TextPart(text="hello")),
    "tool_w": message(tool("write_file")),
    "tool_w+text": message(tool("write_file"), TextPart(text="written")),
    "tool_r": message(tool("read_file")),
    "two": message(tool("read_file"), tool("write_file")),
    "data": message(DataPart(data={"status": "ok"})),
    "reason": message(ReasoningPart(text="hm")),
    "empty": message(),
}
ALL = list(MESSAGES)
WITHOUT_TOOLS = ["text", "data", "reason", "empty"]


def kept_names(run: AgentRun) -> list[str]:
    names = {id(value): name for name, value in MESSAGES.items()}
    return [names[id(value)] for value in run.output]


RUN = AgentRun(
    run_id="run-1",
    input=AgentInput(
        input_messages=Messages(MESSAGES.values()),
        remembered_messages=Messages(MESSAGES.values()),
        system_messages=Messages(MESSAGES.values()),
        tagged_system_messages={"memory": Messages(MESSAGES.values())},
    ),
    output=AgentOutput(MESSAGES.values()),
    request_context={"tenant": "a"},
    ground_truth="truth",
    expected_trajectory=["step"],
)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ALL),
        ({"part_types": ["text"]}, ["text", "tool_w+text"]),
        ({"part_types": ["tool-invocation"]}, ["tool_w", "tool_w+text", "tool_r", "two"]),
        ({"part_types": ["tool-invocation", "text"]}, ["text", "tool_w", "tool_w+text", "tool_r", "two"]),
        ({"part_types": ["data"]}, ["data"]),
        ({"part_types": ["da"]}, ["data"]),
        ({"part_types": [""]}, [name for name in ALL if name != "empty"]),
        ({"part_types": []}, []),
        ({"tool_names": ["write_"]}, ["text", "tool_w", "tool_w+text", "two", "data", "reason", "empty"]),
        ({"tool_names": []}, WITHOUT_TOOLS),
        ({"tool_names": ["nope"]}, WITHOUT_TOOLS),
        ({"part_types": ["text"], "tool_names": ["write_"]}, ["text", "tool_w+text"]),
        ({"max_output_messages": 2}, ALL[-2:]),
        ({"max_output_messages": 0}, []),
        ({"max_output_messages": 100}, ALL),
        ({"part_types": ["text"], "max_output_messages": 1}, ["tool_w+text"]),
    ],
)
def test_whole_messages_stay_or_go(options: dict[str, Any], kept: list[str]) -> None:
    filtered = filter_run(**options)(RUN)

    assert kept_names(filtered) == kept


def test_input_and_system_messages_are_never_touched() -> None:
    filtered = filter_run(part_types=[], max_remembered_messages=0)(RUN)

    assert filtered.input == replace(RUN.input, remembered_messages=Messages())


def test_remembered_messages_have_a_limit_of_their_own() -> None:
    filtered = filter_run(max_remembered_messages=3)(RUN)

    assert filtered.input.remembered_messages == Messages(list(MESSAGES.values())[-3:])
    assert filtered.output == RUN.output


def test_fields_are_dropped() -> None:
    filtered = filter_run(drop_request_context=True, drop_ground_truth=True, drop_expected_trajectory=True)(RUN)

    dropped = ("request_context", "expected_trajectory", "ground_truth")
    assert filtered == replace(
        RUN,
        request_context={},
        ground_truth=None,
        expected_trajectory=None,
        cuts=tuple(Cut(rule=f"drop_{name}", what=name) for name in dropped),
    )


def test_the_run_that_is_filtered_stays_as_it_was() -> None:
    before = replace(RUN)

    filter_run(part_types=["text"], max_output_messages=1, drop_ground_truth=True)(RUN)

    assert before == RUN


def test_custom_runs_are_limited_where_their_output_is_a_list() -> None:
    listed: ScorerRun[str, list[str]] = ScorerRun(run_id="1", input="question", output=["a", "b", "c"])
    text: ScorerRun[str, str] = ScorerRun(run_id="1", input="question", output="answer")

    assert filter_run(max_output_messages=1, part_types=["text"])(listed).output == ["c"]
    assert filter_run(max_output_messages=1, part_types=["text"])(text) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_output_messages": -1}, r"max_output_messages=-1\): give a whole number from 0"),
        ({"max_remembered_messages": 1.5}, "give a whole number from 0"),
        ({"max_remembered_messages": True}, "give a whole number from 0"),
        ({"part_types": ["tool-invocations"]}, "did you mean 'tool-invocation'"),
        ({"part_types": ["data-om"]}, "did you mean 'data'"),
        ({"part_types": "text"}, "give a list of names"),
        ({"tool_names": "write"}, "give a list of names"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        filter_run(**options)


def test_a_filter_is_a_value() -> None:
    assert filter_run(part_types=["text"]) == filter_run(part_types=("text",))
    assert repr(filter_run(max_output_messages=2)).startswith("RunFilter(")


options_of_a_filter = st.fixed_dictionaries(
    {},
    optional={
        "part_types": st.lists(st.sampled_from(["text", "tool", "data", "reasoning"])),
        "tool_names": st.lists(st.sampled_from(["write", "read", "x"])),
        "max_remembered_messages": st.integers(0, 9),
        "max_output_messages": st.integers(0, 9),
    },
)
runs = st.lists(st.sampled_from(ALL)).map(
    lambda names: replace(RUN, output=AgentOutput(MESSAGES[name] for name in names))
)


@given(options=options_of_a_filter, run=runs)
def test_filtering_again_changes_nothing_and_keeps_the_order(options: dict[str, Any], run: AgentRun) -> None:
    keep = filter_run(**options)

    once = keep(run)

    assert keep(once) == once
    remaining = iter(run.output)
    assert all(any(kept is candidate for candidate in remaining) for kept in once.output)
