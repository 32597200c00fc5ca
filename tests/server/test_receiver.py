"""The receiver over real HTTP: what is answered is stored, and what is refused is told why."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, log, logs, span, traces
from tests.server.calls import call
from tracescore.bridge import run_sync
from tracescore.errors import StoreUnavailable
from tracescore.otel import JSON, PROTOBUF, read_log, read_span
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import Ingested, Store


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(body) + compressor.flush()


def stored_spans(store: Store, trace_id: str = TRACE_ID) -> list[str]:
    trace = run_sync(store.spans.load_trace("default", trace_id))
    return [item.span_id for item in trace.spans] if trace else []


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip, Compression.Deflate])
def test_spans_of_the_opentelemetry_sdk_are_stored(
    server: RunningServer, store: Store, compression: Compression
) -> None:
    exporter = OTLPSpanExporter(endpoint=f"{server.url}/v1/traces", compression=compression)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("agent").start_as_current_span("invoke_agent Ada") as sent:
        sent.set_attribute("gen_ai.agent.name", "Ada")
    provider.shutdown()
    trace = run_sync(store.spans.load_trace("default", f"{sent.get_span_context().trace_id:032x}"))
    assert trace is not None
    [stored] = trace.spans
    found = read_span(stored.copies, arrived_ns=stored.arrived_ns)

    assert (found.name, found.attributes, found.scope_name) == (
        "invoke_agent Ada",
        {"gen_ai.agent.name": "Ada"},
        "agent",
    )


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
    ],
)
@pytest.mark.parametrize(("content_type", "encode"), [(JSON, as_json), (PROTOBUF, as_protobuf)])
def test_bugs_16_and_17_every_encoding_is_read_and_answered_in_kind(
    server: RunningServer,
    store: Store,
    content_type: str,
    encode: Callable[[Any], bytes],
    encoding: str,
    compress: Callable[[bytes], bytes],
) -> None:
    body = compress(encode(traces(span())))
    answer = call(server, "POST", "/v1/traces", body, content_type=content_type, content_encoding=encoding)

    assert (answer.status, answer.headers["content-type"]) == (200, content_type)
    assert answer.body == (b"{}" if content_type == JSON else b"")
    assert stored_spans(store) == [SPAN_ID]


def test_log_records_are_stored_beside_their_span(server: RunningServer, store: Store) -> None:
    body = as_protobuf(logs(log({"content": "hello"}), log("an ordinary line")))
    answer = call(server, "POST", "/v1/logs", body, content_type=PROTOBUF)
    trace = run_sync(store.spans.load_trace("default", TRACE_ID))

    assert (answer.status, ExportLogsServiceResponse.FromString(answer.body)) == (200, ExportLogsServiceResponse())
    assert trace is not None
    assert [read_log(item.body).body for item in trace.logs] == [{"content": "hello"}]


def test_the_same_request_twice_is_stored_once_in_either_encoding(server: RunningServer, store: Store) -> None:
    request = traces(span({"n": 1}))
    for content_type, body in ((JSON, as_json(request)), (PROTOBUF, as_protobuf(request)), (JSON, as_json(request))):
        call(server, "POST", "/v1/traces", body, content_type=content_type)
    trace = run_sync(store.spans.load_trace("default", TRACE_ID))

    assert trace is not None
    assert [len(item.copies) for item in trace.spans] == [1]


def test_what_is_rejected_is_told_as_partial_success(server: RunningServer, store: Store) -> None:
    request = traces(span(), span(spanId="0" * 16))
    reason = "span 0000000000000000 'chat': span id '0000000000000000' is not 8 bytes that are not all zero"
    as_text = call(server, "POST", "/v1/traces", as_json(request), content_type=JSON)
    as_bytes = call(server, "POST", "/v1/traces", as_protobuf(request), content_type=PROTOBUF)
    partial: Any = ExportTraceServiceResponse.FromString(as_bytes.body).partial_success

    assert as_text.json == {"partialSuccess": {"rejectedSpans": "1", "errorMessage": reason}}
    assert (partial.rejected_spans, partial.error_message) == (1, reason)
    assert stored_spans(store) == [SPAN_ID]


def test_own_spans_are_accepted_and_dropped(server: RunningServer, store: Store) -> None:
    answer = call(server, "POST", "/v1/traces", as_json(traces(span(), scope="tracescore")), content_type=JSON)

    assert (answer.status, answer.json, stored_spans(store)) == (200, {}, [])


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "words"),
    [
        ("/v1/traces", b"{", {"content_type": JSON}, 400, "the body is not JSON"),
        ("/v1/traces", b"", {"content_type": JSON}, 400, "the body is empty"),
        ("/v1/traces", as_json(logs()), {"content_type": JSON}, 400, "it is a logs request"),
        ("/v1/logs", as_json(traces()), {"content_type": JSON}, 400, "it is a traces request"),
        ("/v1/traces", b"{}", {"content_type": "text/plain"}, 415, "content type 'text/plain' is not supported"),
        ("/v1/traces", b"{}", {}, 415, "content type '' is not supported"),
        ("/v1/traces", b"{}", {"content_type": JSON, "content_encoding": "br"}, 415, "content encoding 'br'"),
        ("/v1/traces", b"junk", {"content_type": JSON, "content_encoding": "gzip"}, 400, "the body is not gzip"),
        (
            "/v1/traces",
            gzip.compress(b"{}")[:-8] + bytes(8),
            {"content_type": JSON, "content_encoding": "gzip"},
            400,
            "the body is corrupt gzip",
        ),
        (
            "/v1/traces",
            gzip.compress(as_json(traces(span())))[:-9],
            {"content_type": JSON, "content_encoding": "gzip"},
            400,
            "gzip that was cut off",
        ),
        ("/v1/traces", bytes(200_001), {"content_type": JSON}, 413, "larger than 200000 bytes"),
        ("/v1/traces", bytes(1_500_000), {"content_type": JSON}, 413, "larger than 200000 bytes"),
        ("/v1/traces", [bytes(100_000)] * 12, {"content_type": JSON}, 413, "larger than 200000 bytes"),
        (
            "/v1/traces",
            gzip.compress(bytes(50_000_000)),
            {"content_type": JSON, "content_encoding": "gzip"},
            413,
            "inflates to more than 500000 bytes",
        ),
        ("/v1/metrics", b"{}", {"content_type": JSON}, 404, "Not Found"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_that_cannot_be_taken_is_told_why_in_one_line(
    server: RunningServer, path: str, body: Any, headers: dict[str, str], status: int, words: str
) -> None:
    answer = call(server, "POST", path, body, **headers)

    assert answer.status == status
    assert words in answer.json["error"]
    assert b"\n" not in answer.body


def test_bug_16_a_protobuf_sender_is_told_in_protobuf(server: RunningServer) -> None:
    answer = call(server, "POST", "/v1/traces", b"{}", content_type=PROTOBUF)
    said: Any = Status.FromString(answer.body)

    assert (answer.status, answer.headers["content-type"]) == (400, PROTOBUF)
    assert (said.code, "it looks like JSON" in said.message) == (3, True)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_refused(server: RunningServer, method: str) -> None:
    answer = call(server, method, "/v1/traces", content_type=JSON)

    assert (answer.status, answer.json["error"]) == (405, "Method Not Allowed")


def test_a_store_that_is_away_is_answered_with_when_to_come_again(
    server: RunningServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("database is locked", retry_after=2.5)

    monkeypatch.setattr(store.spans, "ingest", refuse)
    answer = call(server, "POST", "/v1/traces", as_json(traces(span())), content_type=JSON)

    assert (answer.status, answer.headers["retry-after"]) == (503, "3")
    assert answer.json["error"] == "the store is not available: database is locked"


def test_a_fault_of_our_own_shows_no_stack_trace(
    server: RunningServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(store.spans, "ingest", fail)
    answer = call(server, "POST", "/v1/traces", as_json(traces(span())), content_type=JSON)

    assert (answer.status, answer.json["error"]) == (500, "internal error; the server's log has the details")


def test_a_large_request_is_stored_whole(store: Store, server: RunningServer) -> None:
    request = traces(*(span({"text": "x" * 100}, spanId=f"{number:016x}") for number in range(1, 400)))
    answer = call(server, "POST", "/v1/traces", as_protobuf(request), content_type=PROTOBUF)

    assert answer.status == 200
    assert len(stored_spans(store)) == 399


def test_a_request_of_many_megabytes_is_stored_whole(store: Store) -> None:
    request = traces(*(span({"text": "x" * 100_000}, spanId=f"{number:016x}") for number in range(1, 60)))
    body = as_protobuf(request)
    with serving(store, Settings(port=0, broker="none")) as server:
        plain = call(server, "POST", "/v1/traces", body, content_type=PROTOBUF)
        packed = call(server, "POST", "/v1/traces", gzip.compress(body), content_type=PROTOBUF, content_encoding="gzip")

    assert (plain.status, plain.body, packed.status, packed.body) == (200, b"", 200, b"")
    assert len(stored_spans(store)) == 59


def test_what_a_full_trace_leaves_out_is_told(
    server: RunningServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep_one(*_: Any, **__: Any) -> Ingested:
        return Ingested(new_spans=1, new_logs=0, capped=2)

    monkeypatch.setattr(store.spans, "ingest", keep_one)
    answer = call(server, "POST", "/v1/traces", as_json(traces(span(), span(), span())), content_type=JSON)

    assert answer.json["partialSuccess"] == {
        "rejectedSpans": "2",
        "errorMessage": "2 were not kept: their trace is at its cap",
    }
