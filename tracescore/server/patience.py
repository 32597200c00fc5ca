"""Every request is answered in time, whatever the store is doing: a database that hangs says nothing by itself."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracescore.errors import StoreUnavailable
from tracescore.server.errors import error_response, store_refusal
from tracescore.server.guard import OTLP_PATHS

ANSWER_WITHIN = 9.0
"""An exporter gives up after ten seconds, unless told otherwise, and then does not hear when to come again."""
BYTES_A_SECOND = 2 * 1024 * 1024
"""A large body is given a second more for so many of its bytes on the wire."""


class Patience:
    """ASGI middleware that answers 503 once a request was waited for long enough.

    What waits in the store is dropped then, unless it was begun: that may still be kept, and the sender sends it again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._seconds = ANSWER_WITHIN

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and look at the clock while neither the sender nor the receiver of the answer is waited for."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        allowed, answering = self._seconds, False
        clock = asyncio.timeout(allowed)

        async def received() -> Message:
            nonlocal allowed
            clock.reschedule(None)
            message = await receive()
            allowed += len(message.get("body", b"")) / BYTES_A_SECOND
            if not answering:
                clock.reschedule(loop.time() + allowed)
            return message

        async def sent(message: Message) -> None:
            nonlocal answering
            answering = True
            clock.reschedule(None)
            await send(message)

        try:
            async with clock:
                await self._app(scope, received, sent)
        except TimeoutError:
            if answering or not clock.expired():
                raise
            status, reason, extra = store_refusal(StoreUnavailable(f"no answer within {allowed:.0f} s"))
            otlp = scope["path"].startswith(OTLP_PATHS)
            response = error_response(status, reason, otlp=otlp, headers=Headers(scope=scope))
            response.headers.update(extra)
            await response(scope, receive, send)
