"""Content that was not recorded: what turns it on, and what is no matter of a setting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.assembly.building import agent, llm, runs, says, span_id

ASK = [says("user", "how is it?")]


@pytest.mark.parametrize(
    ("scope", "remedy"),
    [
        ("opentelemetry.instrumentation.genai.openai", "CAPTURE_MESSAGE_CONTENT=span_and_event"),
        ("opentelemetry.instrumentation.openai_v2", "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"),
        ("gcp.vertex.agent", "set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"),
        ("ai", "set recordInputs and recordOutputs of experimental_telemetry to true"),
        ("pydantic-ai", "set include_content=True of InstrumentationSettings"),
        ("test.scope", "no setting is known for this scope"),
    ],
)
def test_content_that_was_not_captured_is_said_with_the_librarys_setting(scope: str, remedy: str) -> None:
    calls = [llm(name, parent="bot", at=at, scope=scope) for name, at in (("one", 1), ("two", 3))]
    run = runs(agent("bot", until=9), *calls)["bot"]

    (issue,) = run.issues
    assert (issue.code, issue.span_id) == ("content_not_captured", span_id("one"))
    assert f"{scope} 1.0 recorded no messages" in issue.detail
    assert remedy in issue.detail


def test_an_answer_that_a_recorded_call_lacks_is_no_matter_of_a_setting() -> None:
    run = runs(llm("one", given=ASK, scope="pydantic-ai"))["one"]

    (issue,) = run.issues
    assert issue.detail == (
        "pydantic-ai 1.0 recorded no output messages; the recording of content is on, and this library leaves them out"
    )


@pytest.mark.parametrize(
    "answer",
    [{"role": "assistant", "parts": []}, {"role": "assistant", "parts": [{"type": "text", "content": ""}]}],
    ids=["no part", "an empty text"],
)
def test_an_empty_answer_is_not_one_that_was_not_captured(answer: dict[str, Any]) -> None:
    run = runs(llm("one", given=ASK, answer=answer))["one"]

    assert run.issues == ()
    assert run.output.text == ""


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "parts": [{"type": "text"}]},
        {"role": "assistant", "parts": [], "finish_reason": "tool_calls"},
    ],
    ids=["a text left out", "calls left out"],
)
def test_an_answer_without_its_parts_was_not_captured(answer: dict[str, Any]) -> None:
    run = runs(llm("one", given=ASK, answer=answer))["one"]

    assert [issue.code for issue in run.issues] == ["content_not_captured"]


@pytest.mark.parametrize(("version", "remedy"), [("0.3b0", "CONTENT=true"), ("1.3b0", "CONTENT=span_and_event")])
def test_the_setting_is_that_of_the_version_that_wrote_the_span(version: str, remedy: str) -> None:
    call = replace(llm("one", scope="opentelemetry.instrumentation.google_genai"), scope_version=version)

    assert runs(call)["one"].issues[0].detail.endswith(remedy)
