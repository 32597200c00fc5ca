"""What each dialect reads of one span, and how they add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tracescore.dialects import KNOWN_DIALECTS, Dialect, Generic, Reading
from tracescore.model import JSONValue, LogRecord, Span, SpanEvent

TRACE_ID, SPAN_ID = "a" * 32, "b" * 16


def read(
    attributes: dict[str, JSONValue] | None = None,
    *,
    name: str = "span",
    logs: Sequence[LogRecord] = (),
    events: tuple[SpanEvent, ...] = (),
    dropped: int = 0,
) -> Reading:
    span = Span(
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        name=name,
        attributes=attributes or {},
        events=events,
        dropped_attributes=dropped,
    )
    return KNOWN_DIALECTS.read(span, logs)


def log(name: str, body: Any = None, *, time_ns: int = 1, by_attribute: bool = False, **attributes: Any) -> LogRecord:
    extra: dict[str, Any] = {"event.name": name} if by_attribute else {}
    return LogRecord(
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        event_name="" if by_attribute else name,
        time_ns=time_ns,
        body=body,
        attributes={**extra, **{key.replace("__", "."): value for key, value in attributes.items()}},
    )


def texts(reading: Reading) -> tuple[list[str], list[str]]:
    given = [f"{said.role[0]}:{said.text}" for said in reading.input.said()] if reading.input else []
    answered = [f"{said.role[0]}:{said.text}" for said in reading.output.said()] if reading.output else []
    return given, answered


USER: JSONValue = [{"role": "user", "parts": [{"type": "text", "content": "q"}]}]
DONE: JSONValue = [{"role": "assistant", "parts": [{"type": "text", "content": "a"}]}]


def test_every_dialect_is_one() -> None:
    dialects: tuple[Dialect, ...] = KNOWN_DIALECTS.dialects

    assert len(dialects) == len({type(one) for one in dialects}) == 28
    assert isinstance(dialects[-1], Generic)


def test_a_span_of_two_dialects_is_read_field_by_field() -> None:
    reading = read(
        {
            "openinference.span.kind": "LLM",
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "bot",
            "gen_ai.request.model": "asked",
            "gen_ai.usage.output_tokens": 4,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "q",
            "llm.output_messages.0.message.content": "a",
            "llm.token_count.prompt": 3,
        }
    )

    assert (reading.role, reading.agent_name, reading.model_asked) == ("llm", "bot", "asked")
    assert (reading.input_tokens, reading.output_tokens) == (3, 4)
    assert texts(reading) == (["u:q"], ["a:a"])


def test_messages_of_one_dialect_and_usage_of_the_other() -> None:
    reading = read(
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.completion": 2,
            "gen_ai.input.messages": USER,
            "gen_ai.output.messages": DONE,
        }
    )

    assert texts(reading) == (["u:q"], ["a:a"])
    assert reading.output_tokens == 2


def test_genai_content_in_one_log_record() -> None:
    details = log(
        "gen_ai.client.inference.operation.details",
        gen_ai__input__messages=USER,
        gen_ai__output__messages=DONE,
        gen_ai__system_instructions=[{"type": "text", "content": "s"}],
    )

    reading = read({"gen_ai.operation.name": "chat"}, logs=[details])

    assert texts(reading) == (["u:q"], ["a:a"])
    assert reading.system is not None
    assert reading.system.said()[0].text == "s"


def test_genai_content_in_several_span_events_of_one_attribute_each() -> None:
    name = "gen_ai.client.inference.operation.details"
    events = (
        SpanEvent(name=name, time_ns=1, attributes={"gen_ai.input.messages": USER}),
        SpanEvent(name=name, time_ns=2, attributes={"gen_ai.output.messages": DONE}),
    )

    assert texts(read({"gen_ai.operation.name": "chat"}, events=events)) == (["u:q"], ["a:a"])


def test_genai_content_in_one_log_record_a_message() -> None:
    logs = [
        log("gen_ai.choice", {"index": 0, "message": {"content": "a"}}, time_ns=9, by_attribute=True),
        log("gen_ai.user.message", {"content": "q2"}, time_ns=3, by_attribute=True),
        log("gen_ai.developer.message", {"content": "s"}, time_ns=1, by_attribute=True),
        log("gen_ai.user.message", {"content": "q1"}, time_ns=2),
    ]

    assert texts(read({"gen_ai.operation.name": "chat"}, logs=logs)) == (["s:s", "u:q1", "u:q2"], ["a:a"])


def test_a_choice_with_calls_beside_its_message() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]

    reading = read(
        {"gen_ai.operation.name": "chat"},
        logs=[log("gen_ai.choice", {"message": {"role": "assistant"}, "tool_calls": calls})],
    )

    assert reading.output is not None
    assert [call.name for call in reading.output.said()[0].calls] == ["look"]


def test_a_copy_in_attributes_and_one_in_events_are_one() -> None:
    logs = [log("gen_ai.user.message", {"content": "q"}), log("gen_ai.choice", {"message": {"content": "a"}})]

    reading = read({"gen_ai.input.messages": USER, "gen_ai.output.messages": DONE}, logs=logs)

    assert texts(reading) == (["u:q"], ["a:a"])


def test_a_complete_copy_wins_over_one_that_was_cut() -> None:
    details = log("gen_ai.client.inference.operation.details", gen_ai__input__messages=USER)

    reading = read({"gen_ai.input.messages": '[{"role":"user","parts":[{"type":"te'}, logs=[details])

    assert texts(reading)[0] == ["u:q"]


def test_system_instructions_of_every_form() -> None:
    def system(value: JSONValue) -> list[str]:
        reading = read({"gen_ai.system_instructions": value})
        return [said.text for said in reading.system.said()] if reading.system else []

    assert [
        system("be brief"),
        system('[{"type": "text", "content": "be"}, {"type": "text", "content": "brief"}]'),
        system('["be brief"]'),
        system([{"role": "system", "parts": [{"type": "text", "content": "be brief"}]}]),
        system('[{"text": "be brief"}]'),
        system(""),
    ] == [["be brief"], ["be\nbrief"], ["be brief"], ["be brief"], ["be brief"], []]


def test_a_tool_span_of_events() -> None:
    events = (
        SpanEvent(name="gen_ai.tool.message", attributes={"content": '{"at": "sky"}', "id": "c1"}),
        SpanEvent(name="gen_ai.choice", attributes={"message": '[{"text": "blue"}]', "id": "c1"}),
    )

    reading = read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}, events=events)

    assert (reading.role, reading.tool_arguments, reading.tool_result) == ("tool", {"at": "sky"}, "blue")


def test_openinference_prefers_the_value_on_spans_that_are_no_model_call() -> None:
    reading = read(
        {
            "openinference.span.kind": "CHAIN",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "first",
            "input.value": '[{"role": "user", "content": "first"}, {"role": "user", "content": "second"}]',
        }
    )

    assert texts(reading)[0] == ["u:first", "u:second"]


def test_openinference_text_is_not_parsed() -> None:
    reading = read({"openinference.span.kind": "CHAIN", "input.value": "[1]", "input.mime_type": "text/plain"})

    assert reading.input is not None
    assert (reading.input.kind, reading.input.value) == ("text", "[1]")


def test_openinference_tool_arguments_and_schemas_are_told_apart() -> None:
    def arguments(**attributes: JSONValue) -> JSONValue:
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        return read({"openinference.span.kind": "TOOL", "tool.name": "look", **named}).tool_arguments

    schema = '{"type": "object", "properties": {"at": {"type": "string"}}}'
    assert arguments(input__value='{"at": "sky"}', tool__parameters=schema) == {"at": "sky"}
    assert arguments(input__value="sky", tool__parameters=schema) is None
    assert arguments(tool__parameters='{"at": "sky"}') == {"at": "sky"}
    assert arguments(input__value='{"kwargs": {"at": "sky", "ctx": "<a.Context object at 0x7f>"}}') == {"at": "sky"}


def test_openinference_results_leave_their_wrappers() -> None:
    def result(value: str) -> tuple[JSONValue, str | None]:
        reading = read({"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": value})
        return reading.tool_result, reading.tool_call_id

    assert result('{"type": "tool", "data": {"content": "blue", "tool_call_id": "c1"}}') == ("blue", "c1")
    assert result('{"id": "c2", "name": "look", "response": {"result": "blue"}}') == ("blue", "c2")
    assert result('{"blocks": [{"text": "blue"}], "tool_name": "look"}') == ("blue", None)
    assert result('{"content": [{"type": "text", "text": "blue"}], "isError": false}') == ("blue", None)
    assert result('{"sky": "blue"}') == ('{"sky": "blue"}', None)
    assert result('"blue"') == ("blue", None)


def test_openinference_finds_the_response_id_inside_the_output() -> None:
    def found(value: str) -> str | None:
        return read({"openinference.span.kind": "LLM", "output.value": value}).response_id

    assert found('{"id": "chatcmpl-1", "choices": []}') == "chatcmpl-1"
    assert found('{"candidates": [], "response_id": "r1"}') == "r1"
    assert (
        found('{"generations": [[{"message": {"kwargs": {"response_metadata": {"id": "chatcmpl-2"}, "id": "run"}}}]]}')
        == "chatcmpl-2"
    )
    assert found('{"message": {"role": "assistant"}, "raw": {"id": "chatcmpl-3", "choices": []}}') == "chatcmpl-3"
    assert found('{"id":"chatcmpl-4","choices":[{"mess') == "chatcmpl-4"
    assert found("plain") is None


def test_openinference_drops_of_the_newest_attributes_lose_the_end() -> None:
    oldest_kept = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.content": "q"}

    kept_oldest, kept_newest = (
        read({**oldest_kept, **more}, dropped=3) for more in ({}, {"llm.output_messages.0.message.content": "a"})
    )

    assert kept_oldest.input is not None
    assert kept_newest.input is not None
    assert (kept_oldest.input.truncated, kept_newest.input.truncated) == (True, False)


def test_who_it_was_for_is_read_from_metadata_and_parameters() -> None:
    metadata = read({"openinference.span.kind": "CHAIN", "metadata": '{"thread_id": "t1", "user_id": "u1"}'})
    parameters = read({"openinference.span.kind": "LLM", "llm.invocation_parameters": '{"user": "u2"}'})

    assert (metadata.session_id, metadata.user_id) == ("t1", "u1")
    assert parameters.user_id == "u2"


def test_who_it_was_for_is_read_in_one_order_from_two_dialects() -> None:
    stated = read(
        {
            "openinference.span.kind": "AGENT",
            "metadata": '{"thread_id": "t", "user_id": "m"}',
            "gen_ai.conversation.id": "c",
            "llm.user": "l",
        }
    )

    assert (stated.session_id, stated.user_id) == ("c", "m")


def test_a_tool_is_named_by_its_span_where_nothing_else_names_it() -> None:
    assert read(name="execute_tool look").tool_name == "look"
    assert read({"gen_ai.tool.name": "see"}, name="execute_tool look").tool_name == "see"


def test_the_generic_rules_know_roles_by_attribute_and_by_name() -> None:
    roles = [
        read({"gen_ai.tool.name": "look"}).role,
        read({"ai.model.id": "m"}).role,
        read(name="invoke_agent bot").role,
        read(name="execute_tool look").role,
        read(name="GET /").role,
    ]

    assert roles == ["tool", "llm", "agent", "tool", None]


def test_an_operation_wins_over_a_tools_name_on_the_same_span() -> None:
    assert read({"gen_ai.operation.name": "chat", "gen_ai.tool.name": "look"}).role == "llm"


def test_a_model_named_null_is_none() -> None:
    assert read({"gen_ai.request.model": "null"}).role is None


def test_hidden_content_is_none() -> None:
    reading = read({"openinference.span.kind": "LLM", "input.value": "__REDACTED__", "output.value": "__REDACTED__"})

    assert (reading.input, reading.output) == (None, None)


def test_openinference_prompts_and_completions_are_messages() -> None:
    reading = read(
        {
            "openinference.span.kind": "LLM",
            "llm.prompts.0.prompt.text": "once upon",
            "llm.choices.0.completion.text": "a time",
        }
    )

    assert texts(reading) == (["u:once upon"], ["a:a time"])


@pytest.mark.parametrize(("first", "expected"), [(7, 7), ("many", 5), (None, 5)])
def test_the_name_that_comes_first_wins_where_it_says_something(first: JSONValue, expected: int) -> None:
    stated: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": first, "gen_ai.usage.prompt_tokens": 5}

    readings = [read(stated), read(dict(reversed(stated.items())))]

    assert [reading.input_tokens for reading in readings] == [expected, expected]


def test_a_reading_holds_what_is_said_and_is_frozen() -> None:
    reading = Reading(role="llm", provider="openai", cost=None)

    assert reading.but(provider=None, cost=1.5) == Reading(role="llm", cost=1.5)
    with pytest.raises(AttributeError, match="frozen"):
        reading.role = "tool"  # type: ignore[misc]  # what is tested
