"""OTLP exports for tests: agent spans as an exporter would send them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.pipeline.stored import PROJECT
from tracescore.otel import JSON, decode_traces
from tracescore.store import Store

REMOTE = 0x300


def agent_span(
    trace: int,
    span: int,
    *,
    text: str = "18 °C",
    parent: int | None = None,
    flags: int = 0x100,
    ended: bool = True,
    attributes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Give one agent invocation in OTLP's JSON form."""
    stated = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.input.messages": _messages("user", "How warm is it?"),
        "gen_ai.output.messages": _messages("assistant", text),
        **(attributes or {}),
    }
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{span:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": "invoke_agent helper",
        "kind": 1,
        "flags": flags,
        "startTimeUnixNano": str(1_000_000_000 + span),
        "endTimeUnixNano": str(2_000_000_000 + span) if ended else "0",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in stated.items()],
    }


def request_of(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give an OTLP export request in its JSON form."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "tests"}}]},
                "scopeSpans": [{"scope": {"name": "opentelemetry.instrumentation.tests"}, "spans": list(spans)}],
            }
        ]
    }


async def receive(store: Store, spans: Sequence[Mapping[str, Any]], *, quiet_ns: int) -> None:
    """Store spans as the receiver does."""
    decoded = decode_traces(json.dumps(request_of(spans)).encode(), JSON)
    assert decoded.rejected == 0
    await store.spans.ingest(PROJECT, decoded.rows, [], now_ns=time.time_ns(), quiet_ns=quiet_ns)


def _messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
