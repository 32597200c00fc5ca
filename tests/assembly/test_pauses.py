"""How each framework says that a run waits for a human."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import agent, asks, dumped, llm, returns, runs, says, span, tool
from tracescore.model import JSONValue, Span, SpanEvent

ASK = [says("user", "pay him")]
PAY = asks("pay")
CHAIN: dict[str, JSONValue] = {"openinference.span.kind": "CHAIN"}


def interrupted(name: str = "langgraph.errors.GraphInterrupt") -> tuple[SpanEvent, ...]:
    return (SpanEvent(name="exception", time_ns=1, attributes={"exception.type": name, "exception.message": "?"}),)


def called(*more: Span, until: float = 20, **own: Any) -> str:
    """Give the status of an agent that asked for a call of ``pay``, and of what came of it."""
    found = runs(
        agent("bot", until=until, **own),
        llm("one", parent="bot", at=1, given=ASK, answer=PAY),
        *more,
    )
    return found["bot"].status


def message(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "parts": list(parts), **more}


@pytest.mark.parametrize(
    "waits",
    [
        tool("t", called="pay", parent="bot", at=3, until=4, status="error", events=interrupted()),
        span("node", parent="bot", at=3, until=4, attributes=CHAIN, status="error", events=interrupted()),
        span("node", parent="bot", at=3, until=4, status="error", message="GraphInterrupt((Interrupt(value='ok?'),))"),
        tool("t", called="pay", parent="bot", at=3, until=4, status="error", events=interrupted("ApprovalRequired")),
        span(
            "chunk: 'tool-call-approval'",
            parent="one",
            at=1.5,
            attributes={"mastra.span.type": "model_chunk", "mastra.model_chunk.output": '{"toolName": "pay"}'},
        ),
        tool(
            "t",
            called="pay",
            parent="bot",
            at=3,
            attributes={
                "gcp.vertex.agent.tool_response": dumped(
                    {"error": "This tool call requires confirmation, please approve or reject."}
                )
            },
        ),
    ],
    ids=["langgraph tool", "langgraph node", "langsmith", "pydantic-ai tool", "mastra", "adk tool"],
)
def test_a_span_inside_the_run_says_so(waits: Span) -> None:
    going_on = llm("two", parent="bot", at=9, given=[*ASK, PAY, returns("paid")], answer=says("assistant", "done"))

    assert called(waits) == "paused"
    assert called(waits, going_on) == "ok"


@pytest.mark.parametrize(
    "output",
    [
        {
            "gen_ai.output.messages": dumped(
                [message({"type": "function_approval_request", "id": "1", "function_call": {"name": "pay"}})]
            )
        },
        {"gen_ai.output.messages": dumped([message({"type": "tool-approval-request", "approvalId": "1"})])},
        {"gen_ai.output.messages": dumped([message({"type": "mcp_approval_request", "name": "pay"})])},
        {"gen_ai.output.messages": dumped([message({"type": "text", "content": ""}, finish_reason="interrupt")])},
        {"gen_ai.output.messages": dumped([asks("adk_request_confirmation", {"hint": "?"}, id="c9")])},
        {
            "output.value": dumped(
                {"messages": [{"role": "user", "content": "pay him"}], "__interrupt__": [{"value": 1}]}
            )
        },
        {
            "final_result": dumped({"calls": [], "approvals": [{"tool_name": "pay"}], "metadata": {}, "_kinds": {}}),
            "agent_name": "bot",
        },
    ],
    ids=["ms-agent-framework", "ai-sdk", "mcp", "strands", "adk", "langgraph state", "pydantic-ai result"],
)
def test_what_the_run_ends_with_says_so(output: dict[str, JSONValue]) -> None:
    assert called(attributes=output) == "paused"


@pytest.mark.parametrize(
    "output",
    [
        {"output.value": dumped({"type": "loan_approval_request", "amount": 3})},
        {"final_result": dumped({"calls": [], "approvals": []}), "agent_name": "bot"},
        {"output.value": dumped({"calls": [1], "approvals": [2], "total": 3})},
        {"output.value": dumped({"messages": [{"role": "user", "content": "pay him"}], "__interrupt__": []})},
    ],
)
def test_an_answer_that_only_looks_like_it_does_not(output: dict[str, JSONValue]) -> None:
    assert called(attributes=output) == "ok"


def test_a_strands_agent_that_is_interrupted_says_so_in_its_choice() -> None:
    choice = {"message": "", "finish_reason": "interrupt"}
    event = SpanEvent(name="gen_ai.choice", time_ns=5, attributes={**choice, "message": "I need your word."})

    assert called(events=(event,)) == "paused"


def test_a_sub_agent_that_waits_says_nothing_of_its_supervisor_but_its_tool_does() -> None:
    inner = (
        agent("inner", parent="bot", at=3, until=9),
        tool("t", called="pay", parent="inner", at=4, until=5, status="error", events=interrupted()),
    )
    found = runs(agent("bot", until=20), llm("one", parent="bot", at=1, given=ASK, answer=PAY), *inner)
    assert (found["bot"].status, found["inner"].status) == ("ok", "paused")

    handed = tool("call", called="pay", parent="bot", at=2, until=10, status="error", events=interrupted())
    found = runs(agent("bot", until=20), llm("one", parent="bot", at=1, given=ASK, answer=PAY), handed)
    assert found["bot"].status == "paused"


def test_a_trace_without_an_agent_may_wait_too() -> None:
    found = runs(
        span("graph", until=20, attributes={**CHAIN, "input.value": "pay him"}),
        llm("one", parent="graph", at=1, given=ASK, answer=PAY),
        span("node", parent="graph", at=3, until=4, attributes=CHAIN, status="error", events=interrupted()),
    )

    assert [run.status for run in found.values()] == ["paused"]


CALLED_FOR: dict[str, JSONValue] = {"gen_ai.output.messages": dumped([PAY])}
BEGUN = tool("t", called="pay", parent="bot", at=3, attributes={"gen_ai.tool.call.arguments": "{}"})
AGNO = "I have tools to execute, but "


@pytest.mark.parametrize(
    ("more", "own", "status"),
    [
        ((), {"attributes": CALLED_FOR}, "paused"),
        ((), {"attributes": CALLED_FOR, "status": "error", "message": "MaxTurnsExceeded"}, "error"),
        ((), {"attributes": {**CALLED_FOR, "error.type": "timeout"}}, "error"),
        ((), {"attributes": CALLED_FOR, "events": interrupted("GeneratorExit")}, "ok"),
        ((), {"attributes": {"gen_ai.output.messages": dumped([{**PAY, "finish_reason": "length"}])}}, "ok"),
        ((), {"attributes": {"gen_ai.output.messages": dumped([{**PAY, "finish_reason": "max_steps"}])}}, "ok"),
        ((), {"attributes": {**CALLED_FOR, "gen_ai.response.finish_reasons": ["length"]}}, "ok"),
        ((BEGUN,), {}, "paused"),
        ((BEGUN,), {"status": "error", "message": "MaxTurnsExceeded"}, "error"),
        ((BEGUN,), {"attributes": {"gen_ai.output.messages": dumped([says("assistant", "paid")])}}, "ok"),
        ((BEGUN, span("GET", parent="t", at=3.5)), {}, "ok"),
        (
            (),
            {"attributes": {"output.value": f"{AGNO}I need confirmation, user input, or external execution."}},
            "paused",
        ),
        ((), {"attributes": {"output.value": f"{AGNO}it needs external execution."}}, "paused"),
        ((), {"attributes": {"output.value": f"{AGNO}which of them do you mean?"}}, "ok"),
    ],
)
def test_a_call_that_nothing_answers_waits_unless_the_run_broke_off(
    more: tuple[Span, ...], own: dict[str, Any], status: str
) -> None:
    assert called(*more, **own) == status


def test_the_call_of_a_broken_stream_waits_for_nobody() -> None:
    broken = llm("two", parent="bot", at=4, given=ASK, answer=PAY, status="error", message="connection reset")

    assert called(broken, attributes=CALLED_FOR) == "error"
