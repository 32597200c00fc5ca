"""What users of the OpenInference instrumentations do and no recorded file shows, as those write it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assembly.building import brief
from tests.dialects.weather import ANSWER, QUESTION, SYSTEM, dumped, numbered, runs, span
from tracescore.dialects import KNOWN_DIALECTS, SpanRole
from tracescore.model import AgentRun, JSONValue

KIND = "openinference.span.kind"
MODEL: dict[str, JSONValue] = {KIND: "LLM", "llm.model_name": "small"}
AGENT: dict[str, JSONValue] = {KIND: "AGENT", "agent.name": "bot"}
RAW = {"id": "r", "model": "small-2", "choices": [{"message": {"role": "assistant", "content": ANSWER}}]}
USAGE = {"prompt_tokens": 57, "completion_tokens": 11, "prompt_tokens_details": {"cached_tokens": 8}}


def said(role: str, content: str, **more: JSONValue) -> dict[str, Any]:
    return {
        "message.role": role,
        "message.content": content,
        **{f"message.{key}": value for key, value in more.items()},
    }


def asking(call_id: str, name: str, arguments: str) -> dict[str, JSONValue]:
    start = "message.tool_calls.0.tool_call."
    return {
        "message.role": "assistant",
        f"{start}id": call_id,
        f"{start}function.name": name,
        f"{start}function.arguments": arguments,
    }


def call(name: str, asked: list[dict[str, Any]], answered: dict[str, Any], at: float) -> Any:
    attributes = {**MODEL, **numbered("llm.input_messages.", *asked), **numbered("llm.output_messages.", answered)}
    return span(name, parent="bot", at=at, until=at + 5, attributes=attributes)


def agent(*inside: Any, **attributes: JSONValue) -> AgentRun:
    (run,) = runs(span("bot", until=90, attributes={**AGENT, **attributes}), *inside)
    return run


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ({"args": [QUESTION, False]}, ANSWER),
        ({"prompt": QUESTION}, dumped({"text": ANSWER, "additional_kwargs": {}, "raw": RAW})),
    ],
)
def test_a_completion_is_asked_by_position_or_by_name(given: dict[str, Any], answered: str) -> None:
    (run,) = runs(span("complete", attributes={**MODEL, "input.value": dumped(given), "output.value": answered}))

    assert (brief(run.input.input_messages), brief(run.output)) == ([f"u: {QUESTION}"], [f"a: {ANSWER}"])


@pytest.mark.parametrize(
    ("beside", "model"),
    [
        ({"output.value": dumped({"message": {}, "raw": {**RAW, "usage": USAGE}})}, "small-2"),
        ({"output.value": dumped({**RAW, "usage": USAGE}), "llm.token_count.prompt": 57}, "small-2"),
        ({"output.value": ANSWER, "gen_ai.response.model": "small-3", "llm.token_count.completion": 11}, "small-3"),
        ({"output.value": ANSWER, "llm.invocation_parameters": '{"model": "small"}'}, "small"),
    ],
)
def test_the_model_that_answered_and_its_tokens_may_stand_in_the_raw_response(
    beside: dict[str, JSONValue], model: str
) -> None:
    (run,) = runs(
        span("chat", attributes={**MODEL, **numbered("llm.input_messages.", said("user", QUESTION)), **beside})
    )

    assert run.model == model
    if "usage" in str(beside["output.value"]):
        assert (run.usage.input, run.usage.output, run.usage.cache_read) == (57, 11, 8)


def test_arguments_by_position_go_by_the_parameters_of_the_tool() -> None:
    called = dumped({"args": ["Paris"], "sanitize_inputs_outputs": False, "kwargs": {"days": 2}})
    schema = dumped({"city": {"type": "string"}, "days": {"type": "integer"}})
    tool = {KIND: "TOOL", "input.value": called, "tool.parameters": schema, "output.value": "18C"}

    run = agent(
        span("get_weather.__call__", parent="bot", attributes=tool),
        span("ask", parent="bot", at=20, attributes={**tool, "input.value": '{"input": {"q": 1}, "options": null}'}),
        **{"output.value": ANSWER},
    )

    assert brief(run.output) == [
        "a: get_weather({'city': 'Paris', 'days': 2}) -> 18C",
        "a: ask({'q': 1}) -> 18C",
        f"a: {ANSWER}",
    ]


def test_calls_told_in_words_are_remembered_calls() -> None:
    told = "Calling tools:\n[{'id': 'c', 'function': {'name': 'get_weather', 'arguments': {'city': 'Rome'}}}]"
    history = [
        said("system", SYSTEM),
        said("user", "And Rome?"),
        said("tool-call", told),
        said("tool-response", "Observation:\n20C"),
        said("user", QUESTION),
    ]

    run = agent(call("chat", history, said("assistant", ANSWER), 1))

    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert brief(run.input.remembered_messages) == ["u: And Rome?", "a: get_weather({'city': 'Rome'}) -> 20C"]


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        ('Thought: look.\nAction: get_weather {"city":"Paris"}\nObservation:', "{first} 18C"),
        (
            'Thought: look.\nAction: get_weather {"city":"Paris"}',
            "Thought: look.\nAction: get_weather {'city': 'Paris'}",
        ),
        ("<think>Rome? No.</think>Let me look.", "Let me look."),
    ],
)
def test_an_answer_that_the_history_keeps_in_other_marks_is_said_once(first: str, kept: str) -> None:
    asked = said("user", QUESTION)
    again = [asked, said("assistant", kept.replace("{first}", first)), said("user", "Observation: 18C")]

    run = agent(
        call("chat", [asked], said("assistant", first), 1), call("chat  2", again, said("assistant", ANSWER), 20)
    )

    longer = kept.replace("{first}", first) if kept.startswith("{first}") else first
    assert brief(run.output) == [f"a: {longer}", f"a: {ANSWER}"]


@pytest.mark.parametrize(
    "ended",
    [
        ANSWER,
        f"StopEvent(result=AgentOutput(response=ChatMessage(role=<R.A: 'assistant'>, blocks=[T(text='{ANSWER}')]),...",
        dumped(
            {"raw": ANSWER, "pydantic": None, "json_dict": None, "messages": [{"role": "user", "content": QUESTION}]}
        ),
        f"Delta(content='It is', calls=None)ActionStep(output='?')FinalAnswerStep(output='{ANSWER}')",
    ],
)
def test_the_final_answer_ends_the_output_after_the_models_own_words(ended: str) -> None:
    words = f"Thought: I can answer.\nAnswer: {ANSWER}"

    run = agent(call("chat", [said("user", QUESTION)], said("assistant", words), 1), **{"output.value": ended})

    assert brief(run.output) == [f"a: {words}", f"a: {ANSWER}"]


def test_a_result_inside_a_part_states_the_id_of_its_call() -> None:
    first, second = asking("1", "find", '{"q": 1}'), asking("2", "find", '{"q": 2}')
    both = {**first, **{key.replace(".0.", ".1."): value for key, value in second.items()}}
    results = {"message.role": "tool"}
    for place, (call_id, text) in enumerate((("2", "two"), ("1", "one"))):
        start = f"message.contents.{place}."
        results |= {f"{start}message.tool_call_id": call_id, f"{start}message_content.text": text}

    run = agent(
        call("chat", [said("user", QUESTION)], both, 1),
        call("chat  2", [said("user", QUESTION), both, results], said("assistant", ANSWER), 20),
    )

    assert brief(run.output) == ["a: find({'q': 1}) -> one | find({'q': 2}) -> two", f"a: {ANSWER}"]


def test_the_text_beside_calls_is_said_once_where_a_history_parts_them() -> None:
    both = {**asking("c", "find", "{}"), "message.content": "Two at once."}
    history = [said("user", QUESTION), said("assistant", "Two at once."), said("tool-response", "Observation:\n1")]

    run = agent(
        call("chat", [said("user", QUESTION)], both, 1), call("chat  2", history, said("assistant", ANSWER), 20)
    )

    assert [message.content for message in run.output] == ["Two at once.", ANSWER]


def test_results_without_an_id_take_it_from_the_raw_request_and_their_text_from_their_blocks() -> None:
    first, second = asking("1", "find", '{"q": 1}'), asking("2", "find", '{"q": 2}')
    both = {**first, **{key.replace(".0.", ".1."): value for key, value in second.items()}}
    told = [said("tool", dumped([{"type": "text", "text": "two"}])), said("tool", "one")]
    raw = {"messages": [{"role": "tool", "tool_call_id": "2"}, {"role": "tool", "tool_call_id": "1"}]}
    later = {
        **MODEL,
        **numbered("llm.input_messages.", said("user", QUESTION), both, *told),
        "input.value": dumped(raw),
    }
    answered = numbered("llm.output_messages.", said("assistant", ANSWER))

    run = agent(
        call("chat", [said("user", QUESTION)], both, 1),
        span("chat  2", parent="bot", at=20, until=25, attributes={**later, **answered}),
    )

    assert brief(run.output) == ["a: find({'q': 1}) -> one | find({'q': 2}) -> two", f"a: {ANSWER}"]


def test_a_workflow_of_agents_names_the_agent_in_the_event_that_runs_it() -> None:
    event = {"ctx": "<Context>", "ev": "AgentSetup(input=[Message(text='Hi')], current_agent_name='Calc')"}
    step: dict[str, JSONValue] = {KIND: "CHAIN", "input.value": dumped(event)}

    (run,) = runs(
        span("flow", until=90, attributes={KIND: "CHAIN"}),
        span("bot", parent="flow", at=1, until=80, attributes=step),
        call("chat", [said("user", QUESTION)], said("assistant", ANSWER), 2),
    )

    assert (run.kind, run.agent_name) == ("trace", "Calc")


@pytest.mark.parametrize(
    ("kind", "happened", "role"),
    [("AGENT", "update", "step"), ("LLM", "start", "llm"), ("LLM", "finish", "step"), ("TOOL", "success", "tool")],
)
def test_a_span_of_an_event_is_no_invocation_of_its_own(kind: str, happened: str, role: SpanRole) -> None:
    target = f"tool.weather.{happened}"
    attributes: dict[str, JSONValue] = {"openinference.span.kind": kind, "target": target, "name": happened}
    reading = KNOWN_DIALECTS.read(span(f"{target}-12", attributes=attributes), ())

    assert reading.role == role
    assert reading.tool_name == ("weather" if role == "tool" else None)


RESPONSE = "llm.output_messages."
TOLD = "message.tool_calls.0.tool_call.function."
MODERATION = {"id": "m", "model": "mod", "results": [{"flagged": False, "categories": {}}]}


@pytest.mark.parametrize(
    ("answered", "item", "status"),
    [
        (
            {f"{RESPONSE}0.message.tool_calls.0.tool_call.function.name": "web_search_call"},
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "paris"}},
            "ok",
        ),
        (
            {f"{RESPONSE}0.{TOLD}name": "web_search_call", f"{RESPONSE}0.{TOLD}arguments": "{}"},
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "paris"}},
            "ok",
        ),
        ({f"{RESPONSE}1.message.content": ANSWER}, {"type": "code_interpreter_call", "id": "w", "code": "1"}, "ok"),
        ({}, {"type": "mcp_approval_request", "id": "w", "name": "book", "arguments": "{}"}, "paused"),
    ],
)
def test_what_numbered_messages_leave_out_of_an_answer_stands_in_the_raw_response(
    answered: dict[str, JSONValue], item: dict[str, Any], status: str
) -> None:
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    raw = {"id": "r", "output": [item, message] if answered else [item]}
    given = numbered("llm.input_messages.", said("user", QUESTION))

    (run,) = runs(span("chat", attributes={**MODEL, **given, **answered, "output.value": dumped(raw)}))

    assert (run.status, run.issues, run.output.text) == (status, (), ANSWER if answered else "")
    assert [call.id for call in run.output.tool_calls] == (["w"] if answered else [])
    assert len(run.output) == 1


@pytest.mark.parametrize("mark", ["input_audio", "file"])
def test_sounds_and_files_are_read_from_the_raw_request(mark: str) -> None:
    attached = {"type": mark, mark: {"file_data": "data:application/pdf;base64,JVBERi0=", "data": "UklGRg=="}}
    content = [{"type": "text", "text": QUESTION}, attached]
    raw = dumped({"model": "small", "messages": [{"role": "user", "content": content}]})
    given = numbered("llm.input_messages.", said("user", QUESTION))

    (run,) = runs(
        span(
            "chat",
            attributes={**MODEL, **given, "input.value": raw, "llm.invocation_parameters": '{"conversation": "k"}'},
        )
    )

    assert [part.type for part in run.input.input_messages[0].parts] == ["text", mark.removeprefix("input_")]
    assert run.session_id == "k"


def test_a_moderation_beside_a_conversation_is_none_of_its_calls() -> None:
    check = {KIND: "LLM", "input.value": dumped({"input": QUESTION}), "output.value": dumped(MODERATION)}
    chat = {**numbered("llm.input_messages.", said("user", QUESTION)), f"{RESPONSE}0.message.content": ANSWER}

    (run,) = runs(
        span("top", until=90),
        span("check", parent="top", at=1, until=2, attributes=check),
        span("chat", parent="top", at=3, until=4, attributes={**MODEL, **chat}),
    )

    assert (brief(run.input.input_messages), brief(run.output)) == ([f"u: {QUESTION}"], [f"a: {ANSWER}"])


BLOCK = "message.contents.0.message_content."
SEARCHED = dumped({"content": "18C", "tool_use_id": "w", "type": "web_search_tool_result"})
PLAN = dumped({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}})


@pytest.mark.parametrize(
    ("answer", "raw", "expected"),
    [
        (
            {
                "message.tool_calls.0.tool_call.id": "w",
                f"{BLOCK}type": "web_search_tool_result",
                f"{BLOCK}text": SEARCHED,
            },
            "",
            "18C",
        ),
        (
            {"message.content": ["thinking=[]"]},
            dumped(
                {
                    "choices": [
                        {
                            "message": {
                                "role": "assistant",
                                "content": [
                                    {"thinking": [{"text": "hm"}], "type": "thinking"},
                                    {"type": "text", "text": ANSWER},
                                ],
                            }
                        }
                    ]
                }
            ),
            "reasoning",
        ),
        ({"message.content": dumped([{"type": "text", "text": ANSWER}])}, "", "text"),
        ({}, "<groq.Stream object at 0x7f9af4c5fdd0>", ""),
    ],
)
def test_blocks_of_an_answer_are_read_wherever_they_are_spelled(
    answer: dict[str, Any], raw: str, expected: str
) -> None:
    attributes = {
        **MODEL,
        **numbered("llm.input_messages.", said("user", QUESTION)),
        **numbered(RESPONSE, {"message.role": "assistant", **answer} if answer else {}),
        **({"output.value": raw} if raw else {}),
    }

    (run,) = runs(span("chat", attributes=attributes))

    parts = [part for message in run.output for part in message.parts]
    told = run.output.tool_calls[0].result if run.output.tool_calls else parts[0].type if parts else ""
    assert told == expected


def test_a_failed_tool_and_a_document_are_told_by_the_blocks_beside_the_numbered_messages() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c", "content": "closed", "is_error": True}]
    called = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    raw = dumped(
        {
            "model": "small",
            "messages": [
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": [called]},
                {"role": "user", "content": blocks},
            ],
        }
    )
    given = [said("user", QUESTION), asking("c", "look", "{}"), said("tool", "closed", tool_call_id="c")]
    document = {"message.role": "user", f"{BLOCK}type": "document", f"{BLOCK}text": PLAN}

    (failed,) = runs(span("chat", attributes={**MODEL, **numbered("llm.input_messages.", *given), "input.value": raw}))
    (read,) = runs(span("chat", attributes={**MODEL, **numbered("llm.input_messages.", document)}))

    assert [(call.result, call.error) for call in failed.output.tool_calls] == [("closed", "closed")]
    assert [part.type for part in read.input.input_messages[0].parts] == ["file"]
