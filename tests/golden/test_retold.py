"""What was said is read the same in other exporters' and programs' ways to send it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conformance import named, recorded_files, runs_in
from tests.golden.retold import Way, beside_another, encoded_twice, in_other_words, layered, retold_runs, structured
from tracescore.dialects import KNOWN_DIALECTS
from tracescore.model import AgentRun

_ONE_EACH = frozenset(
    [
        "google_adk_1_5/tool_call",
        "haystack_native/tool_call",
        "langfuse/stream",
        "langsmith/tool_call",
        "laminar/stream",
        "logfire_openai/tool_call",
        "mlflow/tool_call",
        "openinference_langchain/tool_call",
        "pydantic_ai/tool_call",
        "otel_genai_openai/tool_call",
        "otel_genai_openai_v2/tool_call",
        "strands/tool_call",
        "traceloop_openai/events",
        "openinference_google_genai/error",
        "vercel_ai_v5/tool_call",
    ]
)
FILES = [path for path in recorded_files() if named(path) in _ONE_EACH]
BESIDE = [
    path
    for path in recorded_files()
    if named(path)
    in ("openinference_openai_agents/handoff", "openinference_crewai/multi_agent", "openinference_google_adk/error")
]
WAYS = (encoded_twice, structured, in_other_words, layered)


def _told(run: AgentRun) -> tuple[object, ...]:
    said = [[(one.role, one.content) for one in part] for part in (run.input.system_messages, run.input.input_messages)]
    remembered = [(one.role, one.content) for one in run.input.remembered_messages]
    calls = [(call.name, call.arguments, call.result) for call in run.output.tool_calls]
    return run.agent_name, run.status, said, remembered, [one.content for one in run.output], calls, run.usage


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
def test_the_same_was_said_however_it_is_sent(way: Way) -> None:
    expected = {named(path): [_told(run) for run in runs_in(path)] for path in FILES}

    assert {named(path): [_told(run) for run in retold_runs(path, way)] for path in FILES} == expected


@pytest.mark.parametrize("path", BESIDE, ids=[named(path) for path in BESIDE])
def test_two_conversations_in_one_trace_are_told_apart_by_their_roots(path: Path) -> None:
    expected = [_told(run) for run in runs_in(path) for _ in range(2)]

    assert sorted(map(repr, map(_told, retold_runs(path, beside_another)))) == sorted(map(repr, expected))


def test_content_is_content_also_behind_a_pipelines_word() -> None:
    for key in ("gen_ai.input.messages", "haystack.pipeline.input_data", "mlflow.spanInputs"):
        assert KNOWN_DIALECTS.holds_content(f"attributes.{key}")
    assert not KNOWN_DIALECTS.holds_content("attributes.gen_ai.request.model")
