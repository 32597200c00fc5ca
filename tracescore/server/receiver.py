"""The OTLP receiver: durable before the answer, and the answer in the request's own encoding."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tracescore.otel import JSON, PROTOBUF, encoding_of
from tracescore.pipeline.ingest import LARGE_BYTES, Taken, take_logs, take_traces
from tracescore.redaction import Redaction
from tracescore.server.inflate import inflate
from tracescore.server.project import Project
from tracescore.settings import Settings
from tracescore.store import Store

AT_ONCE = 16
"""Requests that are being decoded or stored: more would only wait in memory with their rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Signal:
    """What differs between the answers of the two paths."""

    response: Any
    rejected_name: str
    json_rejected_name: str


_TRACES = _Signal(
    response=ExportTraceServiceResponse, rejected_name="rejected_spans", json_rejected_name="rejectedSpans"
)
_LOGS = _Signal(
    response=ExportLogsServiceResponse, rejected_name="rejected_log_records", json_rejected_name="rejectedLogRecords"
)


def receiver_routes(store: Store, settings: Settings, redaction: Redaction | None = None) -> APIRouter:
    """Give ``POST /v1/traces`` and ``POST /v1/logs``."""
    router = APIRouter()
    at_once = asyncio.Semaphore(AT_ONCE)
    quiet_ns = int(settings.settle_quiet * 1e9)

    @router.post("/v1/traces")
    async def traces(project: Project, request: Request) -> Response:
        sent = await request.body()
        async with at_once:
            body = await _inflated(sent, request, settings.max_inflated_bytes)
            taken = await take_traces(
                store,
                body,
                content_type=_content_type(request),
                project=project,
                quiet_ns=quiet_ns,
                redaction=redaction,
            )
        return _answer(_TRACES, request, taken)

    @router.post("/v1/logs")
    async def logs(project: Project, request: Request) -> Response:
        sent = await request.body()
        async with at_once:
            body = await _inflated(sent, request, settings.max_inflated_bytes)
            taken = await take_logs(
                store,
                body,
                content_type=_content_type(request),
                project=project,
                quiet_ns=quiet_ns,
                redaction=redaction,
            )
        return _answer(_LOGS, request, taken)

    return router


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "")


async def _inflated(sent: bytes, request: Request, limit: int) -> bytes:
    encoding = request.headers.get("content-encoding", "")
    if len(sent) > LARGE_BYTES:
        return await asyncio.to_thread(inflate, sent, encoding, limit=limit)
    return inflate(sent, encoding, limit=limit)


def _answer(signal: _Signal, request: Request, taken: Taken) -> Response:
    if encoding_of(_content_type(request)) == PROTOBUF:
        response = signal.response()
        if taken.rejected or taken.reason:
            setattr(response.partial_success, signal.rejected_name, taken.rejected)
            response.partial_success.error_message = taken.reason
        return Response(response.SerializeToString(), media_type=PROTOBUF)
    content: dict[str, Any] = {}
    if taken.rejected or taken.reason:
        # 64-bit integers are strings in protobuf's JSON.
        content["partialSuccess"] = {signal.json_rejected_name: str(taken.rejected), "errorMessage": taken.reason}
    return Response(orjson.dumps(content), media_type=JSON)
