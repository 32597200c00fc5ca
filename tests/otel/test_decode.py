"""OTLP traces to rows: both encodings give the same bytes, and what is broken costs itself alone."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, attributes, log, logs, span, traces
from tracescore.errors import InputError
from tracescore.model import JSONValue, Span, SpanEvent, SpanLink
from tracescore.otel import JSON, PROTOBUF, Decoded, SpanRow, decode_logs, decode_traces, read_span
from tracescore.otel.body import copy_hash

CORPUS = Path(__file__).parents[1] / "corpus"
EVERY_KIND = {
    "text": "18°C",
    "n": 3,
    "rate": 0.5,
    "on": True,
    "tags": ["a", 1, 2.5],
    "raw": b"\x00\xff",
    "json": b'{"a": "\xc2\xb0"}',
    "empty": "",
}
STORED: dict[str, JSONValue] = {
    "text": "18°C",
    "n": 3,
    "rate": 0.5,
    "on": True,
    "tags": ["a", 1, 2.5],
    "raw": "AP8=",
    "json": '{"a": "°"}',
    "empty": "",
}


def decode(request: Any) -> Decoded[SpanRow]:
    return decode_traces(as_json(request), JSON)


def read(request: Any) -> Span:
    [row] = decode(request).rows
    return read_span([row.body])


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_request_gives_the_same_rows_as_json_and_as_protobuf(path: Path) -> None:
    content = path.read_bytes()
    decode_any: Any = decode_logs if path.name.endswith(".logs.json") else decode_traces

    assert decode_any(as_protobuf(orjson.loads(content)), PROTOBUF) == decode_any(content, JSON)


def test_texts_of_any_size_and_under_any_key_are_read_alike_however_often_they_come() -> None:
    # Sizes at which protobuf takes one byte more to say them; keys that are remembered and keys that are too long.
    sizes = [0, 1, 80, *range(96, 132), *range(16_376, 16_388)]
    sent = traces(*(span({"k": "x" * size, "é" * 70: "y" * size}, spanId=f"{size:016x}") for size in [*sizes, *sizes]))

    assert decode_traces(as_protobuf(sent), PROTOBUF) == decode(sent)


def test_a_span_is_read_whole() -> None:
    request = traces(
        span(
            EVERY_KIND,
            parentSpanId="00f067aa0ba902b7",
            kind=3,
            status={"code": 2, "message": "no"},
            events=[{"name": "exception", "timeUnixNano": "5", "attributes": attributes({"exception.type": "E"})}],
            links=[{"traceId": TRACE_ID, "spanId": SPAN_ID, "attributes": attributes({"why": "retry"})}],
            flags=0x301,
            traceState="ot=th:c",
            droppedAttributesCount=2,
        ),
        resource={"service.name": "shop"},
    )
    expected = Span(
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        name="chat",
        parent_span_id="00f067aa0ba902b7",
        kind=3,
        start_ns=1796045057675237501,
        end_ns=1796045057732158252,
        status="error",
        status_message="no",
        attributes=STORED,
        events=(SpanEvent(name="exception", time_ns=5, attributes={"exception.type": "E"}),),
        links=(SpanLink(trace_id=TRACE_ID, span_id=SPAN_ID, attributes={"why": "retry"}),),
        resource={"service.name": "shop"},
        scope_name="agent",
        flags=0x301,
        trace_state="ot=th:c",
        dropped_attributes=2,
    )

    assert read(request) == expected
    assert decode_traces(as_protobuf(request), PROTOBUF) == decode(request)


def test_a_row_carries_what_the_store_asks_for_without_reading_the_body() -> None:
    [row] = decode(traces(span({"tracescore.run.complete": True}, parentSpanId="00f067aa0ba902b7", flags=0x300))).rows

    assert row == SpanRow(
        trace_id=bytes.fromhex(TRACE_ID),
        span_id=bytes.fromhex(SPAN_ID),
        copy_hash=row.copy_hash,
        parent_span_id=bytes.fromhex("00f067aa0ba902b7"),
        start_ns=1796045057675237501,
        end_ns=1796045057732158252,
        flags=0x300,
        complete=True,
        body=row.body,
    )
    assert len(row.copy_hash) == 16


@pytest.mark.parametrize("size", [0, 2047, 2048, 4094, 4095, 65_536, 65_537])
def test_a_copy_is_known_by_the_hash_of_its_whole_body(size: int) -> None:
    body = random.Random(size).randbytes(size)

    assert copy_hash(body) == sha256(body).digest()[:16]


@pytest.mark.parametrize("value", ["25", 25, 25.0], ids=["text", "number", "float"])
def test_bug_1_int64_as_string_or_number(value: Any) -> None:
    pairs = [
        {"key": "tokens", "value": {"intValue": value}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": value}]}}},
    ]

    assert read(traces(span(attributes=pairs))).attributes == {"tokens": 25, "list": [25]}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", None], ids=str)
def test_bugs_2_and_34_a_number_that_json_lacks_costs_its_attribute_alone(value: Any) -> None:
    pairs = [{"key": "tokens", "value": {"doubleValue": value}}, *attributes({"kept": 1})]
    decoded = decode(traces(span(attributes=pairs), span(spanId="00f067aa0ba902b7")))

    assert (len(decoded.rows), decoded.rejected) == (2, 0)
    assert read_span([decoded.rows[0].body]).attributes == {"kept": 1}


def test_bug_34_non_finite_doubles_in_protobuf() -> None:
    request = ExportTraceServiceRequest.FromString(as_protobuf(traces(span({"tokens": 1.5, "list": [1.5], "kept": 1}))))
    pairs = request.resource_spans[0].scope_spans[0].spans[0].attributes
    pairs[0].value.double_value = float("inf")
    pairs[1].value.array_value.values[0].double_value = float("nan")
    [row] = decode_traces(request.SerializeToString(), PROTOBUF).rows

    assert read_span([row.body]).attributes == {"list": [None], "kept": 1}


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity"])
def test_json_with_bare_nan_literals_is_read(literal: bytes) -> None:
    content = as_json(traces(span({"x": 1.5, "kept": 1}))).replace(b"1.5", literal)
    [row] = decode_traces(content, JSON).rows

    assert read_span([row.body]).attributes == {"kept": 1}


def test_bug_15_ids_as_base64_in_spans_links_and_parents() -> None:
    trace_id, span_id = "CvdlGRbNQ92ESOshHIAxnA==", "t61rcWkgMzE="
    links = [{"traceId": trace_id, "spanId": span_id}]
    found = read(traces(span(traceId=trace_id, spanId=span_id, parentSpanId=span_id, links=links)))

    assert (found.trace_id, found.span_id, found.parent_span_id) == (TRACE_ID, SPAN_ID, SPAN_ID)
    assert found.links == (SpanLink(trace_id=TRACE_ID, span_id=SPAN_ID),)


def test_enums_as_names_and_snake_case_fields_and_unknown_fields_are_read() -> None:
    plain = {
        "trace_id": TRACE_ID,
        "span_id": SPAN_ID,
        "name": "chat",
        "kind": "SPAN_KIND_CLIENT",
        "start_time_unix_nano": 1,
        "end_time_unix_nano": "2",
        "status": {"code": "STATUS_CODE_ERROR"},
        "attributes": [{"key": "a", "value": {"string_value": "b"}}],
        "colour": {"green": 1},
    }
    found = read({"resource_spans": [{"scope_spans": [{"spans": [plain]}]}]})

    assert (found.kind, found.status, found.start_ns, found.end_ns) == (3, "error", 1, 2)
    assert found.attributes == {"a": "b"}


def test_bug_31_nul_is_kept_in_names_keys_and_values() -> None:
    request = traces(span({"k\0": "v\0"}, name="n\0"))

    assert (read(request).name, read(request).attributes) == ("n\0", {"k\0": "v\0"})
    assert decode_traces(as_protobuf(request), PROTOBUF) == decode(request)


def test_bug_32_a_lone_surrogate_is_replaced() -> None:
    content = as_json(traces(span({"text": "SURROGATE"}))).replace(b"SURROGATE", rb"a\ud83e b \ud83e\udd16 \\ud83e")
    [row] = decode_traces(content, JSON).rows

    assert read_span([row.body]).attributes == {"text": "a\ufffd b \U0001f916 \\ud83e"}


def test_bug_33_invalid_utf8_in_protobuf_costs_those_bytes_alone() -> None:
    content = as_protobuf(traces(span({"text": "a##b", "kept": 1}), span(spanId="00f067aa0ba902b7")))
    decoded = decode_traces(content.replace(b"##", b"\xff\xfe"), PROTOBUF)

    assert read_span([decoded.rows[0].body]).attributes == {"text": "a\ufffd\ufffdb", "kept": 1}
    assert (len(decoded.rows), decoded.rejected) == (2, 0)
    assert decoded.reasons == (
        f"span {SPAN_ID} 'chat': attribute 'text' holds bytes that are not UTF-8; they were replaced",
    )


def test_invalid_utf8_in_json_is_replaced() -> None:
    [row] = decode_traces(as_json(traces(span({"text": "a##b"}))).replace(b"##", b"\xff\xfe"), JSON).rows

    assert read_span([row.body]).attributes == {"text": "a\ufffd\ufffdb"}


@pytest.mark.parametrize("levels", [25, 60, 2000])
@pytest.mark.parametrize("kind", ["array", "kvlist"])
def test_bug_37_deep_nesting_is_cut_and_costs_nothing_else(levels: int, kind: str) -> None:
    content, message = b'{"stringValue":"bottom"}', b"\x0a\x06bottom"
    for _ in range(levels):
        if kind == "array":
            content = b'{"arrayValue":{"values":[' + content + b"]}}"
            message = _field(5, _field(1, message))
        else:
            content = b'{"kvlistValue":{"values":[{"key":"k","value":' + content + b"}]}}"
            message = _field(6, _field(1, _field(1, b"k") + _field(2, message)))
    request = traces(span({"deep": "HERE", "kept": 1}), span(spanId="00f067aa0ba902b7"))
    from_json = decode_traces(as_json(request).replace(b'{"stringValue":"HERE"}', content), JSON)
    encoded = ExportTraceServiceRequest.FromString(as_protobuf(request))
    spans = encoded.resource_spans[0].scope_spans[0].spans
    del spans[0].attributes[0]
    first = spans[0].SerializeToString() + _field(9, _field(1, b"deep") + _field(2, message))
    scoped = _field(1, _field(1, b"agent")) + _field(2, first) + _field(2, spans[1].SerializeToString())
    from_protobuf = decode_traces(_field(1, _field(1, b"") + _field(2, scoped)), PROTOBUF)

    assert (len(from_json.rows), from_json.rejected) == (2, 0)
    assert from_json.reasons == (
        f"span {SPAN_ID} 'chat': attribute 'deep' is nested deeper than 24 levels; what lies deeper was left out",
    )
    assert from_protobuf.reasons == from_json.reasons
    assert [read_span([row.body]) for row in from_protobuf.rows] == [read_span([row.body]) for row in from_json.rows]


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def test_broken_attributes_are_named_and_the_rest_is_read() -> None:
    pairs = [
        {"key": "count", "value": {"intValue": "many"}},
        {"key": "huge", "value": {"intValue": str(2**63)}},
        {"key": "text", "value": {"stringValue": 5}},
        "not a pair",
        *attributes({"kept": 1}),
    ]
    decoded = decode(traces(span(attributes=pairs)))

    assert decoded == Decoded(
        rows=decoded.rows,
        reasons=(
            f"span {SPAN_ID} 'chat': attribute 'count' was left out: 'intValue' is 'many', not an integer",
            f"span {SPAN_ID} 'chat': attribute 'huge' was left out: "
            "'intValue' is '9223372036854775808', out of the bounds of 64 bits",
            f"span {SPAN_ID} 'chat': attribute 'text' was left out: 'stringValue' is 5, not a string",
            f"span {SPAN_ID} 'chat': an attribute was left out: expected an object, not 'not a pair'",
        ),
    )
    assert read_span([decoded.rows[0].body]).attributes == {"kept": 1}


def test_bug_39_spans_without_usable_ids_are_rejected_with_reasons_and_the_rest_is_kept() -> None:
    decoded = decode(
        traces(
            span(traceId="0" * 32),
            span(traceId="xyz"),
            span(spanId=""),
            span(name=7),
            span(startTimeUnixNano="soon"),
            "span",
            span(),
        )
    )

    assert (len(decoded.rows), decoded.rejected, len(decoded.reasons)) == (1, 6, 6)
    assert f"span {SPAN_ID} 'chat': 'traceId' is 'xyz', neither 32 hex digits nor base64 of 16 bytes" in decoded.reasons


def test_rejects_in_protobuf_are_those_of_json() -> None:
    request = traces(span(traceId="0" * 32), span(spanId=""), span())

    assert decode_traces(as_protobuf(request), PROTOBUF) == decode(request)


def test_a_span_cut_in_the_middle_is_rejected_alone() -> None:
    request = ExportTraceServiceRequest.FromString(as_protobuf(traces(span(), span(spanId="00f067aa0ba902b7"))))
    first, second = request.resource_spans[0].scope_spans[0].spans
    scoped = _field(2, first.SerializeToString()[:-4]) + _field(2, second.SerializeToString())
    decoded = decode_traces(_field(1, _field(2, scoped)), PROTOBUF)

    assert [row.span_id.hex() for row in decoded.rows] == ["00f067aa0ba902b7"]
    assert (decoded.rejected, decoded.reasons) == (1, ("a span is broken protobuf",))


def test_bug_21_a_missing_end_and_times_out_of_bounds_are_no_times() -> None:
    decoded = decode(traces(span(endTimeUnixNano="0"), span(startTimeUnixNano="-5", endTimeUnixNano=str(2**64 - 1))))

    assert [(row.start_ns, row.end_ns) for row in decoded.rows] == [(1796045057675237501, 0), (0, 0)]
    assert [reason.partition(": ")[2] for reason in decoded.reasons] == [
        "a time before 1970 or past the year 2262 was left out"
    ]


def test_a_parent_of_zeros_is_no_parent() -> None:
    assert read(traces(span(parentSpanId="0" * 16))).parent_span_id is None


def test_reasons_are_bounded_and_printable() -> None:
    decoded = decode(traces(*(span(spanId=f"bad\n{number}") for number in range(50))))

    assert (decoded.rejected, len(decoded.reasons)) == (50, 21)
    assert decoded.reasons[-1] == "and 30 more"
    assert all(reason.isprintable() for reason in decoded.reasons)


@pytest.mark.parametrize(
    ("scope", "resource"), [("tracescore", {}), ("agent", {"service.name": "tracescore"})], ids=["scope", "service"]
)
@pytest.mark.parametrize("encode", [as_json, as_protobuf])
def test_own_spans_and_records_are_ignored(encode: Any, scope: str, resource: dict[str, str]) -> None:
    kind = JSON if encode is as_json else PROTOBUF
    own_traces = encode(traces(span(), span(), scope=scope, resource=resource))
    own_logs = encode(logs(log({"text": "x"}), scope=scope, resource=resource))

    assert decode_traces(own_traces, kind) == Decoded(ignored=2)
    assert decode_logs(own_logs, kind) == Decoded(ignored=1)


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b"", JSON, "the body is empty, not JSON"),
        (b"{", JSON, "the body is not JSON"),
        (b"\x0a\x01", JSON, "the body is not JSON"),
        (b"[]", JSON, "expected an object"),
        (b'{"spans":[]}', JSON, "it has no 'resourceSpans'"),
        (b'{"resourceLogs":[]}', JSON, "it is a logs request"),
        (b'{"resourceSpans":{}}', JSON, "'resourceSpans' is not an array"),
        (b'{"resourceSpans":[]}', PROTOBUF, "it looks like JSON"),
        (b"\x0a\x7fcut", PROTOBUF, "not an OTLP protobuf ExportTraceServiceRequest"),
        (b"\x0a\x03\x0a\x7f\x00", PROTOBUF, "not OTLP protobuf"),
        (b"{}", "text/plain", "content type 'text/plain' is not OTLP"),
    ],
)
def test_bug_18_a_body_that_cannot_be_read_says_so(body: bytes, content_type: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        decode_traces(body, content_type)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"", PROTOBUF), (b"{}", "application/json; charset=utf-8"), (b'{"resourceSpans":null}', JSON)],
)
def test_an_empty_request_is_no_fault(body: bytes, content_type: str) -> None:
    decoded = decode_traces(body, content_type)

    assert decoded == Decoded()
