"""A library that no dialect knows gives its run by the general rules, and the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conformance import named, recorded_files, runs_in, shown
from tests.golden.renamed import renamed_runs

_LIBRARIES = frozenset(
    [
        "aws_agentcore_llo_strands",
        "genkit",
        "google_adk_1_5",
        "haystack_native",
        "laminar",
        "langfuse",
        "langsmith",
        "mastra_otel_bridge",
        "mlflow",
        "openinference_agno",
        "openinference_openai",
        "otel_genai_openai_v2",
        "pydantic_ai",
        "pydantic_ai_v1",
        "strands",
        "traceloop_langchain",
        "traceloop_openai_v0_40",
        "vercel_ai_v5",
    ]
)
FILES = [path for path in recorded_files() if path.parent.name in _LIBRARIES and path.stem == "tool_call"]


@pytest.mark.parametrize("path", FILES, ids=[named(path) for path in FILES])
def test_a_library_that_nobody_knows_is_read_by_how_its_names_end(path: Path) -> None:
    runs = renamed_runs(path)
    before, after = shown(runs_in(path)), shown(runs)

    parts = ("system", "remembered", "input", "tool_calls", "output")
    assert {part: after[part] for part in parts} == {part: before[part] for part in parts}
    assert "unknown_dialect" in {issue.code for run in runs for issue in run.issues}
