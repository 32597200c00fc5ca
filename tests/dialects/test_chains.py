"""Chains of LangChain as its instrumentations write them: parts of them are no agents, their variables no messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import brief
from tests.dialects.weather import ANSWER, ARGUMENTS, ASKED, QUESTION, dumped, numbered, runs, span
from tracescore.dialects.content import Content
from tracescore.model import JSONValue

KIND = "openinference.span.kind"
HELD = [{"type": "human", "data": {"content": "hi"}}, {"type": "ai", "data": {"content": "hello"}}]
HISTORY = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
ASK, DONE = {"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}


def openinference(kind: str, name: str | None = None) -> dict[str, JSONValue]:
    return {KIND: kind, **({"llm.model_name": "small"} if kind == "LLM" else {})}


def genai(kind: str, name: str | None = None) -> dict[str, JSONValue]:
    called = {"LLM": "chat", "AGENT": "invoke_agent"}[kind]
    return {"gen_ai.operation.name": called, **({"gen_ai.agent.name": name} if name is not None else {})}


@pytest.mark.parametrize("dialect", [openinference, genai])
def test_what_fills_prompts_and_reads_answers_is_no_agent(dialect: Any) -> None:
    parts = ["RunnableAssign<agent_scratchpad>", "ToolsAgentOutputParser"]
    asked = numbered("llm.input_messages.", {"message.role": "user", "message.content": QUESTION})
    model = {**asked, "gen_ai.input.messages": dumped(ASKED), "gen_ai.output.messages": dumped([DONE])}

    found = runs(
        span("AgentExecutor", until=90, attributes=dialect("AGENT", "AgentExecutor")),
        span(parts[0], parent="AgentExecutor", at=1, attributes=dialect("AGENT", parts[0])),
        span("chat", parent="AgentExecutor", at=3, attributes={**dialect("LLM"), **model}),
        span(parts[1], parent="AgentExecutor", at=5, attributes=dialect("AGENT", parts[1])),
    )

    assert [brief(run.input.input_messages) for run in found] == [[f"u: {QUESTION}"]]


def test_what_is_asked_beside_a_history_is_the_input() -> None:
    own = {KIND: "AGENT", "input.value": dumped({"input": QUESTION, "chat_history": HELD})}
    given = [{"message.role": one["role"], "message.content": one["content"]} for one in [*HISTORY, ASK]]

    (run,) = runs(
        span("AgentExecutor", until=90, attributes=own),
        span(
            "chat",
            parent="AgentExecutor",
            at=1,
            attributes={**openinference("LLM"), **numbered("llm.input_messages.", *given)},
        ),
    )

    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]


def test_the_variables_of_a_prompt_are_no_message_of_the_user() -> None:
    variables = dumped([{"role": "user", "parts": [{"type": "text", "content": dumped({"question": QUESTION})}]}])
    chat = {"gen_ai.input.messages": dumped([ASK]), "gen_ai.output.messages": dumped([DONE])}
    workflow: dict[str, JSONValue] = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.input.messages": variables,
    }

    (run,) = runs(
        span("chain", until=90, attributes=workflow),
        span("chat", parent="chain", at=1, attributes={"gen_ai.operation.name": "chat", **chat}),
    )

    assert (brief(run.input.input_messages), brief(run.output)) == ([f"u: {QUESTION}"], [f"a: {ANSWER}"])


def test_what_a_callback_notes_around_values_is_taken_off() -> None:
    noted = {"input_str": "Paris", "tags": [], "metadata": {}, "inputs": None, "kwargs": {"color": "green"}}
    tool: dict[str, JSONValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": dumped(noted),
        "gen_ai.tool.call.result": dumped({"output": "18C", "kwargs": {"tags": []}}),
    }
    end = dumped({"outputs": {"output": ANSWER}, "kwargs": {"tags": []}})
    thought = dumped([{"role": "assistant", "parts": [{"type": "text", "content": "Action: get_weather"}]}])

    (run,) = runs(
        span("bot", until=90, attributes={"gen_ai.operation.name": "invoke_agent", "traceloop.entity.output": end}),
        span(
            "chat",
            parent="bot",
            at=1,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": dumped([ASK]),
                "gen_ai.output.messages": thought,
            },
        ),
        span("tool", parent="bot", at=3, attributes=tool),
    )

    assert [(call.arguments, call.result) for call in run.output.tool_calls] == [("Paris", "18C")]
    assert run.output.text == ANSWER


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ({"generations": [[{"text": "18C", "generation_info": {}, "type": "Generation"}]], "llm_output": {}}, ["18C"]),
        ({"generations": [], "llm_output": None, "type": "LLMResult"}, []),
        ({"sdk": {}, "prompt_feedback": {"block_reason": "SAFETY"}}, [""]),
        ({"candidates": [{"finish_reason": "SAFETY", "index": 0}]}, [""]),
    ],
)
def test_an_answer_without_a_message_is_its_text_or_nothing(recorded: dict[str, Any], said: list[str]) -> None:
    assert [one.text for one in Content(dumped(recorded), role="assistant").said()] == said


def test_a_call_whose_arguments_nobody_can_read_is_waited_for_by_nobody() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS[:9]}}
    asked = dumped([ASK])
    answer = dumped([{"role": "assistant", "content": "", "tool_calls": [call]}])
    both: dict[str, JSONValue] = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answer}

    (run,) = runs(
        span("bot", until=90, attributes={"gen_ai.operation.name": "invoke_agent", **both}),
        span("chat", parent="bot", at=1, attributes={"gen_ai.operation.name": "chat", **both}),
    )

    assert (run.status, [issue.code for issue in run.issues]) == ("ok", ["tool_result_missing"])


@pytest.mark.parametrize(
    ("noted", "result", "error"),
    [
        ("status='success' result='18C' error=None images=None", "18C", None),
        ("status='failure' result=None error='closed' images=None", None, "closed"),
        ("status='success' of the flight", "status='success' of the flight", None),
    ],
)
def test_what_a_tool_gave_is_read_out_of_the_text_of_its_fields(
    noted: str, result: str | None, error: str | None
) -> None:
    tool: dict[str, JSONValue] = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_weather",
        "traceloop.entity.input": ARGUMENTS,
        "traceloop.entity.output": noted,
    }

    (run,) = runs(
        span("bot", until=90, attributes={"gen_ai.operation.name": "invoke_agent"}),
        span("tool", parent="bot", at=3, attributes=tool),
    )

    assert [(call.result, call.error) for call in run.output.tool_calls] == [(result, error)]
