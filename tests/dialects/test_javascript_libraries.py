"""What libraries for JavaScript write otherwise than those for Python do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import agent, asks, brief, dumped, llm, runs, says, span, tool
from tests.dialects.weather import ANSWER, ARGUMENTS, CALL, QUESTION, RESULT, SYSTEM, numbered
from tracescore.model import JSONValue, SpanEvent

_RUN = "call"
_STACK = (
    "no such city\n\nError: no such city\n    at run (file:///app/tools.mjs:3:9)\n    at process (node:internal:95:5)"
)


def _constructed(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": kwargs}


def test_langchain_numbers_messages_without_content_in_blocks_and_ids_of_calls() -> None:
    asked = [
        _constructed("SystemMessage", content=[{"type": "text", "text": SYSTEM}]),
        _constructed("HumanMessage", content=QUESTION),
    ]
    calls = [{"name": "get_weather", "args": {"city": "Paris"}, "type": "tool_call", "id": "c"}]
    reply = _constructed("AIMessage", content="", tool_calls=calls, response_metadata={"model_name": "large-2026"})
    attributes: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "large",
        "llm.invocation_parameters": '{"model": "large"}',
        "input.value": dumped({"messages": [asked]}),
        "output.value": dumped({"generations": [[{"text": "", "message": reply}]]}),
        **numbered("llm.input_messages.", {"message.role": "system"}, {"message.role": "user"}),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
    }
    run = runs(span(_RUN, attributes=attributes))[_RUN]
    (call,) = run.output.tool_calls

    assert [message.content for message in run.input.system_messages] == [SYSTEM]
    assert (call.id, call.arguments, run.model) == ("c", {"city": "Paris"}, "large-2026")


def test_anthropic_numbers_messages_without_the_system_text_and_all_results_but_one() -> None:
    def use(city: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": city, "name": "get_weather", "input": {"city": city}}

    told = [{"type": "tool_result", "tool_use_id": city, "content": f"in {city}"} for city in ("Paris", "Rome")]
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [use("Paris"), use("Rome")]},
        {"role": "user", "content": told},
    ]
    attributes: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "input.value": dumped({"model": "large", "system": SYSTEM, "messages": messages}),
        **numbered(
            "llm.input_messages.",
            {"message.role": "user", "message.content": QUESTION},
            {"message.role": "assistant"},
            {"message.role": "user", "message.tool_call_id": "Rome", "message.content": "in Rome"},
        ),
        **numbered("llm.output_messages.", {"message.role": "assistant", "message.content": ANSWER}),
    }
    run = runs(span(_RUN, attributes=attributes))[_RUN]

    assert [message.content for message in run.input.system_messages] == [SYSTEM]
    assert [call.result for call in run.output.tool_calls] == ["in Paris", "in Rome"]


def test_openai_agents_hand_over_inside_a_workflow_that_repeats_what_it_was_asked() -> None:
    def kind(name: str, **more: JSONValue) -> dict[str, JSONValue]:
        return {"openinference.span.kind": name, **more}

    asked = [{"role": "user", "content": QUESTION}]
    told = {"message.role": "user", "message.content": QUESTION}
    call = {
        f"message.tool_calls.0.tool_call.{key}": value
        for key, value in (("id", "c"), ("function.name", "transfer_to_b"))
    }
    found = runs(
        span("workflow", until=90, attributes=kind("AGENT", **{"input.value": dumped(asked), "output.value": ANSWER})),
        span("a", parent="workflow", at=1, until=20, attributes=kind("AGENT", **{"graph.node.id": "a"})),
        span(
            "asks",
            parent="a",
            at=2,
            attributes={
                **kind("LLM"),
                **numbered("llm.input_messages.", told),
                **numbered("llm.output_messages.", {"message.role": "assistant", **call}),
            },
        ),
        span(
            "handoff to b",
            parent="a",
            at=10,
            attributes=kind(
                "TOOL",
                **{
                    "tool.name": "handoff_to_b",
                    "input.value": '{"from_agent":"a"}',
                    "output.value": '{"to_agent":"b"}',
                },
            ),
        ),
        span("b", parent="workflow", at=21, until=80, attributes=kind("AGENT", **{"graph.node.id": "b"})),
        span(
            "answers",
            parent="b",
            at=22,
            attributes={
                **kind("LLM"),
                **numbered("llm.input_messages.", told),
                **numbered("llm.output_messages.", {"message.role": "assistant", "message.content": ANSWER}),
            },
        ),
    )

    assert set(found) == {"a", "b"}
    assert found["b"].parent_run_id == found["a"].run_id
    assert brief(found["a"].output) == ["a: transfer_to_b(None) -> b", f"a: {ANSWER}"]


def test_openai_agents_leave_out_of_the_numbered_messages_what_was_answered_and_thought() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello Ada!"}]}
    asked = [{"role": "user", "content": "Hi"}, said, {"role": "user", "content": QUESTION}]
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Let me see."}]}
    reply = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    attributes: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "input.value": dumped(asked),
        "output.value": dumped({"id": "resp_1", "object": "response", "output": [thought, reply]}),
        **numbered(
            "llm.input_messages.",
            {"message.role": "system", "message.content": SYSTEM},
            {"message.role": "user", "message.content": "Hi"},
            {"message.role": "assistant"},
            {"message.role": "user", "message.content": QUESTION},
        ),
        **numbered("llm.output_messages.", {"message.role": "assistant", "message.content": ANSWER}),
    }
    run = runs(span(_RUN, attributes=attributes))[_RUN]

    assert brief(run.input.remembered_messages) == ["u: Hi", "a: Hello Ada!"]
    assert brief(run.output) == [f"a: (Let me see.) | {ANSWER}"]


def test_openinference_for_the_ai_sdk_spells_the_typed_output_of_a_tool() -> None:
    prefix = "message.tool_calls.0.tool_call."
    attributes: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        **numbered(
            "llm.input_messages.",
            {"message.role": "user", "message.content": QUESTION},
            {
                "message.role": "assistant",
                f"{prefix}id": "c",
                f"{prefix}function.name": "get_weather",
                f"{prefix}function.arguments": ARGUMENTS,
            },
            {
                "message.role": "tool",
                "message.tool_call_id": "c",
                "message.content": f'{{"type":"text","value":"{RESULT}"}}',
            },
        ),
        **numbered("llm.output_messages.", {"message.role": "assistant", "message.content": ANSWER}),
    }

    assert brief(runs(span(_RUN, attributes=attributes))[_RUN].output) == [CALL, f"a: {ANSWER}"]


@pytest.mark.parametrize(("events", "status"), [((), "ok"), ((SpanEvent(name="exception", time_ns=1),), "error")])
def test_an_error_copied_up_from_a_tool_does_not_fail_a_run_that_went_on(
    events: tuple[SpanEvent, ...], status: str
) -> None:
    failed: dict[str, Any] = {"status": "error", "message": "no such city"}
    found = runs(
        agent("bot", until=50, events=events, **failed),
        llm("first", parent="bot", at=1, given=[says("user", QUESTION)], answer=asks("get_weather")),
        tool("get_weather", called="get_weather", parent="bot", at=5, **failed),
        llm("second", parent="bot", at=10, answer=says("assistant", ANSWER), **failed),
    )

    assert found["bot"].status == status


def test_a_stack_of_javascript_is_no_part_of_what_a_tool_raised() -> None:
    found = runs(
        agent("bot", until=50),
        llm("first", parent="bot", at=1, given=[says("user", QUESTION)], answer=asks("get_weather")),
        tool("get_weather", called="get_weather", parent="bot", at=5, status="error", message=_STACK),
    )

    assert [call.error for call in found["bot"].output.tool_calls] == ["no such city"]


def test_an_object_that_the_agent_writes_anew_is_said_once() -> None:
    found = runs(
        agent("bot", until=50, attributes={"gen_ai.output.messages": dumped([says("assistant", '{"city":"Paris"}')])}),
        llm("first", parent="bot", at=1, given=[says("user", QUESTION)], answer=says("assistant", '{"city": "Paris"}')),
    )

    assert brief(found["bot"].output) == ['a: {"city": "Paris"}']


@pytest.mark.parametrize("bag", ["ai.settings.context", "langsmith.metadata"])
def test_session_and_user_in_what_the_application_passes_to_the_ai_sdk(bag: str) -> None:
    noted: dict[str, JSONValue] = {f"{bag}.sessionId": "s", f"{bag}.userId": "u"}
    counted: dict[str, JSONValue] = {"ai.usage.outputTokenDetails.reasoningTokens": 2}
    found = runs(
        agent("bot", until=50, attributes=noted),
        llm("first", parent="bot", at=1, given=[says("user", "?")], answer=says("assistant", "!"), attributes=counted),
    )["bot"]

    assert (found.session_id, found.user_id, found.usage.reasoning) == ("s", "u", 2)


@pytest.mark.parametrize("side", ["mastra.{}", "langfuse.observation"])
def test_mastra_and_what_its_exporter_for_langfuse_writes(side: str) -> None:
    def content(kind: str, given: JSONValue, answered: JSONValue) -> dict[str, JSONValue]:
        where = side.format(kind)
        return {"mastra.span.type": kind, f"{where}.input": given, f"{where}.output": answered}

    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    call = {"toolCallId": "c", "toolName": "get_weather", "args": {"city": "Paris"}}
    marked = [
        {"role": "assistant", "content": "[tool: get_weather]"},
        {"role": "tool", "content": "[tool-result: get_weather]"},
    ]
    ran: dict[str, JSONValue] = {
        "mastra.span.type": "tool_call",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.call.arguments": ARGUMENTS,
        "gen_ai.tool.call.result": RESULT,
    }
    first, second = (
        content("model_step", dumped(given), dumped({"text": text, "toolCalls": calls}))
        for given, text, calls in ((asked, "", [call]), ([*asked, *marked], ANSWER, []))
    )
    found = runs(
        agent("bot", until=50, attributes=content("agent_run", QUESTION, dumped({"text": ANSWER, "files": []}))),
        span("first", parent="bot", at=1, until=9, attributes=first),
        span("get_weather", parent="first", at=5, attributes=ran),
        span("second", parent="bot", at=10, attributes=second),
    )["bot"]

    assert brief(found.output) == [CALL, f"a: {ANSWER}"]


def test_a_stopped_agent_of_mastra_answers_nothing_and_content_may_be_on() -> None:
    stopped = dumped({"status": "aborted", "reason": "abort"})
    attributes: dict[str, JSONValue] = {
        "mastra.span.type": "model_step",
        "mastra.model_step.input": dumped([says("user", QUESTION)]),
    }
    found = runs(
        agent("bot", until=50, attributes={"mastra.span.type": "agent_run", "langfuse.observation.output": stopped}),
        span("first", parent="bot", at=1, scope="@mastra/langfuse", attributes=attributes),
    )["bot"]

    assert brief(found.output) == []
    assert ["a call that was broken off leaves none" in issue.detail for issue in found.issues] == [True]


def test_a_request_that_is_written_as_the_text_of_one_message() -> None:
    items = [
        {"role": "user", "content": QUESTION},
        {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": ARGUMENTS},
        {"type": "function_call_output", "call_id": "c", "output": RESULT},
    ]
    found = runs(llm(_RUN, given=[says("user", dumped(items))], answer=says("assistant", ANSWER)))[_RUN]

    assert brief(found.input.input_messages) == [f"u: {QUESTION}"]
    assert brief(found.output) == [CALL, f"a: {ANSWER}"]


def test_blocks_that_are_written_as_the_text_of_one() -> None:
    blocks = dumped([{"type": "text", "text": SYSTEM}])
    found = runs(llm(_RUN, given=[says("system", blocks), says("user", QUESTION)], answer=says("assistant", ANSWER)))

    assert [message.content for message in found[_RUN].input.system_messages] == [SYSTEM]


def test_calls_that_a_client_streamed_stand_without_a_role() -> None:
    call = {"function": {"name": "get_weather", "arguments": ARGUMENTS}}
    attributes: dict[str, JSONValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": dumped([{"role": "user", "content": QUESTION}]),
        "langfuse.observation.output": dumped({"tool_calls": [call]}),
    }

    assert brief(runs(span(_RUN, attributes=attributes))[_RUN].output) == ["a: get_weather({'city': 'Paris'}) -> None"]


def test_a_function_of_traceloop_that_was_called_with_nothing_was_asked_nothing() -> None:
    attributes: dict[str, JSONValue] = {
        "traceloop.span.kind": "agent",
        "traceloop.entity.name": "bot",
        "traceloop.entity.input": '{"args":[],"kwargs":{}}',
        "traceloop.entity.output": dumped(ANSWER),
    }

    assert brief(runs(span("bot.agent", attributes=attributes))["bot.agent"].input.input_messages) == []


def test_llamaindex_gives_the_nodes_of_a_retriever_as_objects() -> None:
    nodes = [{"node": {"id_": "d1", "metadata": {"source": "a.md"}, "text": "Paris is sunny."}, "score": 0.5}]
    retrieved: dict[str, JSONValue] = {
        "traceloop.span.kind": "task",
        "traceloop.entity.name": "retriever_query_engine.retrieve",
        "traceloop.entity.output": dumped(nodes),
    }
    found = runs(
        agent("bot", until=50),
        span("retriever_query_engine.retrieve", parent="bot", at=1, attributes=retrieved),
        llm("answers", parent="bot", at=5, given=[says("user", QUESTION)], answer=says("assistant", ANSWER)),
    )["bot"]

    assert [(one.id, one.text, one.score, one.source) for one in found.contexts] == [
        ("d1", "Paris is sunny.", 0.5, "a.md")
    ]


def test_sentry_keeps_the_text_and_the_calls_of_an_answer_apart() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
    asked = dumped([{"role": "user", "content": QUESTION}])
    own: dict[str, JSONValue] = {"sentry.op": "gen_ai.chat", "gen_ai.request.messages": asked}
    calling: dict[str, JSONValue] = {"gen_ai.response.text": '[""]', "gen_ai.response.tool_calls": dumped([call])}
    ran: dict[str, JSONValue] = {"sentry.op": "t", "gen_ai.tool.input": ARGUMENTS, "gen_ai.tool.output": RESULT}
    found = runs(
        agent("bot", until=50),
        llm("first", parent="bot", at=1, attributes={**own, **calling}),
        tool("get_weather", called="get_weather", parent="bot", at=5, attributes=ran),
        llm("second", parent="bot", at=10, attributes={**own, "gen_ai.response.text": dumped([ANSWER])}),
    )["bot"]

    assert brief(found.input.input_messages) == [f"u: {QUESTION}"]
    assert brief(found.output) == [CALL, f"a: {ANSWER}"]


def test_langsmith_writes_down_the_messages_to_which_the_application_has_added_the_reply() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "assistant", "content": ANSWER}
    messages = [
        {"role": "user", "content": QUESTION},
        calling,
        {"role": "tool", "tool_call_id": "c", "content": RESULT},
        answer,
    ]

    def called(name: str, at: float, reply: dict[str, Any]) -> Any:
        attributes: dict[str, JSONValue] = {
            "langsmith.traceable": "true",
            "langsmith.span.kind": "llm",
            "gen_ai.operation.name": "chat",
            "gen_ai.prompt": dumped({"model": "large", "messages": messages}),
            "gen_ai.completion": dumped({"id": name, "choices": [{"index": 0, "message": reply}]}),
        }
        return span(name, parent="bot", at=at, attributes=attributes)

    found = runs(agent("bot", until=50), called("first", 1, calling), called("second", 10, answer))["bot"]

    assert brief(found.input.input_messages) == [f"u: {QUESTION}"]
    assert brief(found.output) == [CALL, f"a: {ANSWER}"]
