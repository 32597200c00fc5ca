"""What users of the GenAI conventions do and no recorded file shows, as their libraries write it."""

from __future__ import annotations

from typing import Any

from tests.assembly.building import brief
from tests.dialects.weather import ANSWER, QUESTION, SYSTEM, check, dumped, runs, span
from tracescore.model import JSONValue

ARGUMENTS = '{"city": "Paris"}'
RESULT = "18C and sunny"
ASKED: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
USED: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": 57, "gen_ai.usage.output_tokens": 11}


def test_calls_that_google_adk_ran_at_once_have_each_its_own_result() -> None:
    provider: dict[str, JSONValue] = {"gen_ai.provider.name": "gcp.gemini", "gen_ai.operation.name": "generate_content"}
    asked = {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    calls = [
        {"type": "tool_call", "id": f"find_{place}", "name": "find", "arguments": {"q": place}} for place in (1, 2)
    ]
    both = {"role": "assistant", "parts": [{"type": "text", "content": "Both."}, *calls]}
    results = [{"type": "tool_call_response", "id": f"find_{place}", "response": f"r{place + 1}"} for place in (0, 1)]
    given, answered = "gen_ai.input.messages", "gen_ai.output.messages"

    (run,) = runs(
        span("invoke_agent bot", until=50, attributes={"gen_ai.operation.name": "invoke_agent"}),
        span(
            "generate_content",
            parent="invoke_agent bot",
            at=1,
            attributes={**provider, given: dumped([asked]), answered: dumped([both])},
        ),
        span(
            "execute_tool (merged)",
            parent="invoke_agent bot",
            at=9,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "(merged tools)",
                "gcp.vertex.agent.event_id": "e",
            },
        ),
        span(
            "generate_content  2",
            parent="invoke_agent bot",
            at=20,
            attributes={
                **provider,
                given: dumped([asked, both, {"role": "user", "parts": results}]),
                answered: dumped([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]),
            },
        ),
    )

    assert brief(run.output) == ["a: Both. | find({'q': 1}) -> r1 | find({'q': 2}) -> r2", f"a: {ANSWER}"]


def test_langgraph_under_openlit() -> None:
    def node(name: str, at: float) -> Any:
        own: dict[str, JSONValue] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "langgraph"}
        attributes = {**own, "gen_ai.agent.name": "model", "gen_ai.input.messages": dumped(ASKED[1:])}
        return span(name, parent="invoke_workflow bot", at=at, until=at + 8, attributes=attributes)

    def chat(name: str, parent: str, at: float, asked: list[Any], answered: Any) -> Any:
        own: dict[str, JSONValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small", **USED}
        messages = {"gen_ai.input.messages": dumped(asked), "gen_ai.output.messages": dumped([answered])}
        return span(name, parent=parent, at=at, until=at + 5, attributes={**own, **messages})

    said = f"content={RESULT!r} name='get_weather' tool_call_id='c'"
    tool: dict[str, JSONValue] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}
    result = {"gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": ARGUMENTS, "gen_ai.tool.call.result": said}

    (run,) = runs(
        span("invoke_workflow bot", until=60, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        node("invoke_agent model", 1),
        chat("chat", "invoke_agent model", 2, ASKED, CALLED),
        span("execute_tool get_weather", parent="invoke_workflow bot", at=12, attributes={**tool, **result}),
        node("invoke_agent model  2", 20),
        chat("chat  2", "invoke_agent model  2", 21, ASKED, {"role": "assistant", "content": ANSWER}),
    )

    check(run)
    assert (run.kind, run.usage.input) == ("trace", 114)
