"""OTLP logs to rows: what may hold a span's messages is kept, the rest is counted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, log, logs
from tracescore.model import JSONValue, LogRecord
from tracescore.otel import JSON, PROTOBUF, Decoded, LogRow, decode_logs, read_log

MESSAGE: dict[str, JSONValue] = {
    "content": "What is the weather in Paris?",
    "role": "user",
    "n": [1, 2.5, None, {"deep": True}],
}


def decode(request: Any) -> Decoded[LogRow]:
    decoded = decode_logs(as_json(request), JSON)
    assert decode_logs(as_protobuf(request), PROTOBUF) == decoded
    return decoded


@pytest.mark.parametrize(
    "record",
    [
        log(MESSAGE, eventName="gen_ai.user.message"),
        log(MESSAGE, {"event.name": "gen_ai.user.message"}),
    ],
    ids=["field", "attribute"],
)
def test_the_event_name_is_read_from_its_field_or_its_attribute(record: dict[str, Any]) -> None:
    [row] = decode(logs(record, resource={"service.name": "shop"})).rows
    found = read_log(row.body, arrived_ns=7)

    assert found == LogRecord(
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        event_name="gen_ai.user.message",
        time_ns=1796045057675237501,
        body=MESSAGE,
        attributes=found.attributes,
        resource={"service.name": "shop"},
        scope_name="agent",
        arrived_ns=7,
    )


@pytest.mark.parametrize(
    "record",
    [
        log(None, eventName="gen_ai.client.inference.operation.details"),
        log(MESSAGE),
        log('{"content":"x"}'),
        log("plain words", {"gen_ai.system": "openai"}),
    ],
    ids=["known name", "structured body", "JSON text", "known attribute"],
)
def test_a_record_that_may_hold_content_is_kept(record: dict[str, Any]) -> None:
    decoded = decode(logs(record))

    assert (len(decoded.rows), decoded.ignored) == (1, 0)


@pytest.mark.parametrize(
    "record",
    [
        log("HTTP Request: POST"),
        log(MESSAGE, traceId=""),
        log(MESSAGE, spanId=""),
        log(MESSAGE, spanId="0" * 16),
    ],
    ids=["a log line", "no trace", "no span", "a span id of zeros"],
)
def test_any_other_record_is_counted_as_ignored(record: dict[str, Any]) -> None:
    assert decode(logs(record)) == Decoded(ignored=1)


def test_the_observed_time_stands_in_for_a_missing_time() -> None:
    [row] = decode(logs(log(MESSAGE, timeUnixNano="0", observedTimeUnixNano="9"))).rows

    assert row.time_ns == 9


def test_a_broken_record_is_rejected_alone() -> None:
    decoded = decode_logs(as_json(logs({**log(), "body": {"kvlistValue": 3}}, "record", log(MESSAGE))), JSON)

    assert (len(decoded.rows), decoded.rejected) == (1, 2)
    assert decoded.reasons == (
        f"log record of span {SPAN_ID}: expected an object, not 3",
        "a log record: expected an object, not 'record'",
    )


def test_invalid_utf8_in_a_protobuf_body_costs_those_bytes_alone() -> None:
    content = as_protobuf(logs(log({"content": "a##b"}), log(MESSAGE))).replace(b"##", b"\xff\xfe")
    decoded = decode_logs(content, PROTOBUF)

    assert read_log(decoded.rows[0].body).body == {"content": "a\ufffd\ufffdb"}
    assert (len(decoded.rows), decoded.rejected) == (2, 0)
