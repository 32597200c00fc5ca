"""The receiver over real gRPC: the same spans by another door, with the same promises."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.trace.export import SpanExportResult

from tests.otel.requests import SPAN_ID, TRACE_ID, as_protobuf, log, logs, span, traces
from tests.server.otel_sdk import sdk_logs, sdk_spans
from tracescore.bridge import run_sync
from tracescore.cli.address import free_port
from tracescore.errors import ConfigurationError, StoreUnavailable
from tracescore.pipeline.assembling import SettleTimes, assemble_stored
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import Store

CORPUS = Path(__file__).parent.parent / "corpus"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
Export = Callable[..., bytes]


@pytest.fixture
def settings() -> Settings:
    return Settings(
        port=0,
        grpc_port=free_port("127.0.0.1"),
        broker="none",
        settle_quiet=0.0,
        max_request_bytes=200_000,
        max_inflated_bytes=500_000,
    )


@pytest.fixture
def channel(server: RunningServer) -> Iterator[Any]:
    opened = grpc.insecure_channel(f"{server.host}:{server.grpc_port}")
    yield opened
    opened.close()


def stored(store: Store, trace_id: str = TRACE_ID) -> list[str]:
    trace = run_sync(store.spans.load_trace("default", trace_id))
    return [item.span_id for item in trace.spans] if trace else []


def refused(channel: Any, body: bytes, *, path: str = TRACES, **options: Any) -> tuple[Any, str, Status]:
    with pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary(path)(body, timeout=20, **options)
    error: Any = raised.value
    details = dict(error.trailing_metadata() or ())
    return error.code(), error.details(), Status.FromString(details.get("grpc-status-details-bin", b""))


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_what_comes_over_grpc_is_stored_however_it_is_packed(channel: Any, store: Store, compression: Any) -> None:
    answer = channel.unary_unary(TRACES)(as_protobuf(traces(span())), compression=compression)
    channel.unary_unary(LOGS)(as_protobuf(logs(log({"content": "hello"}))), compression=compression)
    trace = run_sync(store.spans.load_trace("default", TRACE_ID))

    assert answer == b""
    assert trace is not None
    assert (stored(store), len(trace.logs)) == ([SPAN_ID], 1)


@pytest.mark.parametrize(
    "name",
    ["otel_genai_openai_v2/tool_call", "google_adk/multi_agent"],
)
def test_the_exporters_of_opentelemetry_give_equal_runs_over_grpc_and_http(
    name: str, settings: Settings, tmp_path: Path
) -> None:
    spans = sdk_spans(json.loads((CORPUS / f"{name}.json").read_text()))
    log_file = CORPUS / f"{name}.logs.json"
    records = sdk_logs(json.loads(log_file.read_text())) if log_file.exists() else []
    runs: list[list[bytes]] = []
    for way in ("grpc", "http"):
        with Store.open(tmp_path / way) as store:
            with serving(store, settings) as server:
                if way == "grpc":
                    at = f"{server.host}:{server.grpc_port}"
                    exporter: Any = GrpcSpanExporter(endpoint=at, insecure=True, compression=grpc.Compression.Gzip)
                    log_exporter: Any = GrpcLogExporter(endpoint=at, insecure=True)
                else:
                    exporter = HttpSpanExporter(endpoint=f"{server.url}/v1/traces")
                    log_exporter = HttpLogExporter(endpoint=f"{server.url}/v1/logs")
                assert exporter.export(spans) is SpanExportResult.SUCCESS
                if records:
                    assert log_exporter.export(records) is LogRecordExportResult.SUCCESS
                exporter.shutdown()
                log_exporter.shutdown()
            runs.append(bodies(store, {f"{item.context.trace_id:032x}" for item in spans if item.context}))

    assert runs[0] == runs[1]
    assert len(runs[0]) > 0


def bodies(store: Store, trace_ids: set[str]) -> list[bytes]:
    found: list[bytes] = []
    for trace_id in sorted(trace_ids):
        trace = run_sync(store.spans.load_trace("default", trace_id))
        assert trace is not None
        found += [run.body for run in assemble_stored("default", trace, 2**62, SettleTimes()).runs]
    return found


def test_what_is_rejected_is_told_as_partial_success(channel: Any, store: Store) -> None:
    answer = channel.unary_unary(TRACES)(as_protobuf(traces(span(), span(spanId="0" * 16))))
    partial: Any = ExportTraceServiceResponse.FromString(answer).partial_success

    assert partial.rejected_spans == 1
    assert "is not 8 bytes that are not all zero" in partial.error_message
    assert stored(store) == [SPAN_ID]


@pytest.mark.parametrize(
    ("body", "compression", "code", "words"),
    [
        (b"{}", None, grpc.StatusCode.INVALID_ARGUMENT, "it looks like JSON"),
        (b"\x0a\xff\xff\xff\xff", None, grpc.StatusCode.INVALID_ARGUMENT, "not an OTLP protobuf"),
        (gzip.compress(as_protobuf(traces(span())))[:-9], None, grpc.StatusCode.INVALID_ARGUMENT, "cut off"),
        (bytes(200_001), None, grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than max"),
        (bytes(50_000_000), grpc.Compression.Gzip, grpc.StatusCode.RESOURCE_EXHAUSTED, "more than 500000 bytes"),
    ],
    # What is packed holds the time: two processes would not name such a test alike.
    ids=["json", "no protobuf", "cut off", "too large", "too large inflated"],
)
def test_a_message_that_cannot_be_taken_is_told_why_and_not_to_come_again(
    channel: Any, body: bytes, compression: Any, code: Any, words: str
) -> None:
    answered, details, status = refused(channel, body, compression=compression)

    assert answered == code
    assert words in details
    assert not status.details


@pytest.mark.parametrize(
    ("full", "code"), [(False, grpc.StatusCode.UNAVAILABLE), (True, grpc.StatusCode.RESOURCE_EXHAUSTED)]
)
def test_a_store_that_is_away_is_answered_with_when_to_come_again(
    channel: Any, store: Store, monkeypatch: pytest.MonkeyPatch, full: bool, code: Any
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("no space", retry_after=2.5, full=full)

    monkeypatch.setattr(store.spans, "ingest", refuse)
    answered, details, status = refused(channel, as_protobuf(traces(span())))
    retry: Any = RetryInfo()
    status.details[0].Unpack(retry)

    assert (answered, details) == (code, "the store is not available: no space")
    assert (retry.retry_delay.seconds, retry.retry_delay.nanos) == (2, 500_000_000)


def test_a_fault_of_our_own_shows_no_stack_trace(channel: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(store.spans, "ingest", fail)
    answered, details, _ = refused(channel, as_protobuf(traces(span())))

    assert (answered, details) == (grpc.StatusCode.INTERNAL, "internal error; the server's log has the details")


def test_where_there_are_tokens_a_call_needs_one(store: Store, settings: Settings) -> None:
    ingest = run_sync(store.tokens.create("shop", kind="ingest", name="agent"))
    read = run_sync(store.tokens.create("shop", kind="read", name="page"))
    with serving(store, settings) as server, grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel:
        body = as_protobuf(traces(span()))
        without, why, _ = refused(channel, body)
        wrong, _, _ = refused(channel, body, metadata=(("authorization", f"Bearer {read.token}"),))
        channel.unary_unary(TRACES)(body, metadata=(("authorization", f"Bearer {ingest.token}"),))

    assert (without, wrong) == (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAUTHENTICATED)
    assert "a valid ingest token is needed" in why
    assert run_sync(store.spans.load_trace("shop", TRACE_ID)) is not None
    assert stored(store) == []


def test_a_port_that_is_taken_is_told_at_the_start(server: RunningServer, store: Store, settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="TRACESCORE_GRPC_PORT"), serving(store, settings):
        raise AssertionError("it listens")


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ({}, 4317),
        ({"TRACESCORE_PORT": "5000"}, None),
        ({"TRACESCORE_PORT": "5000", "TRACESCORE_GRPC_PORT": "5001"}, 5001),
        ({"TRACESCORE_GRPC_PORT": "none"}, None),
        ({"TRACESCORE_GRPC_PORT": "0"}, None),
    ],
)
def test_grpc_listens_beside_the_usual_port_unless_told_otherwise(variables: dict[str, str], port: int | None) -> None:
    assert Settings.from_env(variables).otlp_grpc_port == port
