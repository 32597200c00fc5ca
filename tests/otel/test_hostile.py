"""Nothing that is sent makes decoding fail in another way than by saying what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.otel.requests import as_json, as_protobuf, log, logs, span, traces
from tracescore.errors import InputError
from tracescore.otel import JSON, PROTOBUF, Decoded, decode_logs, decode_traces, read_log, read_span

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes"),
        *("events", "links", "status", "flags", "traceState", "droppedAttributesCount", "body", "eventName"),
        *("timeUnixNano", "observedTimeUnixNano"),
    ]
)
GOOD_TRACES = as_protobuf(traces(span({"a": [1, {"b": "c"}]}, events=[{"name": "e"}]), resource={"service.name": "s"}))
GOOD_LOGS = as_protobuf(logs(log({"a": [1, {"b": "c"}]}, {"x": 1}), resource={"service.name": "s"}))


def as_text(request: Any) -> bytes:
    """Write JSON as Python does: with NaN, lone surrogates and integers of any size."""
    return json.dumps(request).encode()


def read_all(decode: Callable[[bytes, str], Decoded[Any]], body: bytes, content_type: str) -> None:
    try:
        decoded = decode(body, content_type)
    except InputError:
        return
    for row in decoded.rows:
        assert orjson.loads(row.body)
        if decode is decode_traces:
            read_span([row.body, row.body + b" "])
        else:
            read_log(row.body)


@given(st.binary(max_size=200))
def test_arbitrary_bytes(body: bytes) -> None:
    for content_type in (JSON, PROTOBUF):
        read_all(decode_traces, body, content_type)
        read_all(decode_logs, body, content_type)


@given(st.dictionaries(FIELDS, JSON_VALUES, max_size=6))
def test_arbitrary_values_in_the_fields_of_a_span_and_a_log_record(fields: dict[str, Any]) -> None:
    for decode, request in (
        (decode_traces, traces({**span(), **fields}, span())),
        (decode_logs, logs({**log({"a": 1}), **fields}, log({"a": 1}))),
    ):
        body = as_text(request)
        decoded = decode(body, JSON)
        assert decoded.rows, "the sound neighbour was lost"
        read_all(decode, body, JSON)


@given(JSON_VALUES)
def test_arbitrary_attribute_values(value: Any) -> None:
    pairs = [{"key": "x", "value": value}, {"key": "kept", "value": {"intValue": 1}}]
    decoded = decode_traces(as_text(traces(span(attributes=pairs))), JSON)
    [row] = decoded.rows

    assert read_span([row.body]).attributes["kept"] == 1


@pytest.mark.parametrize("good", [GOOD_TRACES, GOOD_LOGS], ids=["traces", "logs"])
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_one_changed_byte(good: bytes, place: int, byte: int) -> None:
    place %= len(good)
    read_all(
        decode_traces if good is GOOD_TRACES else decode_logs,
        good[:place] + bytes([byte]) + good[place + 1 :],
        PROTOBUF,
    )


def test_a_request_cut_off_anywhere() -> None:
    for good, decode in ((GOOD_TRACES, decode_traces), (GOOD_LOGS, decode_logs)):
        for end in range(len(good)):
            read_all(decode, good[:end], PROTOBUF)
    text = as_json(traces(span()))
    for end in range(1, len(text)):
        with pytest.raises(InputError):
            decode_traces(text[:end], JSON)


def test_a_broken_body_full_of_quotes_is_refused_at_once() -> None:
    with pytest.raises(InputError):
        decode_traces(b'\\"' * 500_000, JSON)
