"""The server: receiver and query API over one store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from tracescore.pipeline.targets import live_scorers
from tracescore.pipeline.tenants import Tenants
from tracescore.pipeline.wake import NoWake, Wake
from tracescore.redaction import load_redaction
from tracescore.server.backfills import backfill_routes
from tracescore.server.errors import add_error_handlers
from tracescore.server.grpc_receiver import GrpcReceiver
from tracescore.server.guard import Guard
from tracescore.server.hosts import Hosts
from tracescore.server.jobs import job_routes
from tracescore.server.patience import Patience
from tracescore.server.query import query_routes
from tracescore.server.receiver import receiver_routes
from tracescore.settings import Settings, names
from tracescore.store import Store

AT_ONCE = 16
"""Requests that are being decoded or stored, by either door: more would only wait in memory with their rows."""


def create_server(
    store: Store,
    settings: Settings,
    *,
    wake: Wake | None = None,
    on_grpc: Callable[[BaseException | None], None] | None = None,
) -> FastAPI:
    """Build the ASGI app over an open store; it needs no scoring app, since workers say what they offer.

    Where the settings name a port for gRPC, its lifespan listens there; ``on_grpc`` is told how that went.
    """
    tenants = Tenants(store, open_project=settings.project)
    at_once = asyncio.Semaphore(AT_ONCE)
    redaction = load_redaction(settings.redaction)

    @asynccontextmanager
    async def beside_grpc(_: FastAPI) -> AsyncGenerator[None]:
        # Here, since only a loop that runs can hold it.
        door = GrpcReceiver(store, settings, tenants=tenants, at_once=at_once, redaction=redaction)
        try:
            if settings.otlp_grpc_port is not None:
                await door.start(settings.otlp_grpc_port)
        except BaseException as error:
            if on_grpc is not None:
                on_grpc(error)
            raise
        if on_grpc is not None:
            on_grpc(None)
        try:
            yield
        finally:
            await door.stop()

    app = FastAPI(
        lifespan=beside_grpc,
        title="tracescore",
        openapi_url="/api/openapi.json",
        # Both pages load their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        # Spans about receiving spans, exported to this very receiver, would never end.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    add_error_handlers(app)
    app.include_router(receiver_routes(store, settings, redaction, at_once=at_once))
    app.include_router(query_routes(store, wake or NoWake()))
    app.include_router(backfill_routes(store))
    app.include_router(job_routes(store, supersede_ns=int(settings.offer_supersede * 10**9)))
    app.include_router(_health_routes(store, settings.project))
    app.add_middleware(
        Guard,
        max_request_bytes=settings.max_request_bytes,
        hosts=Hosts(settings.host, names(settings.allowed_hosts)),
        tenants=tenants,
    )
    app.add_middleware(Patience)  # outside the guard, which reads the tokens
    return app


def _health_routes(store: Store, project: str) -> APIRouter:
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz() -> dict[str, str | int]:
        # A store that cannot be read raises, which is answered with 503.
        scorers = await live_scorers(store, project, now_ns=time.time_ns())
        return {"status": "ready", "scorers": len(scorers)}

    return router
