"""Evaluation results of others: read from log records and span events, in either encoding, whatever is in them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, attributes, log, logs, span, traces
from tracescore.otel import JSON, PROTOBUF, Decoded, LogRow, SpanRow, decode_logs, decode_traces
from tracescore.otel.evaluation import MAX_BODY, MAX_NAME

NAME = "gen_ai.evaluation.result"
STATED = {
    "gen_ai.evaluation.name": "Relevance",
    "gen_ai.evaluation.score.value": 0.75,
    "gen_ai.evaluation.score.label": "relevant",
    "gen_ai.evaluation.explanation": "It answers.",
}


def result(stated: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return log(None, STATED if stated is None else stated, eventName=NAME, **fields)


def read(request: Any) -> tuple[Decoded[LogRow], dict[str, Any]]:
    """Decode both encodings, which must agree, and give the one result with its content."""
    decoded = decode_logs(as_protobuf(request), PROTOBUF)
    assert decode_logs(as_json(request), JSON).evaluations == decoded.evaluations
    return decoded, orjson.loads(decoded.evaluations[0].body) if decoded.evaluations else {}


def test_a_result_is_kept_apart_from_log_records() -> None:
    decoded, body = read(logs(result()))
    (row,) = decoded.evaluations

    assert (decoded.rows, decoded.ignored, decoded.reasons) == ([], 0, ())
    assert (row.trace_id.hex(), row.span_id.hex(), row.response_id) == (TRACE_ID, SPAN_ID, "")
    assert {name: body[name] for name in ("name", "value", "label", "explanation", "error_type")} == {
        "name": "Relevance",
        "value": 0.75,
        "label": "relevant",
        "explanation": "It answers.",
        "error_type": None,
    }


@pytest.mark.parametrize(
    "fields",
    [{"spanId": ""}, {"traceId": "", "spanId": ""}, {"traceId": "0" * 32}],
    ids=["no span", "no trace", "a trace id of zeros"],
)
def test_a_result_may_name_a_response_only(fields: dict[str, str]) -> None:
    decoded, _ = read(logs(result({**STATED, "gen_ai.response.id": "resp-1"}, **fields)))

    assert [(row.response_id, row.span_id) for row in decoded.evaluations] == [("resp-1", b"")]


def test_the_name_may_be_an_attribute_as_older_sdks_have_it() -> None:
    decoded, body = read(logs(log(None, {**STATED, "event.name": NAME})))

    assert (len(decoded.evaluations), body["name"]) == (1, "Relevance")


def test_a_result_in_a_span_is_read_and_the_span_is_kept_as_it_came() -> None:
    request = traces(span(events=[{"name": NAME, "timeUnixNano": "5", "attributes": attributes(STATED)}]))
    decoded = decode_traces(as_protobuf(request), PROTOBUF)
    as_text: Decoded[SpanRow] = decode_traces(as_json(request), JSON)

    assert decoded == as_text
    assert [(row.span_id.hex(), row.time_ns) for row in decoded.evaluations] == [(SPAN_ID, 5)]
    assert NAME.encode() in decoded.rows[0].body


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (result({}), "has no gen_ai.evaluation.name"),
        (result({**STATED, "gen_ai.evaluation.name": 7}), "has no gen_ai.evaluation.name"),
        (result(spanId=""), "names neither a span nor a response"),
    ],
)
def test_a_result_of_nothing_is_counted_and_told(record: dict[str, Any], words: str) -> None:
    decoded, _ = read(logs(record))

    assert (decoded.evaluations, decoded.ignored, decoded.rejected) == ([], 1, 0)
    assert words in decoded.reasons[0]


@pytest.mark.parametrize("value", ["0.9", True, "NaN", None, [1.0]])
def test_a_value_that_is_no_number_is_none(value: Any) -> None:
    _, body = read(logs(result({**STATED, "gen_ai.evaluation.score.value": value})))

    assert body["value"] is None


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
def test_a_value_that_is_not_finite_is_none(value: str) -> None:
    record = result({key: said for key, said in STATED.items() if key != "gen_ai.evaluation.score.value"})
    record["attributes"].append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": value}})
    _, body = read(logs(record))

    assert body["value"] is None


@pytest.mark.parametrize("end", ["", "\x00\x1b[31m"])
def test_what_is_too_long_is_cut(end: str) -> None:
    long = "x" * 300_000 + end
    decoded, body = read(logs(result({**STATED, "gen_ai.evaluation.name": long, "other": long})))
    (row,) = decoded.evaluations

    assert (body["name"], body["attributes"]) == ("x" * MAX_NAME, {})
    assert len(row.body) < MAX_BODY
