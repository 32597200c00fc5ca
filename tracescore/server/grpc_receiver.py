"""OTLP over gRPC: the same spans by another door, with the same promises.

Messages are taken as they came off the wire and inflated here, up to the limit: gRPC's own decompression would inflate
a few kilobytes to gigabytes before it looks at any limit. A call is declared to stream its request, which is the same
on the wire, so that a token is asked for before a byte of the message is read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tracescore.errors import ConfigurationError, InputError, StoreError, StoreUnavailable
from tracescore.otel import PROTOBUF, Bounds, TooLarge
from tracescore.pipeline.ingest import LARGE_BYTES, Taken, take_logs, take_traces
from tracescore.pipeline.tenants import Tenants, Unauthorized
from tracescore.redaction import Redaction, RedactionError
from tracescore.server import patience
from tracescore.server.answers import LOGS, TRACES, Signal, protobuf_answer
from tracescore.server.errors import let_go
from tracescore.server.guard import bearer
from tracescore.server.inflate import inflate, is_zlib
from tracescore.settings import Settings
from tracescore.store import Store

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 5.0
REDACTION_RETRY_AFTER = 60.0
"""Once the rule that raised is put right, the sender may come again."""
_SERVICES = (
    ("opentelemetry.proto.collector.trace.v1.TraceService", TRACES, take_traces),
    ("opentelemetry.proto.collector.logs.v1.LogsService", LOGS, take_logs),
)

_Take = Callable[..., Awaitable[Taken]]


class GrpcReceiver:
    """The trace and logs services of OTLP on a port of their own, run by the loop that starts them."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        tenants: Tenants,
        at_once: asyncio.Semaphore,
        redaction: Redaction | None = None,
    ) -> None:
        self._store = store
        self._redaction = redaction
        self._settings = settings
        self._tenants = tenants
        self._at_once = at_once
        self._bounds = Bounds(limit=settings.max_inflated_bytes, keep_media=settings.keep_media)
        self._patience = patience.ANSWER_WITHIN
        self._server: Any = None

    async def start(self, port: int) -> None:
        """Listen.

        Raises:
            ConfigurationError: the port is taken.
        """
        server: Any = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self._settings.max_request_bytes),
                ("grpc.per_message_decompression", 0),
                ("grpc.so_reuseport", 0),  # two servers that share a port would each get some of the spans
            ]
        )
        server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(
                    name, {"Export": grpc.stream_unary_rpc_method_handler(self._exporting(signal, take))}
                )
                for name, signal, take in _SERVICES
            )
        )
        host = self._settings.host
        try:
            server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError as error:
            raise ConfigurationError(refused_port(host, port, "it is in use, or not this machine's")) from error
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Take nothing more and finish what is being taken; harmless where nothing was started."""
        if self._server is not None:
            await self._server.stop(DRAIN_SECONDS)

    def _exporting(self, signal: Signal, take: _Take) -> Callable[[AsyncIterator[bytes], Any], Awaitable[bytes]]:
        async def export(messages: AsyncIterator[bytes], context: Any) -> bytes:
            try:
                return protobuf_answer(signal, await self._taken(messages, context, take))
            except Exception as error:  # noqa: BLE001 - answered with its code and one line
                code, reason, retry_after = _refusal(error)
                let_go(error)
            return await _refuse(context, code, reason, retry_after=retry_after)

        return export

    async def _taken(self, messages: AsyncIterator[bytes], context: Any, take: _Take) -> Taken:
        # Invalid metadata is gRPC's to refuse; of a key that comes twice the last counts.
        metadata: dict[str, str | bytes] = dict(context.invocation_metadata() or ())
        project = await self._tenants.project_of(bearer(str(metadata.get("authorization", ""))), "ingest")
        sent = await anext(aiter(messages), None)
        if sent is None:
            raise InputError("the call holds no message")
        allowed = self._patience + len(sent) / patience.BYTES_A_SECOND
        try:
            async with asyncio.timeout(allowed), self._at_once:
                body = await self._inflated(sent)
                return await take(
                    self._store,
                    body,
                    content_type=PROTOBUF,
                    project=project,
                    quiet_ns=int(self._settings.settle_quiet * 1e9),
                    redaction=self._redaction,
                    bounds=self._bounds,
                )
        except TimeoutError as error:
            raise StoreUnavailable(f"no answer within {allowed:.0f} s") from error

    async def _inflated(self, sent: bytes) -> bytes:
        # The header that names the compression is gRPC's own and not shown; no OTLP message begins like these.
        encoding = "gzip" if sent.startswith(b"\x1f\x8b") else "deflate" if is_zlib(sent) else ""
        limit = self._settings.max_inflated_bytes
        if len(sent) > LARGE_BYTES:
            return await asyncio.to_thread(inflate, sent, encoding, limit=limit)
        return inflate(sent, encoding, limit=limit)


def refused_port(host: str, port: int, reason: str) -> str:
    """Say that gRPC cannot listen, and what to do about it."""
    return (
        f"cannot listen on {host} port {port} for OTLP over gRPC: {reason}; TRACESCORE_GRPC_PORT names another, "
        "or none to do without"
    )


def _refusal(error: Exception) -> tuple[Any, str, float | None]:
    """Give the code, the words and the delay that an error is answered with."""
    match error:
        case Unauthorized():
            reason = "a valid ingest token is needed, sent as metadata `authorization: Bearer ...`"
            return grpc.StatusCode.UNAUTHENTICATED, reason, None
        case TooLarge():
            return grpc.StatusCode.RESOURCE_EXHAUSTED, str(error), None
        case InputError():
            return grpc.StatusCode.INVALID_ARGUMENT, str(error), None
        case StoreUnavailable():
            # Both are sent again by an exporter where they come with a delay.
            code = grpc.StatusCode.RESOURCE_EXHAUSTED if error.full else grpc.StatusCode.UNAVAILABLE
            return code, f"the store is not available: {error}", error.retry_after
        case RedactionError():
            return grpc.StatusCode.UNAVAILABLE, f"nothing was stored: {error}", REDACTION_RETRY_AFTER
        case StoreError():
            logger.error("OTLP over gRPC: %s", error)
            return grpc.StatusCode.INTERNAL, f"the store cannot be used: {error}", None
        case _:
            logger.exception("OTLP over gRPC failed", exc_info=error)
            return grpc.StatusCode.INTERNAL, "internal error; the server's log has the details", None


async def _refuse(context: Any, code: Any, reason: str, *, retry_after: float | None = None) -> NoReturn:
    status = Status(code=code.value[0], message=reason)
    if retry_after is not None:
        seconds = max(retry_after, 1.0)
        delay = Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1e9))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    details = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(code, reason, trailing_metadata=details)
    raise AssertionError("abort raises")
