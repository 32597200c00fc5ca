"""Libraries and versions that no recorded file shows, as their source and documentation say they write the scenario."""

from __future__ import annotations

from typing import Any

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
from tracescore.model import JSONValue, SpanEvent


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
            attributes={**model, "llm.messages": dumped(ASKED), "llm.usage.prompt_tokens": 57},
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
