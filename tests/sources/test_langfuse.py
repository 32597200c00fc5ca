"""Langfuse's export form: the runs come out as if the spans had come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.sources.langfuse import ANSWER, HISTORY, QUESTION, export, observation
from tracescore.model import AgentRun
from tracescore.pipeline.assembly import assemble
from tracescore.sources import read_files
from tracescore.sources.langfuse import requests_of


def runs(path: Path, content: Any) -> list[AgentRun]:
    path.write_bytes(orjson.dumps(content))
    read = read_files([path])
    assert read.problems == []
    return [found.run for trace in read.traces for found in assemble(trace)]


def test_a_run_has_all_that_the_export_holds(tmp_path: Path) -> None:
    [run] = runs(tmp_path / "x.json", export())
    [call] = run.output.tool_calls

    assert (run.kind, run.agent_name, run.model, run.session_id, run.user_id) == (
        "agent", "guide", "m-1", "thread-1", "bo",
    )  # fmt: skip
    assert [message.content for message in run.input.system_messages] == ["Be brief."]
    assert [message.content for message in run.input.remembered_messages] == [item["content"] for item in HISTORY]
    assert [message.content for message in run.input.input_messages] == [QUESTION]
    assert (call.name, call.arguments, str(call.result)) == ("warmth", {"city": "Rome"}, "21")
    assert (run.output.text, run.usage.input, run.usage.output, run.cost) == (ANSWER, 20, 8, 0.75)
    assert (run.tags, run.issues, run.status) == (("beta",), (), "ok")
    assert run.end_ns - run.start_ns == 750_000_000


@pytest.mark.parametrize(
    "form",
    [
        lambda: export(as_text=True),
        lambda: export(inner=True),
        lambda: [export()],
        lambda: {"data": [export(inner=True)], "meta": {"page": 1}},
    ],
    ids=["text", "api", "list", "page"],
)
def test_each_form_of_an_export_gives_the_same_run(form: Any, tmp_path: Path) -> None:
    assert runs(tmp_path / "x.json", form()) == runs(tmp_path / "y.json", export())


def test_exports_a_line_are_read_like_requests_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join([orjson.dumps(export()), b"{", orjson.dumps(export(inner=True))]))
    read = read_files([path])

    assert [len(trace.spans) for trace in read.traces] == [4]
    assert [problem.message.partition(":")[0] for problem in read.problems] == ["line 2"]


def test_observations_alone_are_a_trace_of_their_own(tmp_path: Path) -> None:
    [run] = runs(tmp_path / "x.json", export()["observations"])

    assert (run.agent_name, run.session_id) == ("guide", None)


def test_ids_are_kept_where_they_are_opentelemetrys_and_made_of_what_they_are_else() -> None:
    given = observation(1, "SPAN", "a", parent=2, id="00f067aa0ba902b7", traceId="4bf92f3577b34da6a3ce929d0e0e4736")
    first, again = (requests_of([given]).traces for _ in range(2))
    assert first is not None
    [span] = first["resourceSpans"][0]["scopeSpans"][0]["spans"]

    assert first == again
    assert (span["traceId"], span["spanId"]) == (given["traceId"], given["id"])
    assert len(span["parentSpanId"]) == 16


def test_the_attributes_of_a_span_that_came_by_opentelemetry_are_read_too(tmp_path: Path) -> None:
    metadata = {
        "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Guide"},
        "resourceAttributes": {"service.name": "shop"},
        "scope": {"name": "their.scope", "version": "2", "attributes": {"public_key": "pk"}},
    }
    item = observation(1, "AGENT", "invoke_agent Guide", metadata=json.dumps(metadata), output="Done.")
    path = tmp_path / "x.json"
    [run] = runs(path, [item])
    [span] = read_files([path]).traces[0].spans

    assert (run.agent_name, run.service, run.output.text) == ("Guide", "shop", "Done.")
    assert (span.scope_name, span.scope_version) == ("their.scope", "2")
    assert "pk" not in str(span)


def test_the_ai_sdks_spans_are_read_by_their_own_attributes(tmp_path: Path) -> None:
    def metadata(operation: str, **more: str) -> dict[str, Any]:
        return {
            "attributes": {"ai.operationId": operation, "operation.name": operation, **more},
            "scope": {"name": "ai"},
        }

    call = [{"toolCallId": "c1", "toolName": "warmth", "input": '{"city": "Rome"}'}]
    asked = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    usage = {"ai.usage.inputTokens": "10", "ai.usage.outputTokens": "4"}
    tool = {"ai.toolCall.name": "warmth", "ai.toolCall.id": "c1"}
    [run] = runs(
        tmp_path / "x.json",
        [
            observation(1, "GENERATION", "ai.generateText", input={"prompt": QUESTION}, output=ANSWER, model="m-1",
                        usageDetails={"input": 10, "output": 4}, metadata=metadata("ai.generateText")),
            observation(2, "GENERATION", "ai.generateText.doGenerate", parent=1, input=asked, output=call, model="m-1",
                        metadata=metadata("ai.generateText.doGenerate", **usage)),
            observation(3, "TOOL", "warmth", parent=1, input={"city": "Rome"}, output="21",
                        metadata=metadata("ai.toolCall", **tool)),
        ],
    )  # fmt: skip
    [called] = run.output.tool_calls

    assert run.kind == "agent"
    assert [message.content for message in run.input.input_messages] == [QUESTION]
    assert (called.name, called.arguments, str(called.result)) == ("warmth", {"city": "Rome"}, "21")
    assert (run.usage.input, run.usage.output) == (10, 4)


def test_scores_are_evaluation_events_of_what_they_are_about() -> None:
    logs = requests_of(export()).logs
    assert logs is not None
    records = logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    traces = requests_of(export()).traces
    assert traces is not None
    spans = [group["scopeSpans"][0]["spans"][0] for group in traces["resourceSpans"]]
    values = [{item["key"]: item["value"] for item in record["attributes"]} for record in records]

    assert [record["eventName"] for record in records] == ["gen_ai.evaluation.result"] * 2
    assert [record["spanId"] for record in records] == [spans[1]["spanId"], spans[3]["spanId"]]
    assert values[0]["gen_ai.evaluation.score.value"] == {"doubleValue": 0.5}
    assert values[1]["gen_ai.evaluation.score.label"] == {"stringValue": "dry"}


def test_an_error_is_the_status_of_its_span(tmp_path: Path) -> None:
    item = observation(1, "GENERATION", "chat", level="ERROR", statusMessage="quota", model="m", endTime=None)
    [run] = runs(tmp_path / "x.json", [item])

    assert run.status == "error"


@pytest.mark.parametrize("hostile", [[], {}, 5, "x", None, [None], {"a": [1]}])
def test_values_of_any_kind_in_any_field_cost_no_more_than_themselves(hostile: Any, tmp_path: Path) -> None:
    item = observation(1, "GENERATION", "chat", model="m")
    for key in set(item) - {"id", "traceId", "type", "startTime"}:
        path = tmp_path / "x.json"
        path.write_bytes(orjson.dumps([{**item, key: hostile}]))

        assert [len(trace.spans) for trace in read_files([path]).traces] == [1], key
