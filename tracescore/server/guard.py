"""What is refused before anything is read: what comes from elsewhere, in unknown types, too large, or without a token.

A web page can make a browser send requests to loopback. Its ``Origin`` is foreign, or its ``Host`` is (a name that was
made to resolve to loopback), or it is left with the content types that need no asking; none of these gets in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracescore.errors import StoreError
from tracescore.otel import JSON, encoding_of
from tracescore.pipeline.tenants import Tenants, Unauthorized
from tracescore.server.errors import error_response, store_refusal
from tracescore.server.hosts import Hosts
from tracescore.server.quoting import quoted
from tracescore.store import TokenKind

OTLP_PATHS = ("/v1/",)
OPEN_PATHS = ("/healthz", "/readyz")
"""What a balancer asks, which has no token."""
READING = ("GET", "HEAD", "OPTIONS")
MAX_API_BYTES = 1024 * 1024
DRAIN_FACTOR = 8
"""So many times the limit is still taken off the wire, unread, so that the sender sees the refusal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a request is not let in."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Guard:
    """ASGI middleware that lets in what this server is for; ``request.state.project`` is whose it is."""

    def __init__(self, app: ASGIApp, *, max_request_bytes: int, hosts: Hosts, tenants: Tenants) -> None:
        self._app = app
        self._max_request_bytes = max_request_bytes
        self._hosts = hosts
        self._tenants = tenants

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the refusal, or hand on with the body counted as it comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path: str = scope["path"]
        limit = self._max_request_bytes if path.startswith(OTLP_PATHS) else min(MAX_API_BYTES, self._max_request_bytes)
        refusal = self._refusal(scope["method"], path, headers, limit)
        if refusal is None and path not in OPEN_PATHS:
            admitted = await self._admit(scope["method"], path, headers)
            if isinstance(admitted, Refusal):
                refusal = admitted
            else:
                scope.setdefault("state", {})["project"] = admitted
        if refusal is not None:
            response = error_response(refusal.status, refusal.reason, otlp=path.startswith(OTLP_PATHS), headers=headers)
            response.headers.update(refusal.headers)
            if not await _drain(receive, limit * DRAIN_FACTOR):
                response.headers["connection"] = "close"
            await response(scope, receive, send)
            return
        await self._app(scope, _counted(receive, limit), send)

    async def _admit(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | str:
        """Give the project of a request, or why it has none; which of the reasons it was is not told."""
        kind = kind_needed(method, path)
        try:
            return await self._tenants.project_of(bearer(headers.get("authorization", "")), kind)
        except Unauthorized:
            reason = f"a valid {kind} token is needed, sent as `Authorization: Bearer ...`"
            return Refusal(status=401, reason=reason, headers={"www-authenticate": 'Bearer realm="tracescore"'})
        except StoreError as error:
            status, reason, extra = store_refusal(error)
            return Refusal(status=status, reason=reason, headers=extra)

    def _refusal(self, method: str, path: str, headers: Mapping[str, str], limit: int) -> Refusal | None:
        host = headers.get("host", "")
        if (foreign := self._hosts.refusal(host)) is not None:
            return Refusal(status=403, reason=foreign)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return Refusal(status=403, reason=f"origin {quoted(origin)} is not this server's: web pages are not let in")
        if method not in ("POST", "PUT", "PATCH"):
            return None
        length = headers.get("content-length", "")
        content_type = headers.get("content-type", "")
        if path.startswith(OTLP_PATHS):
            if encoding_of(content_type) is None:
                wanted = "application/x-protobuf or application/json"
                return Refusal(
                    status=415, reason=f"content type {quoted(content_type)} is not supported: send {wanted}"
                )
        elif encoding_of(content_type) != JSON and (content_type or _has_body(headers)):
            return Refusal(
                status=415, reason=f"content type {quoted(content_type)} is not supported: send application/json"
            )
        if length.isdecimal() and int(length) > limit:
            return Refusal(status=413, reason=f"the body is larger than {limit} bytes")
        return None


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def kind_needed(method: str, path: str) -> TokenKind:
    """Tell which token a request needs: a read token changes nothing, an ingest token reads nothing."""
    return "read" if method in READING and not path.startswith(OTLP_PATHS) else "ingest"


def bearer(authorization: str) -> str | None:
    """Give the token of an ``Authorization`` header; None where it holds none."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _counted(receive: Receive, limit: int) -> Receive:
    """Stop a body that was sent in chunks, without saying its size, at the limit."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > limit:
                drained = not message.get("more_body", False) or await _drain(receive, limit * DRAIN_FACTOR)
                headers = None if drained else {"connection": "close"}
                raise HTTPException(413, f"the body is larger than {limit} bytes", headers=headers)
        return message

    return counted


async def _drain(receive: Receive, budget: int) -> bool:
    """Throw a body away as it comes; False where it is longer than the budget.

    A sender that is still writing when the connection closes sees a reset, not the answer, and tries again for ever.
    """
    while True:
        message = await receive()
        budget -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return True
        if budget < 0:
            return False
