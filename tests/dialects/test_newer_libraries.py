"""Libraries of which no recorded file is at hand, and some that no dialect knows at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.assembly.building import brief
from tests.dialects.weather import (
    ANSWER,
    ARGUMENTS,
    ASKED,
    CALL,
    CALLED,
    QUESTION,
    RESULT,
    RETURNED,
    SYSTEM,
    TOOL_CALL,
    USED,
    check,
    dumped,
    numbered,
    runs,
    span,
)
from tracescore.dialects import KNOWN_DIALECTS
from tracescore.model import JSONValue, SpanEvent


def test_gemini_cli() -> None:
    own: dict[str, JSONValue] = {"gen_ai.agent.name": "gemini-cli", "gen_ai.conversation.id": "s-1"}
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}, "id": "c"}}
    response = {"functionResponse": {"id": "c", "name": "get_weather", "response": {"output": "18C and sunny"}}}
    asked: list[Any] = [{"role": "user", "parts": [{"text": QUESTION}]}]
    request: dict[str, Any] = {"callId": "c", "name": "get_weather", "args": {"city": "Paris"}, "prompt_id": "p"}
    done = {"status": "success", "request": request, "response": {"callId": "c", "responseParts": [response]}}
    streamed = [{"role": "model", "parts": [{"text": text}]} for text in (ANSWER[:5], ANSWER[5:])]

    def operation(name: str, parent: str | None, at: float, given: Any, answered: Any, **more: JSONValue) -> Any:
        content: dict[str, JSONValue] = {"gen_ai.input.messages": given if isinstance(given, str) else dumped(given)}
        if answered is not None:
            content["gen_ai.output.messages"] = dumped(answered)
        attributes = {**own, "gen_ai.operation.name": name.partition("  ")[0], **content, **more}
        return span(name, parent=parent, at=at, until=at + (80 if parent is None else 8), attributes=attributes)

    model: dict[str, JSONValue] = {
        "gen_ai.request.model": "gemini",
        "gen_ai.system_instructions": dumped({"role": "user", "parts": [{"text": SYSTEM}]}),
        **USED,
    }
    history = [*asked, {"role": "model", "parts": [call]}, {"role": "user", "parts": [response]}]
    (run,) = runs(
        operation("user_prompt", None, 0, QUESTION, None),
        operation("llm_call", "user_prompt", 1, asked, [{"role": "model", "parts": [call]}], **model),
        operation("schedule_tool_calls", "user_prompt", 10, [request], [done]),
        operation("tool_call", "schedule_tool_calls", 11, request, done, **{"gen_ai.tool.name": "get_weather"}),
        operation("llm_call  2", "user_prompt", 30, history, streamed, **model),
    )

    check(run)
    assert (run.agent_name, run.session_id, run.usage.input) == ("gemini-cli", "s-1", 114)


def test_azure_keeps_the_body_of_an_event_as_json() -> None:
    def event(name: str, **body: Any) -> SpanEvent:
        return SpanEvent(name=f"gen_ai.{name}", attributes={"gen_ai.event.content": dumped(body)})

    own: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", **USED}
    asked = (event("system.message", content=SYSTEM), event("user.message", content=QUESTION))
    called = event("choice", message={"tool_calls": [TOOL_CALL]}, finish_reason="tool_calls", index=0)
    history = (event("assistant.message", tool_calls=[TOOL_CALL]), event("tool.message", content=RESULT, id="c"))
    answered = event("choice", message={"content": ANSWER}, finish_reason="stop", index=0)

    (run,) = runs(
        span("app", until=90),
        span("chat small", parent="app", at=1, until=5, attributes=own, events=(*asked, called)),
        span("chat small  2", parent="app", at=10, until=15, attributes=own, events=(*asked, *history, answered)),
    )

    check(run)


def test_rig() -> None:
    own: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", **USED}
    function = {"name": "get_weather", "arguments": {"city": "Paris"}}
    asked = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    called = {"role": "assistant", "id": None, "content": [{"id": "c", "call_id": None, "function": function}]}
    block = {"type": "toolresult", "id": "c", "content": [{"type": "text", "text": RESULT}]}
    returned = {"role": "user", "content": [block]}

    def call(name: str, at: float, given: list[Any], answered: Any) -> Any:
        content = {"gen_ai.input.messages": dumped(given), "gen_ai.output.messages": dumped([answered])}
        attributes = {**own, "gen_ai.system_instructions": SYSTEM, **content}
        return span(name, parent="invoke_agent", at=at, until=at + 5, attributes=attributes)

    (run,) = runs(
        span("invoke_agent", until=50, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.prompt": QUESTION}),
        call("chat", 1, [asked], called),
        call("chat  2", 10, [asked, called, returned], {"role": "assistant", "content": [{"text": ANSWER}]}),
    )

    check(run)


def _acmeops(kind: str, given: Any, answered: Any) -> dict[str, JSONValue]:
    own: dict[str, JSONValue] = {"acmeops.span.kind": kind}
    if kind == "llm":
        asked, chosen = numbered("gen_ai.prompt.", *given), numbered("gen_ai.completion.", answered)
        return {**own, "gen_ai.request.model": "small", **USED, **asked, **chosen}
    boxed = {"args": [], "kwargs": given} if kind == "tool" else {"args": [given], "kwargs": {}}
    return {**own, "acmeops.entity.input": dumped(boxed), "acmeops.entity.output": dumped(answered)}


def _braintrust(kind: str, given: Any, answered: Any) -> dict[str, JSONValue]:
    metrics = {"prompt_tokens": 57, "completion_tokens": 11}
    return {
        "braintrust.span_attributes": dumped({"type": {"agent": "task"}.get(kind, kind)}),
        "braintrust.input_json": dumped(given),
        "braintrust.output_json": dumped([{"index": 0, "message": answered}] if kind == "llm" else answered),
        **({"braintrust.metrics": dumped(metrics)} if kind == "llm" else {}),
    }


def _promptflow(kind: str, given: Any, answered: Any) -> dict[str, JSONValue]:
    names = {"agent": "Function", "llm": "LLM", "tool": "Tool"}
    used: dict[str, JSONValue] = {"llm.usage.prompt_tokens": 57, "llm.response.model": "small"}
    return {
        "framework": "promptflow",
        "span_type": names[kind],
        "inputs": dumped({"messages": given} if kind == "llm" else given),
        "output": dumped({"choices": [{"index": 0, "message": answered}]} if kind == "llm" else answered),
        **(used if kind == "llm" else {}),
    }


@pytest.mark.parametrize("written", [_acmeops, _braintrust, _promptflow])
def test_what_no_dialect_knows_is_read_by_how_its_names_end(written: Callable[..., dict[str, JSONValue]]) -> None:
    flat = written is _acmeops  # it numbers what the others keep as one value
    call: dict[str, JSONValue] = {"tool_calls.0.name": "get_weather", "tool_calls.0.arguments": ARGUMENTS}
    called = {"role": "assistant", **call, "tool_calls.0.id": "c"} if flat else CALLED

    (run,) = runs(
        span("weather_bot", until=50, attributes=written("agent", QUESTION, ANSWER)),
        span("call", parent="weather_bot", at=1, until=9, attributes=written("llm", ASKED, called)),
        span("get_weather", parent="weather_bot", at=10, attributes=written("tool", {"city": "Paris"}, RESULT)),
        span(
            "call  2",
            parent="weather_bot",
            at=20,
            until=29,
            attributes=written("llm", [*ASKED, called, RETURNED], {"role": "assistant", "content": ANSWER}),
        ),
    )

    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert [message.content for message in run.input.system_messages] == [SYSTEM]
    assert brief(run.output) == [CALL, f"a: {ANSWER}"]
    assert (run.usage.input, [issue.code for issue in run.issues]) == (114, ["unknown_dialect"])


@pytest.mark.parametrize(
    "attributes",
    [
        {"request.type": "chat", "request.body": "x", "response.body": "y"},
        {"activity.type": "chat", "activity.input": "x", "activity.output": "y"},
        {"apollo.operation.name": "GetChat", "apollo.request": "{}", "apollo.response": "{}"},
        {"orm.model": "Chat", "orm.operation": "create", "orm.input": "{}", "orm.output": "{}"},
        {"controller.kind": "Agent", "controller.name": "agent"},
        {"step.type": "model", "inputs": "[1]", "outputs": "[1]", "metrics": '{"loss": 1}'},
        {"flags.type": "agent", "flags.key": "new_checkout"},
        {"function.name": "compute", "args": "[1, 2]", "result": "3"},
        {"bank.operation": "transfer", "bank.request": "{}"},
    ],
)
def test_a_type_or_an_operation_of_another_trade_is_no_part_of_a_run(attributes: dict[str, JSONValue]) -> None:
    assert KNOWN_DIALECTS.read(span("work", attributes=attributes), ()).role is None


def test_what_is_read_as_content_is_no_attribute_of_a_run() -> None:
    said: dict[str, JSONValue] = {"acme.prompt": "x", "acme.messages.0.content": "x", "acme.tool.result": "x"}

    (run,) = runs(span("bot", attributes={"acme.span.kind": "agent", "acme.region": "eu", **said}))

    assert run.attributes["acme.region"] == "eu"
    assert said.keys().isdisjoint(run.attributes)
