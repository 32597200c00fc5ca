"""Libraries of which no recorded file is at hand: their spans as their documentation and source describe them."""

from __future__ import annotations

from typing import Any

from tests.assembly.building import brief
from tests.dialects.weather import ANSWER, QUESTION, SYSTEM, check, dumped, numbered, runs, span
from tracescore.model import JSONValue, SpanEvent


def adk_request(*contents: dict[str, Any]) -> str:
    return dumped({"model": "gemini", "config": {"system_instruction": SYSTEM}, "contents": list(contents)})


def test_google_adk_before_version_2() -> None:
    asked = {"role": "user", "parts": [{"text": QUESTION}]}
    call = {"id": "c", "name": "get_weather", "args": {"city": "Paris"}}
    called = {"role": "model", "parts": [{"function_call": call}]}
    returned = {"name": "get_weather", "id": "c", "response": {"result": "18C and sunny"}}
    result = {"role": "user", "parts": [{"function_response": returned}]}
    answered = {"role": "model", "parts": [{"text": ANSWER}]}
    usage = {"prompt_token_count": 57, "candidates_token_count": 14, "total_token_count": 71}
    own: dict[str, JSONValue] = {"gen_ai.system": "gcp.vertex.agent", "gcp.vertex.agent.session_id": "s-1"}

    def model_call(name: str, at: float, contents: list[dict[str, Any]], reply: dict[str, Any]) -> Any:
        return span(
            name,
            parent="agent_run [bot]",
            at=at,
            until=at + 9,
            attributes={
                **own,
                "gen_ai.request.model": "gemini",
                "gen_ai.usage.output_tokens": 71,
                "gcp.vertex.agent.llm_request": adk_request(*contents),
                "gcp.vertex.agent.llm_response": dumped({"content": reply, "usage_metadata": usage}),
            },
        )

    (run,) = runs(
        span("invocation", until=50, attributes=own),
        span("agent_run [bot]", parent="invocation", at=1, until=49),
        model_call("call_llm", 2, [asked], called),
        span(
            "execute_tool get_weather",
            parent="call_llm",
            at=5,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gcp.vertex.agent.llm_request": "{}",
                "gcp.vertex.agent.tool_call_args": '{"city": "Paris"}',
                "gcp.vertex.agent.tool_response": '{"result": "18C and sunny"}',
            },
        ),
        model_call("call_llm  2", 20, [asked, called, result], answered),
    )

    check(run)
    assert (run.session_id, run.usage.output) == ("s-1", 28)


def test_claude_code() -> None:
    own: dict[str, JSONValue] = {"session.id": "s-1", "user.id": "u-1"}
    scope = "com.anthropic.claude_code.tracing"
    (run,) = runs(
        span("claude_code.interaction", until=50, scope=scope, attributes={**own, "user_prompt": QUESTION}),
        span(
            "claude_code.llm_request",
            parent="claude_code.interaction",
            at=1,
            until=9,
            scope=scope,
            attributes={
                **own,
                "model": "claude",
                "input_tokens": 4,
                "cache_read_tokens": 40,
                "output_tokens": 3,
                "new_context": QUESTION,
                "response.has_tool_call": True,
                "stop_reason": "tool_use",
            },
        ),
        span(
            "claude_code.tool",
            parent="claude_code.interaction",
            at=10,
            until=15,
            scope=scope,
            attributes={**own, "tool_name": "get_weather", "tool_input": '{"city": "Paris"}'},
            events=(SpanEvent(name="tool.output", attributes={"output": "18C and sunny"}),),
        ),
        span("claude_code.tool.execution", parent="claude_code.tool", at=11, scope=scope),
        span(
            "claude_code.llm_request  again",
            parent="claude_code.interaction",
            at=20,
            until=29,
            scope=scope,
            attributes={
                **own,
                "span.type": "llm_request",
                "model": "claude",
                "input_tokens": 5,
                "cache_read_tokens": 44,
                "output_tokens": 6,
                "response.model_output": ANSWER,
                "stop_reason": "end_turn",
            },
        ),
    )

    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert run.output.text == ANSWER
    assert [(call.name, call.result) for call in run.output.tool_calls] == [("get_weather", "18C and sunny")]
    assert (run.session_id, run.usage.input, run.usage.cache_read) == ("s-1", 93, 84)


def test_spring_ai() -> None:
    own: dict[str, JSONValue] = {"gen_ai.system": "spring_ai", "spring.ai.chat.client.conversation.id": "s-1"}
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]

    (run,) = runs(
        span(
            "spring_ai chat_client",
            until=50,
            attributes={**own, "gen_ai.operation.name": "framework", "spring.ai.kind": "chat_client"},
        ),
        span(
            "chat small",
            parent="spring_ai chat_client",
            at=1,
            until=9,
            attributes={
                **own,
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "small",
                "gen_ai.prompt": dumped(prompt),
                "gen_ai.completion": dumped([{"role": "assistant", "tool_calls": [call]}]),
            },
        ),
        span(
            "tool_call get_weather",
            parent="spring_ai chat_client",
            at=10,
            attributes={
                "spring.ai.kind": "tool_call",
                "spring.ai.tool.definition.name": "get_weather",
                "spring.ai.tool.call.id": "c",
                "spring.ai.tool.call.arguments": '{"city": "Paris"}',
                "spring.ai.tool.call.result": '"18C and sunny"',
            },
        ),
        span(
            "chat small  again",
            parent="spring_ai chat_client",
            at=20,
            until=29,
            attributes={
                **own,
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "small",
                "gen_ai.prompt": dumped(
                    [
                        *prompt,
                        {"role": "assistant", "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "c", "content": "18C and sunny"},
                    ]
                ),
                "gen_ai.completion": dumped([{"role": "assistant", "content": ANSWER}]),
            },
        ),
    )

    check(run)
    assert run.session_id == "s-1"


def test_spring_ai_before_its_first_release() -> None:
    prompt = SpanEvent(name="gen_ai.content.prompt", attributes={"gen_ai.prompt": [SYSTEM, QUESTION]})
    completion = SpanEvent(name="gen_ai.content.completion", attributes={"gen_ai.completion": [ANSWER]})

    (run,) = runs(
        span(
            "chat small",
            attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", "gen_ai.system": "openai"},
            events=(prompt, completion),
        )
    )

    assert run.output.text == ANSWER
    assert run.input.input_messages[-1].content == QUESTION


def test_litellm_before_its_second_version() -> None:
    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    named = {"role": "assistant", "function_call.name": "get_weather", "function_call.arguments": '{"city": "Paris"}'}
    own: dict[str, JSONValue] = {"gen_ai.operation.name": "acompletion", "gen_ai.request.model": "small"}

    (run,) = runs(
        span("request", until=50, scope="litellm"),
        span(
            "litellm_request",
            parent="request",
            at=1,
            until=9,
            scope="litellm",
            attributes={
                **own,
                **numbered("gen_ai.prompt.", *asked),
                **numbered("gen_ai.completion.", named),
                "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]',
            },
        ),
        span(
            "litellm_request  again",
            parent="request",
            at=20,
            until=29,
            scope="litellm",
            attributes={
                **own,
                **numbered("gen_ai.prompt.", *asked, named, {"role": "tool", "content": "18C and sunny"}),
                **numbered("gen_ai.completion.", {"role": "assistant", "content": ANSWER}),
            },
        ),
    )

    check(run)


def test_pydantic_ai_in_its_first_version() -> None:
    asked = [
        {"event.name": "gen_ai.system.message", "role": "system", "content": SYSTEM},
        {"event.name": "gen_ai.user.message", "role": "user", "content": QUESTION},
    ]
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    called = {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [call]}
    result = {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c", "content": "18C and sunny"}
    chose = {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "tool_calls": [call]}}
    answered = {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": ANSWER}}
    own: dict[str, JSONValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "model_request_parameters": "{}",
    }

    (run,) = runs(
        span(
            "agent run",
            until=50,
            attributes={
                "agent_name": "bot",
                "all_messages_events": dumped([*asked, called, result]),
                "final_result": ANSWER,
                "gen_ai.usage.input_tokens": 20,
            },
        ),
        span("chat small", parent="agent run", at=1, until=9, attributes={**own, "events": dumped([*asked, chose])}),
        span("running tools", parent="agent run", at=10, until=15),
        span(
            "running tool",
            parent="running tools",
            at=11,
            attributes={
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.id": "c",
                "tool_arguments": '{"city":"Paris"}',
                "tool_response": "18C and sunny",
            },
        ),
        span(
            "chat small  again",
            parent="agent run",
            at=20,
            until=29,
            attributes={**own, "events": dumped([*asked, called, result, answered])},
        ),
    )

    check(run)


def test_the_vercel_ai_sdk_in_version_6() -> None:
    prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    called = {"type": "tool-call", "toolCallId": "c", "toolName": "get_weather", "input": {"city": "Paris"}}
    output = {"type": "text", "value": "18C and sunny"}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "get_weather", "output": output}
    own: dict[str, JSONValue] = {"ai.model.id": "small", "ai.telemetry.functionId": "bot"}
    step: dict[str, JSONValue] = {**own, "ai.operationId": "ai.streamText.doStream", "ai.response.model": "small"}

    (run,) = runs(
        span(
            "ai.streamText",
            until=50,
            attributes={
                **own,
                "ai.operationId": "ai.streamText",
                "ai.prompt": dumped({"system": SYSTEM, "prompt": QUESTION}),
                "ai.response.text": ANSWER,
                "ai.usage.inputTokens": 114,
                "ai.usage.outputTokens": 22,
            },
        ),
        span(
            "ai.streamText.doStream",
            parent="ai.streamText",
            at=1,
            until=9,
            attributes={
                **step,
                "ai.prompt.messages": dumped(prompt),
                "ai.response.toolCalls": dumped([{**called, "input": '{"city": "Paris"}'}]),
                "ai.usage.inputTokens": 57,
                "ai.usage.outputTokens": 11,
                "ai.usage.inputTokenDetails.cacheReadTokens": 8,
            },
        ),
        span(
            "ai.toolCall",
            parent="ai.streamText",
            at=10,
            attributes={
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "get_weather",
                "ai.toolCall.id": "c",
                "ai.toolCall.args": '{"city":"Paris"}',
                "ai.toolCall.result": '"18C and sunny"',
            },
        ),
        span(
            "ai.streamText.doStream  again",
            parent="ai.streamText",
            at=20,
            until=29,
            attributes={
                **step,
                "ai.prompt.messages": dumped(
                    [*prompt, {"role": "assistant", "content": [called]}, {"role": "tool", "content": [result]}]
                ),
                "ai.response.text": ANSWER,
                "ai.usage.inputTokens": 57,
                "ai.usage.outputTokens": 11,
            },
        ),
    )

    check(run)
    assert (run.usage.input, run.usage.output, run.usage.cache_read) == (114, 22, 8)


def test_an_object_that_the_vercel_ai_sdk_generated_is_the_answer() -> None:
    own: dict[str, JSONValue] = {"ai.model.id": "small", "ai.telemetry.functionId": "bot"}

    (run,) = runs(
        span("ai.generateObject", until=50, attributes={**own, "ai.operationId": "ai.generateObject"}),
        span(
            "ai.generateObject.doGenerate",
            parent="ai.generateObject",
            at=1,
            attributes={
                **own,
                "ai.operationId": "ai.generateObject.doGenerate",
                "ai.prompt.messages": dumped([{"role": "user", "content": QUESTION}]),
                "ai.response.object": '{"celsius": 18}',
            },
        ),
    )

    assert [part.data for message in run.output for part in message.parts if part.type == "data"] == [{"celsius": 18}]
