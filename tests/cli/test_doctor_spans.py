"""``doctor --spans``: the services seen, whether their runs can be read, and what turns content on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import InProcess
from tests.exporter.agents import message
from tests.otel.requests import span, traces
from tests.store.rows import span_row
from tracescore.bridge import run_sync
from tracescore.store import Store

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
SAID = {"gen_ai.input.messages": message("user", "Hi."), "gen_ai.output.messages": message("assistant", "Hello.")}
LATEST = (
    "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event"
)


def request(number: int, service: str, scope: str, values: dict[str, Any], *, version: str = "") -> dict[str, Any]:
    made = traces(
        span(values, traceId=f"{number:032x}", spanId=f"{number:016x}"), resource={"service.name": service}, scope=scope
    )
    made["resourceSpans"][0]["scopeSpans"][0]["scope"]["version"] = version
    return made


@pytest.fixture
def filled(in_process: InProcess, tmp_path: Path) -> Path:
    genai = "opentelemetry.instrumentation.genai.openai"
    requests = [
        request(1, "shop", genai, {**CHAT, **SAID}, version="1.3b0"),
        request(2, "mixed", genai, {**CHAT, **SAID}, version="1.3b0"),
        request(3, "mixed", genai, CHAT, version="1.3b0"),
        request(4, "silent", "opentelemetry.instrumentation.openai.v1", CHAT, version="0.62.4"),
        request(5, "web", "opentelemetry.instrumentation.httpx", {"http.request.method": "GET"}),
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, requests)))
    assert in_process("import", path, "--data", tmp_path / "store").code == 0
    return tmp_path / "store"


def test_services_are_readable_without_content_or_no_agents(in_process: InProcess, filled: Path) -> None:
    before = time.time()
    ended = in_process("doctor", "--spans", "--data", filled, "--json")
    services = {service["name"]: service for service in ended.json["services"]}

    assert {name: service["state"] for name, service in services.items()} == {
        "shop": "readable",
        "mixed": "partly",
        "silent": "without content",
        "web": "not agent traffic",
    }
    mixed = services["mixed"]
    assert (mixed["traces"], mixed["spans"], mixed["runs"], mixed["runs_without_content"]) == (2, 2, 2, 1)
    assert mixed["instrumentations"] == [
        {
            "name": "opentelemetry.instrumentation.genai.openai",
            "version": "1.3b0",
            "spans": 2,
            "runs_without_content": 1,
            "setting": LATEST,
        }
    ]
    assert services["silent"]["instrumentations"][0]["setting"].startswith("set TRACELOOP_TRACE_CONTENT=true")
    assert abs(before - mixed["newest_ns"] / 1e9) < 60
    assert (ended.code, ended.json["sampled"], ended.json["traces"]) == (0, 5, 5)


def test_a_person_is_told_what_to_set(in_process: InProcess, filled: Path) -> None:
    ended = in_process("doctor", "--spans", "--data", filled, environ={"COLUMNS": "300"})

    assert "4 services in 5 of 5 traces" in ended.out
    assert "silent  without content  1 trace, 1 span, 1 run, newest" in ended.out
    assert f"→ 1 run without content: {LATEST}" in ended.out
    assert "web  not agent traffic" in ended.out


def test_an_empty_store_and_none_are_said(in_process: InProcess, tmp_path: Path) -> None:
    Store.open(tmp_path / "store").close()

    assert "No spans are stored yet" in in_process("doctor", "--spans", "--data", tmp_path / "store").out
    assert in_process("doctor", "--spans", "--data", tmp_path / "none").code == 2


def test_a_sample_is_the_newest_and_others_of_any_time(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        for number in range(1, 11):
            row = span_row(trace_id=f"{number:032x}")
            run_sync(store.spans.ingest("default", [row], (), now_ns=number, quiet_ns=0))
        seen = run_sync(store.spans.sample("default", limit=3))
        everything = run_sync(store.spans.sample("default", limit=100))

    assert [one.last_arrival_ns for one in seen] == [10, 9, 8, 1, 2, 3]
    assert len(everything) == 10
