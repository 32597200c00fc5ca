"""The OTLP receiver: durable before the answer, and the answer in the request's own encoding."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from tracescore.otel import JSON, PROTOBUF, Bounds, encoding_of
from tracescore.pipeline.ingest import LARGE_BYTES, Taken, take_logs, take_traces
from tracescore.redaction import Redaction
from tracescore.server.answers import LOGS, TRACES, Signal, json_answer, protobuf_answer
from tracescore.server.inflate import inflate
from tracescore.server.project import Project
from tracescore.settings import Settings
from tracescore.store import Store


def receiver_routes(
    store: Store, settings: Settings, redaction: Redaction | None = None, *, at_once: asyncio.Semaphore
) -> APIRouter:
    """Give ``POST /v1/traces`` and ``POST /v1/logs``; ``at_once`` bounds the requests that are being taken in."""
    router = APIRouter()
    bounds = Bounds(limit=settings.max_inflated_bytes, keep_media=settings.keep_media)
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
                bounds=bounds,
            )
        return _answer(TRACES, request, taken)

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
                bounds=bounds,
            )
        return _answer(LOGS, request, taken)

    return router


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "")


async def _inflated(sent: bytes, request: Request, limit: int) -> bytes:
    encoding = request.headers.get("content-encoding", "")
    if len(sent) > LARGE_BYTES:
        return await asyncio.to_thread(inflate, sent, encoding, limit=limit)
    return inflate(sent, encoding, limit=limit)


def _answer(signal: Signal, request: Request, taken: Taken) -> Response:
    if encoding_of(_content_type(request)) == PROTOBUF:
        return Response(protobuf_answer(signal, taken), media_type=PROTOBUF)
    return Response(json_answer(signal, taken), media_type=JSON)
