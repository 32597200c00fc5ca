"""The parts of a trace as runs: each once, and settled with the run that it belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.assembly.building import agent, asks, brief, llm, returns, says, span, span_id, tool, trace
from tracescore.model import PART_KINDS, AgentRun, RunKind, ScorerRun, Span
from tracescore.pipeline.assembly import AssembledRun, assemble_all, read_target

ASK = [says("system", "be brief"), says("user", "yes"), says("assistant", "sure?"), says("user", "yes")]
FLOW = {"openinference.span.kind": "CHAIN"}
SEARCH = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": "sky",
    "retrieval.documents.0.document.content": "blue",
}
SPANS = (
    span("flow", until=40, attributes={**FLOW, "input.value": "go", "session.id": "s1"}),
    span("inner", parent="flow", until=39, attributes={**FLOW}),
    agent("bot", parent="inner", at=1, until=30),
    llm("framework", parent="bot", at=2, until=4, given=ASK, answer=asks("look", {"at": "sky"})),
    llm("client", parent="framework", at=2.5, until=3.5, given=ASK, answer=asks("look", {"at": "sky"})),
    tool("exec", called="look", parent="bot", at=5, until=8, attributes={"gen_ai.tool.call.result": "blue"}),
    span("search", parent="exec", at=5.5, until=7, attributes={**SEARCH}),
    span("again", parent="search", at=6, until=6.5, attributes={**SEARCH}),
    llm("answer", parent="bot", at=9, given=[*ASK, asks("look"), returns("blue")], answer=says("assistant", "fine")),
    span("http", parent="answer", at=9.2, until=9.5),
)


def parts(*spans: Span, kinds: tuple[RunKind, ...] = PART_KINDS) -> dict[str, AssembledRun[ScorerRun[Any, Any]]]:
    """Give each part by the name of its span, its kind before it."""
    by_id = {one.span_id: one.name for one in spans}
    _, found = assemble_all(trace(*spans), kinds)
    named = {f"{part.run.kind} {by_id[part.run.span_id or '']}": part for part in found}
    assert len(named) == len(found)
    return named


def test_each_part_is_there_once_whoever_recorded_it_how_often() -> None:
    found = parts(*SPANS)

    assert list(found) == [
        "workflow flow",
        "workflow inner",
        "llm framework",
        "tool exec",
        "retrieval search",
        "llm answer",
        "span http",
    ]
    assert [part.run.outermost for part in found.values()][:2] == [True, False]


def test_only_the_kinds_that_are_asked_for_are_read() -> None:
    assert list(parts(*SPANS, kinds=("tool",))) == ["tool exec"]
    assert parts(*SPANS, kinds=()) == {}


def test_a_model_call_keeps_every_message_that_was_sent() -> None:
    run = parts(*SPANS)["llm answer"].run

    assert brief(run.input) == ["s: be brief", "u: yes", "a: sure?", "u: yes", "a: look({}) -> blue"]
    assert brief(run.output) == ["a: fine"]


def test_a_part_names_its_agent_its_session_and_the_run_that_it_belongs_to() -> None:
    runs, found = assemble_all(trace(*SPANS), ["tool", "workflow"])
    tool_run = next(part.run for part in found if part.run.kind == "tool")
    flow = next(part.run for part in found if part.run.kind == "workflow")

    assert (tool_run.agent_name, tool_run.name, tool_run.session_id) == ("bot", "look", "s1")
    assert tool_run.parent_run_id == runs[0].run.run_id
    assert (flow.agent_name, flow.name, flow.parent_run_id) == (None, "flow", None)


def test_a_part_is_what_its_target_reads() -> None:
    found = parts(*SPANS)

    for part in found.values():
        assert read_target(trace(*SPANS), str(part.run.span_id)) == part.run


def test_a_part_settles_with_its_run_and_one_of_no_run_when_all_beneath_it_has_ended() -> None:
    still_open = (*SPANS[:-1], replace(SPANS[-1], end_ns=0))
    found = parts(*still_open)

    assert found["tool exec"].open_spans
    assert found["workflow flow"].open_spans
    assert not parts(*SPANS)["tool exec"].open_spans


def test_a_part_that_is_said_to_be_complete_with_its_run_waits_for_nothing() -> None:
    done = replace(SPANS[2], attributes={**SPANS[2].attributes, "tracescore.run.complete": True})
    found = parts(*SPANS[:2], done, *SPANS[3:])

    assert found["tool exec"].complete


def test_without_an_agent_the_parts_are_those_of_the_trace() -> None:
    runs, found = assemble_all(trace(*(one for one in SPANS if one.name != "bot")), ["llm"])

    assert [run.run.kind for run in runs] == ["trace"]
    assert {part.run.parent_run_id for part in found} == {runs[0].run.run_id}


def test_an_agents_conversation_is_what_was_said_in_order() -> None:
    (assembled,), _ = assemble_all(trace(*SPANS), [])
    run: AgentRun = assembled.run

    assert brief(run.conversation) == ["u: yes", "a: sure?", "u: yes", "a: look({'at': 'sky'}) -> blue", "a: fine"]


def test_a_tool_that_waits_for_an_approval_is_paused() -> None:
    waits = tool("exec", called="look", parent="bot", attributes={"error.type": "GraphInterrupt"}, status="error")
    found = parts(agent("bot", until=9), waits)

    assert found["tool exec"].run.status == "paused"
    assert read_target(trace(agent("bot", until=9), waits), span_id("exec")) == found["tool exec"].run


def test_the_order_of_arrival_changes_no_part() -> None:
    expected = [part.run for part in parts(*SPANS).values()]

    for shift in range(1, len(SPANS)):
        shuffled = (*SPANS[shift:], *reversed(SPANS[:shift]))
        assert [part.run for part in parts(*shuffled).values()] == expected


def test_what_is_not_recorded_of_a_part_is_said() -> None:
    found = parts(
        agent("bot", until=30),
        llm("silent", parent="bot", at=1),
        tool("empty", called="look", parent="bot", at=3),
        tool("failed", called="look", parent="bot", at=5, status="error", message="dark"),
        llm("asked", parent="bot", at=7, given=ASK, status="error"),
    )

    assert {name: [issue.detail.partition(";")[0] for issue in part.run.issues] for name, part in found.items()} == {
        "llm silent": ["test.scope 1.0 recorded no messages"],
        "tool empty": ["test.scope 1.0 recorded no arguments and result"],
        "tool failed": ["test.scope 1.0 recorded no arguments"],
        "llm asked": [],
    }
    assert found["tool failed"].run.output == {"error": "dark"}
    assert {issue.code for part in found.values() for issue in part.run.issues} == {"content_not_captured"}
