"""Libraries and versions that no recorded file shows, as their source and documentation say they write the scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.assembly.building import brief
from tests.dialects.weather import ANSWER, CALL, QUESTION, SYSTEM, check, dumped, numbered, runs, span
from tracescore.model import JSONValue, SpanEvent

ARGUMENTS = '{"city": "Paris"}'
RESULT = "18C and sunny"
ASKED: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
RETURNED = {"role": "tool", "tool_call_id": "c", "content": RESULT}
USED: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": 57, "gen_ai.usage.output_tokens": 11}


def test_livekit() -> None:
    items = [
        {"id": "1", "type": "message", "role": "system", "content": [SYSTEM]},
        {"id": "2", "type": "message", "role": "user", "content": [QUESTION]},
    ]
    call = {"id": "f/1", "call_id": "c", "name": "get_weather", "arguments": ARGUMENTS}
    output = {"type": "function_call_output", "call_id": "c", "name": "get_weather", "output": RESULT}
    turn: dict[str, JSONValue] = {"lk.user_input": QUESTION, "lk.instructions": SYSTEM}

    def request(name: str, parent: str, at: float, *events: SpanEvent) -> Any:
        own: dict[str, JSONValue] = {"gen_ai.request.model": "small", "gen_ai.operation.name": "chat", **USED}
        return span(name, parent=parent, at=at, until=at + 3, attributes=own, events=events)

    system = SpanEvent(name="gen_ai.system.message", attributes={"content": SYSTEM})
    asked = SpanEvent(name="gen_ai.user.message", attributes={"content": QUESTION})
    calls: dict[str, JSONValue] = {"role": "assistant", "tool_calls": [dumped(TOOL_CALL)]}
    found = runs(
        span("agent_session", until=90, attributes={"lk.job_id": "j"}),
        span("agent_turn", parent="agent_session", at=1, until=40, attributes=turn),
        span(
            "llm_node",
            parent="agent_turn",
            at=2,
            until=9,
            attributes={"lk.chat_ctx": dumped({"items": items}), "lk.response.function_calls": dumped([call])},
        ),
        request("llm_request", "llm_node", 3, system, asked, SpanEvent(name="gen_ai.choice", attributes=calls)),
        span(
            "function_tool",
            parent="agent_turn",
            at=10,
            attributes={
                "lk.function_tool.id": "c",
                "lk.function_tool.name": "get_weather",
                "lk.function_tool.arguments": ARGUMENTS,
                "lk.function_tool.output": RESULT,
                "lk.function_tool.is_error": False,
            },
        ),
        span(
            "llm_node  2",
            parent="agent_turn",
            at=20,
            until=29,
            attributes={
                "lk.chat_ctx": dumped({"items": [*items, {**call, "type": "function_call"}, output]}),
                "lk.response.text": ANSWER,
            },
        ),
        request("llm_request  2", "llm_node  2", 21),
        span("tts_node", parent="agent_turn", at=30, until=39, attributes={"lk.input_text": ANSWER}),
    )

    (run,) = found
    check(run)
    assert (run.usage.input, run.usage.output) == (114, 22)


def test_pipecat() -> None:
    own: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", **USED}
    speaks: dict[str, JSONValue] = {"gen_ai.operation.name": "tts", "gen_ai.request.model": "voice", "text": ANSWER}

    (run,) = runs(
        span("conversation", until=60, attributes={"conversation.id": "s-1", "conversation.type": "voice"}),
        span("turn", parent="conversation", at=1, until=50, attributes={"turn.number": 1, "conversation.id": "s-1"}),
        span(
            "llm",
            parent="turn",
            at=2,
            until=9,
            attributes={**own, "input": dumped(ASKED[1:]), "gen_ai.system_instructions": SYSTEM},
        ),
        span(
            "function_call",
            parent="turn",
            at=10,
            attributes={
                "tool.function_name": "get_weather",
                "tool.call_id": "c",
                "tool.arguments": ARGUMENTS,
                "tool.result": dumped(RESULT),
                "tool.result_status": "success",
            },
        ),
        span(
            "llm  2",
            parent="turn",
            at=20,
            until=29,
            attributes={
                **own,
                "input": dumped([*ASKED[1:], CALLED, RETURNED]),
                "output": ANSWER,
                "gen_ai.system_instructions": SYSTEM,
            },
        ),
        span("tts", parent="turn", at=30, until=40, attributes=speaks),
    )

    check(run)
    assert (run.session_id, run.usage.input) == ("s-1", 114)


def test_voltagent() -> None:
    own: dict[str, JSONValue] = {
        "entity.id": "w",
        "entity.type": "agent",
        "entity.name": "WeatherBot",
        "user.id": "u-1",
        "conversation.id": "s-1",
    }
    model: dict[str, JSONValue] = {**own, "span.type": "llm", "llm.operation": "generateText", "llm.model": "small"}

    (run,) = runs(
        span(
            "generateText",
            until=50,
            attributes={
                **own,
                "input": QUESTION,
                "output": ANSWER,
                "agent.instructions": SYSTEM,
                "usage.prompt_tokens": 114,
                "usage.completion_tokens": 22,
            },
        ),
        span(
            "llm:generateText",
            parent="generateText",
            at=1,
            until=40,
            attributes={**model, "llm.messages": dumped(ASKED)},
        ),
        span(
            "tool.execution:get_weather",
            parent="generateText",
            at=10,
            attributes={
                **own,
                "span.type": "tool",
                "tool.name": "get_weather",
                "tool.call.id": "c",
                "input": ARGUMENTS,
                "output": RESULT,
            },
        ),
    )

    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert run.input.system_messages[0].content == SYSTEM
    assert brief(run.output) == [CALL, f"a: {ANSWER}"]
    assert (run.agent_name, run.session_id, run.user_id, run.usage.input) == ("WeatherBot", "s-1", "u-1", 114)


def test_koog() -> None:
    own: dict[str, JSONValue] = {"gen_ai.system": "openai", "gen_ai.conversation.id": "s-1"}
    call = dumped([TOOL_CALL])
    other = dumped([{**TOOL_CALL, "id": "d"}])
    told = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": QUESTION},
        {"role": "tool", "content": call},
        {"role": "tool", "content": RESULT},
        {"role": "tool", "content": other},
        {"role": "tool", "content": RESULT},
    ]
    chat: dict[str, JSONValue] = {**own, "gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
    executed: dict[str, JSONValue] = {
        "gen_ai.tool.name": "get_weather",
        "input.value": ARGUMENTS,
        "output.value": RESULT,
    }

    (run,) = runs(
        span("agent.w", until=90, attributes={"gen_ai.operation.name": "create_agent", "gen_ai.agent.id": "w"}),
        span(
            "run.1",
            parent="agent.w",
            at=1,
            until=80,
            attributes={**own, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "w"},
        ),
        span("node.nodeCallLLM", parent="run.1", at=2, until=10, attributes={"koog.node.name": "nodeCallLLM"}),
        span(
            "llm.chat",
            parent="node.nodeCallLLM",
            at=3,
            until=9,
            attributes={
                **chat,
                **numbered("gen_ai.prompt.", *told[:2]),
                **numbered(
                    "gen_ai.completion.",
                    {"role": "assistant", "content": call, "finish_reason": "tool_calls"},
                    {"role": "assistant", "content": other, "finish_reason": "tool_calls"},
                ),
            },
        ),
        span("tool.get_weather", parent="run.1", at=11, attributes={**executed, "gen_ai.tool.call.id": "c"}),
        span("tool.get_weather  2", parent="run.1", at=13, attributes={**executed, "gen_ai.tool.call.id": "d"}),
        span(
            "llm.chat  2",
            parent="run.1",
            at=20,
            until=29,
            attributes={
                **chat,
                **numbered("gen_ai.prompt.", *told),
                **numbered("gen_ai.completion.", {"role": "assistant", "content": ANSWER}),
            },
        ),
    )

    one = CALL.removeprefix("a: ")
    assert brief(run.output) == [f"a: {one} | {one}", f"a: {ANSWER}"]
    assert (run.session_id, run.issues) == ("s-1", ())


def test_litellm_in_its_second_version() -> None:
    chose = [{"index": 0, "finish_reason": "tool_calls", "message": CALLED}]
    own: dict[str, JSONValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.tool.0.name": "get_weather",
        "gen_ai.system_instructions": dumped([{"role": "system", "parts": [{"type": "text", "content": SYSTEM}]}]),
        **USED,
    }

    def call(name: str, at: float, given: list[Any], answered: list[Any]) -> Any:
        content = {"gen_ai.input.messages": dumped(given), "gen_ai.output.messages": dumped(answered)}
        return span(name, parent="app", at=at, until=at + 9, scope="litellm", attributes={**own, **content})

    (run,) = runs(
        span("app", until=50),
        call("chat small", 1, ASKED[1:], chose),
        call(
            "chat small  2", 20, [*ASKED[1:], CALLED, RETURNED], [{"message": {"role": "assistant", "content": ANSWER}}]
        ),
    )

    check(run)
    assert (run.session_id, run.usage.input) == ("s-1", 114)


def test_the_extensions_of_dotnet() -> None:
    scope = "Experimental.Microsoft.Extensions.AI"
    asked = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    part = {"type": "tool_call", "id": "c", "name": "get_weather", "arguments": {"city": "Paris"}}
    called = {"role": "assistant", "parts": [part]}
    result = {"type": "tool_call_response", "id": "c", "response": RESULT}
    instructions = dumped([{"type": "text", "content": SYSTEM}])
    own: dict[str, JSONValue] = {"gen_ai.provider.name": "openai", "gen_ai.system_instructions": instructions}
    chat: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", **own, **USED}

    (run,) = runs(
        span("orchestrate_tools", until=50, scope=scope, attributes={"gen_ai.operation.name": "orchestrate_tools"}),
        span(
            "chat small",
            parent="orchestrate_tools",
            at=1,
            until=9,
            scope=scope,
            attributes={
                **chat,
                "gen_ai.input.messages": dumped(asked),
                "gen_ai.output.messages": dumped([{**called, "finish_reason": "tool_call"}]),
            },
        ),
        span(
            "execute_tool get_weather",
            parent="orchestrate_tools",
            at=10,
            scope=scope,
            attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"},
        ),
        span(
            "chat small  2",
            parent="orchestrate_tools",
            at=20,
            until=29,
            scope=scope,
            attributes={
                **chat,
                "gen_ai.input.messages": dumped([*asked, called, {"role": "tool", "parts": [result]}]),
                "gen_ai.output.messages": dumped(
                    [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]
                ),
            },
        ),
    )

    check(run)


def test_the_claude_agent_sdk_under_langsmith() -> None:
    call = {"type": "tool_use", "id": "c", "name": "get_weather", "input": {"city": "Paris"}}
    own: dict[str, JSONValue] = {"langsmith.metadata.session_id": "s-1", "langsmith.trace.name": "claude.conversation"}
    turn: dict[str, JSONValue] = {**own, "langsmith.span.kind": "llm", "gen_ai.request.model": "claude"}

    (run,) = runs(
        span(
            "claude.conversation",
            until=50,
            attributes={
                **own,
                "langsmith.span.kind": "chain",
                "gen_ai.operation.name": "chain",
                "gen_ai.prompt": dumped({"prompt": QUESTION, "system": SYSTEM}),
            },
        ),
        span(
            "claude.assistant.turn",
            parent="claude.conversation",
            at=1,
            until=9,
            attributes={
                **turn,
                "gen_ai.prompt": dumped({"messages": ASKED}),
                "gen_ai.completion": dumped({"role": "assistant", "content": [call]}),
            },
        ),
        span(
            "get_weather",
            parent="claude.conversation",
            at=10,
            attributes={
                **own,
                "langsmith.span.kind": "tool",
                "gen_ai.prompt": dumped({"input": {"city": "Paris"}}),
                "gen_ai.completion": dumped({"output": RESULT}),
            },
        ),
        span(
            "claude.assistant.turn  2",
            parent="claude.conversation",
            at=20,
            until=29,
            attributes={
                **turn,
                "gen_ai.completion": dumped({"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}),
            },
        ),
    )

    check(run)
    assert run.session_id == "s-1"


def test_openlit_before_it_followed_the_conventions() -> None:
    prompt = f"system: {SYSTEM}\nuser: Hi\nassistant: Hello\nof course: yes\nuser: {QUESTION}"
    events = (
        SpanEvent(name="gen_ai.content.prompt", attributes={"gen_ai.prompt": prompt}),
        SpanEvent(name="gen_ai.content.completion", attributes={"gen_ai.completion": ANSWER}),
    )
    own: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}

    in_events = runs(span("openai.chat.completions", attributes=own, events=events))
    in_attributes = runs(
        span("openai.chat.completions", attributes={**own, "gen_ai.prompt": prompt, "gen_ai.completion": ANSWER})
    )

    for (run,) in (in_events, in_attributes):
        assert [message.content for message in run.input.system_messages] == [SYSTEM]
        assert brief(run.input.remembered_messages) == ["u: Hi", "a: Hello\nof course: yes"]
        assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
        assert run.output.text == ANSWER


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


def _agentops(kind: str, given: Any, answered: Any) -> dict[str, JSONValue]:
    own: dict[str, JSONValue] = {"agentops.span.kind": kind}
    if kind == "llm":
        asked, chosen = numbered("gen_ai.prompt.", *given), numbered("gen_ai.completion.", answered)
        return {**own, "gen_ai.request.model": "small", **USED, **asked, **chosen}
    boxed = {"args": [], "kwargs": given} if kind == "tool" else {"args": [given], "kwargs": {}}
    return {**own, "agentops.entity.input": dumped(boxed), "agentops.entity.output": dumped(answered)}


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


@pytest.mark.parametrize("written", [_agentops, _braintrust, _promptflow])
def test_what_no_dialect_knows_is_read_by_how_its_names_end(written: Callable[..., dict[str, JSONValue]]) -> None:
    flat = written is _agentops  # it numbers what the others keep as one value
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
