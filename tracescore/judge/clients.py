"""One OpenAI client per endpoint and running loop, closed when its loop ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from openai import AsyncOpenAI, DefaultAioHttpClient

PLACEHOLDER_KEY = "given-with-each-request"


@dataclass(slots=True)
class _LoopClients:
    clients: dict[Any, Any] = field(default_factory=dict)
    closer: AsyncGenerator[None, None] | None = None


class JudgeClients:
    """The clients of a process. A client belongs to the loop that made it: its connections cannot be used elsewhere."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClients] = WeakKeyDictionary()

    async def at(self, base_url: str | None) -> AsyncOpenAI:
        """Give the client of an endpoint."""

        def make() -> AsyncOpenAI:
            # aiohttp costs half the CPU of the default transport, and retries are ours to count.
            return AsyncOpenAI(
                base_url=base_url, api_key=PLACEHOLDER_KEY, max_retries=0, http_client=DefaultAioHttpClient()
            )

        client: AsyncOpenAI = await self._get(("endpoint", base_url), make)
        return client

    async def made_by(self, factory: Callable[[], Any]) -> Any:
        """Give the client that a factory of the user's made for this loop; sync or async."""
        return await self._get(("factory", factory), factory)

    async def _get(self, key: Any, make: Callable[[], Any]) -> Any:
        here = await self._of_this_loop()
        if key not in here.clients:
            made = make()
            # Kept before it is awaited, so that calls at the same time share one client.
            here.clients[key] = asyncio.ensure_future(made) if hasattr(type(made), "__await__") else made
        client = here.clients[key]
        return await client if isinstance(client, asyncio.Future) else client

    async def _of_this_loop(self) -> _LoopClients:
        loop = asyncio.get_running_loop()
        with self._lock:
            here = self._by_loop.get(loop)
            if here is not None:
                return here
            here = self._by_loop[loop] = _LoopClients()
        # A loop closes its async generators as it ends; nothing else tells that it does.
        here.closer = _close_at_the_end(here.clients)
        await anext(here.closer)
        return here


async def _close_at_the_end(clients: dict[Any, Any]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        for client in clients.values():
            made = client.result() if isinstance(client, asyncio.Future) and client.done() else client
            close = getattr(made, "close", None)
            if close is not None and not isinstance(made, asyncio.Future):
                closing = close()
                if hasattr(type(closing), "__await__"):
                    await closing


PROCESS_CLIENTS = JudgeClients()
"""The one pool of this process: scorers that share an endpoint share its connections."""
