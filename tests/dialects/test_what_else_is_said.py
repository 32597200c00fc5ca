"""What spans say beside their messages, where the recorded files do not show it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import brief
from tests.dialects.weather import dumped, runs, span
from tracescore.model import RetrievedDocument, Usage

GENERATION = {"message": {"kwargs": {"content": "Hi", "type": "ai", "response_metadata": {"model_name": "m-1"}}}}
COUNTED: dict[str, Any] = {"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": 3}}

CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "the environment of Langfuse's SDK before version 5",
        {"langfuse.observation.type": "agent", "langfuse.environment": "staging"},
        {"environment": "staging"},
    ),
    (
        "tags that a Logfire span was given, and none of the integration's own",
        {"logfire.msg_template": "Agent run: {name!r}", "logfire.tags": ["LLM", "nightly"]},
        {"tags": ("nightly",)},
    ),
    (
        "the model and the tokens inside a reply that MLflow's LangChain integration keeps",
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanOutputs": dumped({"generations": [[GENERATION]], "llm_output": None}),
        },
        {"model": "m-1"},
    ),
    (
        "the question, the model and the thoughts in MLflow's copy of a call of Gemini's client",
        {
            "mlflow.spanType": '"LLM"',
            "mlflow.spanInputs": dumped({"model": "g", "contents": "Hi", "config": {"system_instruction": "Be kind."}}),
            "mlflow.spanOutputs": dumped(
                {
                    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}],
                    "model_version": "g-1",
                    "usage_metadata": {
                        "prompt_token_count": 5,
                        "candidates_token_count": 3,
                        "thoughts_token_count": 1,
                        "total_token_count": 9,
                    },
                }
            ),
        },
        {"model": "g-1", "usage": Usage(input=5, output=4, reasoning=1), "said": ["u: Hi", "a: Hello"]},
    ),
    (
        "a reply that is nothing but blocks",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": dumped([{"type": "text", "text": "Hi"}]),
            "langfuse.observation.output": dumped(
                [{"type": "thinking", "thinking": "Ada?"}, {"type": "text", "text": "Hello"}]
            ),
        },
        {"said": ["u: Hi", "a: (Ada?) | Hello"]},
    ),
    (
        "reasoning in Bedrock's blocks",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": dumped(
                [{"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Ada?"}}}]}]
            ),
        },
        {"said": ["a: (Ada?)"]},
    ),
    (
        "an object that a flow answers with, once",
        {
            "genkit:metadata:subtype": "model",
            "genkit:output": dumped({"message": {"role": "model", "content": [{"data": {"t": 18}}]}}),
        },
        {"said": ["a: DataPart(data={'t': 18}, type='data')"]},
    ),
    (
        "documents whose text is in parts",
        {
            "genkit:metadata:subtype": "retriever",
            "genkit:output": dumped({"documents": [{"content": [{"text": "18C"}], "metadata": {"source": "x"}}]}),
        },
        {"contexts": (RetrievedDocument(text="18C", source="x"),)},
    ),
    (
        "a call once, that stands as an item of the provider's among the blocks and as a call beside them",
        {
            "langsmith.span.kind": "llm",
            "gen_ai.completion": dumped(
                {
                    "role": "assistant",
                    "content": [{"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}],
                    "tool_calls": [{"type": "tool_call", "id": "c", "name": "f", "args": {}}],
                }
            ),
        },
        {"said": ["a: f({}) -> None"]},
    ),
    (
        "a completion of Logfire's, which has no messages",
        {
            "logfire.msg_template": "Completion with {request_data[model]!r}",
            "request_data": dumped({"model": "m", "prompt": "Once upon"}),
            "response_data": dumped({"text": "a time", "usage": {"prompt_tokens": 2, "completion_tokens": 3}}),
        },
        {"said": ["u: Once upon", "a: a time"], "usage": Usage(input=2, output=3)},
    ),
    (
        "the cost and the user of LiteLLM's spans",
        {"gen_ai.operation.name": "chat", "gen_ai.cost.total_cost": 0.25, "llm.user": "u-1"},
        {"cost": 0.25, "user_id": "u-1"},
    ),
    (
        "that a generation was interrupted by a tool",
        {"genkit:type": "util", "genkit:output": dumped({"finishReason": "interrupted", "message": GENERATION})},
        {"status": "paused"},
    ),
    (
        "tokens inside the reply of a client that LangSmith wraps",
        {
            "langsmith.span.kind": "llm",
            "gen_ai.completion": dumped({"model": "m-2", "choices": [], "usage": COUNTED}),
        },
        {"model": "m-2", "usage": Usage(input=5, output=2, cache_read=3)},
    ),
]


@pytest.mark.parametrize(("attributes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_span_says(attributes: dict[str, Any], expected: dict[str, Any]) -> None:
    (run,) = runs(span("bot", until=9, attributes=attributes))

    said = brief([*run.input.input_messages, *run.output])
    assert {name: said if name == "said" else getattr(run, name) for name in expected} == expected


def test_a_plain_span_with_the_name_of_the_tool_that_was_asked_for_is_its_execution() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    asked = {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m"}
    asked["langfuse.observation.output"] = dumped({"role": "assistant", "tool_calls": [call]})
    plain = {"langfuse.observation.type": "span"}

    (run,) = runs(
        span("get_weather", until=50, attributes=plain),
        span("generation", parent="get_weather", at=1, until=9, attributes=asked),
        span("get_weather  inside", parent="get_weather", at=10, until=12, status="error", message="down"),
    )

    assert [(one.name, one.error, one.duration_ms) for one in run.output.tool_calls] == [("get_weather", "down", 2.0)]


def test_a_plain_span_of_such_a_name_is_nothing_more_where_another_agent_or_no_call_had_it() -> None:
    own = {"gen_ai.operation.name": "invoke_agent"}
    part = {"type": "tool_call", "id": "c", "name": "search", "arguments": {}}
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": dumped([{"role": "assistant", "parts": [part]}]),
    }

    one, other = runs(
        span("one", until=20, attributes=own),
        span("chat", parent="one", at=1, until=2, attributes=asked),
        span("search", parent="one", at=3, until=8),
        span("search  within", parent="search", at=4, until=5),
        span("search  unasked", parent="one", at=9, until=10),
        span("other", at=21, until=40, attributes=own),
        span("search  of another", parent="other", at=22, until=23),
    )

    assert [(call.name, call.duration_ms) for call in one.output.tool_calls] == [("search", 5.0)]
    assert not other.output.tool_calls


def test_a_tool_whose_span_is_numbered_is_the_one_that_was_asked_for() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    asked = {"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": dumped({"role": "assistant", "tool_calls": [call]})}

    (run,) = runs(
        span("bot", until=50, attributes={"mlflow.spanType": '"AGENT"'}),
        span("model", parent="bot", at=1, until=9, attributes=asked),
        span("get_weather_2", parent="bot", at=10, attributes={"mlflow.spanType": '"TOOL"', "mlflow.spanOutputs": "1"}),
    )

    assert [(one.name, one.result) for one in run.output.tool_calls] == [("get_weather", "1")]


def test_the_results_that_adk_merges_are_no_call_and_a_refused_answer_is_an_error() -> None:
    own = {"gen_ai.operation.name": "execute_tool"}
    refused = dumped({"error_code": "SAFETY", "error_message": "blocked"})

    (run,) = runs(
        span("agent_run [bot]", until=50),
        span("execute_tool f", parent="agent_run [bot]", at=1, attributes={**own, "gen_ai.tool.name": "f"}),
        span("execute_tool", parent="agent_run [bot]", at=3, attributes={**own, "gen_ai.tool.name": "(merged tools)"}),
        span("call_llm", parent="agent_run [bot]", at=5, attributes={"gcp.vertex.agent.llm_response": refused}),
    )

    assert ([call.name for call in run.output.tool_calls], run.status, run.output.text) == (["f"], "error", "")


def test_a_node_of_a_graph_that_langfuse_calls_an_agent_is_a_step_of_the_agent_around_it() -> None:
    def node(kind: str, name: str) -> dict[str, Any]:
        return {"langfuse.observation.type": kind, "langfuse.observation.metadata.langgraph_node": dumped(name)}

    found = runs(
        span("tools", until=60, attributes=node("chain", "tools")),
        span("helper", parent="tools", at=1, until=50, attributes=node("agent", "tools")),
        span("agent", parent="helper", at=1, until=9, attributes=node("agent", "agent")),
        span("chat m", parent="agent", at=2, until=8, attributes={"gen_ai.operation.name": "chat"}),
        span("agent  again", parent="helper", at=10, until=19, attributes=node("agent", "agent")),
        span("chat m  again", parent="agent  again", at=12, until=18, attributes={"gen_ai.operation.name": "chat"}),
    )

    assert [(run.agent_name, len(run.trajectory.steps) if run.trajectory else 0) for run in found] == [("helper", 2)]


def test_what_mastra_leaves_out_of_a_later_step_is_not_another_message() -> None:
    asked = {"role": "user", "content": "Look![image]"}
    calls = [{"toolCallId": name, "toolName": "f", "args": {"x": name}} for name in "ab"]
    repeated = {"role": "assistant", "content": "[reasoning]Let me.[tool: f][tool: f]"}
    results = {"role": "tool", "content": "[tool-result: f][tool-result: f]"}

    def step(at: float, given: list[Any], answer: dict[str, Any]) -> Any:
        own = {"mastra.span.type": "model_step", "mastra.model_step.input": dumped(given)}
        attributes = {**own, "mastra.model_step.output": dumped({"reasoning": [], **answer})}
        return span(f"step  {at}", parent="bot", at=at, attributes=attributes)

    (run,) = runs(
        span("bot", until=50, attributes={"mastra.span.type": "agent_run"}),
        step(1, [asked], {"text": "Let me.", "toolCalls": calls}),
        step(9, [asked, repeated, results], {"text": "A cat.", "toolCalls": []}),
    )

    assert [part.type for part in run.input.input_messages[0].parts] == ["text", "image"]
    assert brief(run.output) == ["a: Let me. | f({'x': 'a'}) -> None | f({'x': 'b'}) -> None", "a: A cat."]
