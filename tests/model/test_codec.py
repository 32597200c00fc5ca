from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import orjson
import pytest

from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    DataPart,
    ErrorPart,
    Issue,
    MediaPart,
    Message,
    Messages,
    ReasoningPart,
    RetrievedDocument,
    ScorerRun,
    Target,
    TextPart,
    ToolInvocationPart,
    Usage,
    content_hash,
    dump_run,
    load_any_run,
    load_run,
    run_to_json,
    text_message,
)

CALL = ToolInvocationPart(id="call_1", name="get_weather", arguments={"city": "Paris"}, result="18C", duration_ms=1.5)
RUN = AgentRun(
    run_id="0" * 32,
    target=Target(trace_id="a" * 32, span_id="b" * 16),
    agent_name="WeatherBot",
    model="gpt-4o-mini",
    provider="openai",
    session_id="s",
    user_id="u",
    service="svc",
    environment="prod",
    tags=("x",),
    request_context={"tenant": "t"},
    attributes={"k": 1},
    input=AgentInput(
        input_messages=Messages([text_message("user", "And now?")]),
        remembered_messages=Messages([text_message("user", "Hi"), text_message("assistant", "Hello")]),
        system_messages=Messages([text_message("system", "Be brief.")]),
        tagged_system_messages={"memory": Messages([text_message("system", "Ada likes tea.")])},
    ),
    output=AgentOutput(
        [
            Message(role="assistant", parts=(ReasoningPart(text="hm"), TextPart(text="Let me look."), CALL)),
            Message(
                role="assistant",
                parts=(
                    TextPart(text="18C"),
                    TextPart(text="and sunny"),
                    MediaPart(type="image", media_type="image/png", url="https://example.org/x.png"),
                    DataPart(data={"a": [1]}),
                    ErrorPart(message="late"),
                ),
            ),
        ]
    ),
    contexts=(RetrievedDocument(id="d", text="doc", score=0.5, source="kb"),),
    usage=Usage(input=10, output=2, cache_read=1),
    issues=(Issue(code="truncated", detail="cut", span_id="b" * 16),),
    start_ns=1,
    end_ns=2,
    cost=0.1,
)


def with_call(call: ToolInvocationPart) -> AgentOutput:
    """Give the run's output with another tool call."""
    first = replace(RUN.output[0], parts=(*RUN.output[0].parts[:2], call))
    return AgentOutput([first, RUN.output[1]])


def test_a_stored_run_comes_back_whole() -> None:
    failed = replace(RUN, status="error", error="no credit")
    older = orjson.loads(dump_run(RUN))
    del older["error"]

    assert load_run(dump_run(RUN)) == RUN == load_run(orjson.dumps(older))
    assert load_run(dump_run(failed)) == failed


def test_the_public_form_has_exactly_its_fields_in_order() -> None:
    assert list(run_to_json(RUN)) == [
        "run_id",
        "trace_id",
        "span_id",
        "parent_run_id",
        "kind",
        "agent_name",
        "model",
        "session_id",
        "user_id",
        "status",
        "input_messages",
        "remembered_messages",
        "system_messages",
        "tagged_system_messages",
        "output",
        "output_text",
        "tool_calls",
        "contexts",
        "usage",
        "issues",
    ]
    assert [*run_to_json(replace(RUN, error="no credit"))][9:11] == ["status", "error"]


def test_the_output_text_joins_the_text_parts_of_the_last_message_with_any() -> None:
    assert run_to_json(RUN)["output_text"] == "18C\nand sunny"


def test_tool_calls_are_listed_with_their_results() -> None:
    assert run_to_json(RUN)["tool_calls"] == [
        {
            "id": "call_1",
            "name": "get_weather",
            "arguments": {"city": "Paris"},
            "result": "18C",
            "error": None,
            "duration_ms": 1.5,
        }
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"usage": Usage()},
        {"cost": 9.0},
        {"start_ns": 7, "end_ns": 9},
        {"run_id": "1" * 32, "target": None, "session_id": None},
        {"issues": ()},
        {"agent_name": "other"},
        {"error": "no credit"},
        {"output": with_call(replace(CALL, id="x", duration_ms=9.0))},
    ],
)
def test_usage_cost_times_and_ids_do_not_change_the_content_hash(changed: dict[str, object]) -> None:
    assert content_hash(replace(RUN, **changed)) == content_hash(RUN)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    "changed",
    [
        {"status": "error"},
        {"ground_truth": "18C"},
        {"expected_trajectory": ["get_weather"]},
        {"contexts": ()},
        {"input": AgentInput()},
        {"output": AgentOutput()},
        {"output": with_call(replace(CALL, error="x"))},
    ],
)
def test_whatever_is_judged_changes_the_content_hash(changed: dict[str, object]) -> None:
    assert content_hash(replace(RUN, **changed)) != content_hash(RUN)  # type: ignore[arg-type]  # fields by name


def test_a_scorer_that_reads_usage_or_timing_sees_their_changes() -> None:
    other = replace(RUN, usage=Usage(input=11), end_ns=3)

    assert content_hash(other, reads=("usage",)) != content_hash(RUN, reads=("usage",))
    assert content_hash(other, reads=("timing",)) != content_hash(RUN, reads=("timing",))


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        (Messages([text_message("user", "Hi")]), Messages([text_message("assistant", "Hello")])),
        ({"city": "Paris"}, "18C"),
        (None, [1, None]),
    ],
)
def test_a_run_of_another_kind_is_read_back_with_its_own_input_and_output(given: object, answered: object) -> None:
    run = ScorerRun(run_id="1" * 32, kind="tool", target=RUN.target, input=given, output=answered)

    assert load_any_run(dump_run(run)) == run
    assert load_any_run(dump_run(RUN)) == RUN
    with pytest.raises(ValueError, match="of kind tool"):
        load_run(dump_run(run))


def test_the_public_form_of_another_kind_has_its_input_and_output_as_they_are() -> None:
    shown = run_to_json(ScorerRun(run_id="1" * 32, kind="tool", input={"city": "Paris"}, output="18C"))

    assert (shown["input"], shown["output"], shown["output_text"], shown["tool_calls"]) == (
        *({"city": "Paris"}, "18C"),
        *("", []),
    )


class _Named(AgentRun):
    """A run of a user's own class, without fields of its own."""


@pytest.mark.parametrize("kind", [AgentRun, _Named])
def test_a_run_is_frozen_and_of_the_class_that_was_asked_for(kind: type[AgentRun]) -> None:
    run = kind(run_id="r")

    assert (type(run), run, replace(run, run_id="s").run_id) == (kind, kind(run_id="r", input=AgentInput()), "s")
    with pytest.raises(FrozenInstanceError):
        run.run_id = "s"  # type: ignore[misc]  # what is tested
    with pytest.raises(TypeError, match="unexpected keyword argument 'runid'"):
        kind(runid="r")  # type: ignore[call-arg]  # what is tested
