"""A stand-in for an OpenAI-compatible model server: real HTTP, no model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from ssl import SSLContext
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import orjson

from tracescore.testing.replies import ModelCall, ModelReply, Replies, Script, completion_body

_STATUS_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class ModelServer:
    """Serve Chat Completions on a free port of this machine, in a thread of its own.

    ``replies`` says what is answered: a function of the call, a mapping from words of the prompt, or a sequence that is
    used up; what they leave open gets the smallest value that the asked schema accepts. ``refuses`` names parameters
    that each request is refused for, such as ``"temperature"`` or ``"response_format"``. ``tls`` serves HTTPS.
    ``calls`` holds what came, ``most_in_flight`` how many were open at once, ``statuses`` how often each status was
    answered (0 where there was no answer). As a proxy it answers itself what is meant for others.

    Example:
        >>> with ModelServer(replies={"score": {"score": 0.8}}, latency=0.01) as server:
        ...     server.base_url.endswith("/v1")
        True
    """

    def __init__(
        self,
        replies: Replies | None = None,
        *,
        latency: float = 0.0,
        port: int = 0,
        refuses: Iterable[str] = (),
        tls: SSLContext | None = None,
    ) -> None:
        self.calls: list[ModelCall] = []
        self.most_in_flight = 0
        self.statuses: Counter[int] = Counter()
        self._refuses = tuple(refuses)
        self._tls = tls
        self.latency = latency
        self._script = Script(replies)
        self._port = port
        self._in_flight = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._stop: asyncio.Event | None = None
        self._failure: OSError | None = None

    @property
    def base_url(self) -> str:
        """Give the base URL for a client or a ``Judge``."""
        scheme, host = ("http", "127.0.0.1") if self._tls is None else ("https", "localhost")
        return f"{scheme}://{host}:{self._port}/v1"

    def start(self) -> Self:
        """Start serving; gives the server itself."""
        ready = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._serve(ready)), name="model-server", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        """Stop serving and cut what is open."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def _serve(self, ready: Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        connections: set[_Connection] = set()
        try:
            server = await self._loop.create_server(
                lambda: _Connection(self, connections), "127.0.0.1", self._port, ssl=self._tls
            )
        except OSError as error:
            self._failure = error
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for connection in list(connections):
            connection.cut()

    def opened(self, call: ModelCall) -> ModelReply:
        """Take note of a call and give its answer."""
        self.calls.append(call)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        refused = next((name for name in self._refuses if name in call.body), None)
        return self._script.answer(call) if refused is None else ModelReply.refused_parameter(refused)

    def closed(self, status: int = 0) -> None:
        """Take note that a call was answered, or cut."""
        self._in_flight -= 1
        self.statuses[status] += 1

    def report(self) -> dict[str, Any]:
        """Give the counters as ``GET /calls`` does."""
        statuses = {str(status): count for status, count in sorted(self.statuses.items())}
        return {"calls": len(self.calls), "most_in_flight": self.most_in_flight, "statuses": statuses}


class _Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it are answered in turn."""

    def __init__(self, server: ModelServer, connections: set[_Connection]) -> None:
        self._server = server
        self._connections = connections
        self._buffer = bytearray()
        self._busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # a stream server gives no other
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        if self._busy:
            self._busy = False
            self._server.closed()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._take()

    def cut(self) -> None:
        """Close at once, whatever is open."""
        if self._transport is not None:
            self._transport.abort()

    def _take(self) -> None:
        if self._busy:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        request_line, *header_lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in header_lines)}
        size = int(headers.get("content-length", "0"))
        if len(self._buffer) < end + 4 + size:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + size])
        del self._buffer[: end + 4 + size]
        method, path, _ = request_line.split(" ", 2)
        if method == "GET":
            self._write(200, orjson.dumps(self._server.report()), {})
        else:
            self._answer(path, headers, body)

    def _answer(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        try:
            parsed: Any = orjson.loads(body)
        except orjson.JSONDecodeError:
            self._write(400, b'{"error": {"message": "the body is not JSON"}}', {})
            return
        call = ModelCall(path=path, headers=headers, body=parsed, number=len(self._server.calls))
        reply = self._server.opened(call)
        self._busy = True
        if reply.fault == "hang":
            return
        latency = self._server.latency if reply.latency is None else reply.latency
        if latency > 0:
            asyncio.get_running_loop().call_later(latency, self._finish, call, reply)
        else:
            self._finish(call, reply)

    def _finish(self, call: ModelCall, reply: ModelReply) -> None:
        if not self._busy:  # the client went away meanwhile
            return
        self._busy = False
        if reply.fault == "reset":
            self._server.closed()
            self.cut()
            return
        self._server.closed(reply.status)
        self._write(reply.status, completion_body(call, reply), {"x-request-id": f"req-{call.number}", **reply.headers})
        self._take()

    def _write(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        lines = [f"HTTP/1.1 {status} {_STATUS_WORDS.get(status, 'Status')}", f"content-length: {len(body)}"]
        lines += ["content-type: application/json", *(f"{name}: {value}" for name, value in headers.items())]
        self._transport.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
