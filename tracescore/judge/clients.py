"""Connections to endpoints, one pool per way and running loop, closed when its loop ends."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from os import PathLike
from threading import Lock
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
import certifi

from tracescore.errors import ConfigurationError
from tracescore.judge.options import UNSET, Given


@dataclass(frozen=True, slots=True)
class Way:
    """How an endpoint is reached: the connections to it, and the proxy between."""

    session: aiohttp.ClientSession
    proxy: str | None

    async def close(self) -> None:
        """Close the connections."""
        await self.session.close()


@dataclass(slots=True)
class _LoopClients:
    clients: dict[Any, Any] = field(default_factory=dict)
    closer: AsyncGenerator[None, None] | None = None


class JudgeClients:
    """The clients of a process. A client belongs to the loop that made it: its connections cannot be used elsewhere."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClients] = WeakKeyDictionary()

    async def way(
        self, base_url: str, proxy: Given[str | None] = UNSET, ca_file: Given[str | PathLike[str] | None] = UNSET
    ) -> Way:
        """Give the way to an endpoint; what the environment says of proxies and certificates is read once a loop.

        Raises:
            ConfigurationError: a file of certificates that holds none.
        """

        def make() -> Way:
            context = _tls(None if ca_file is UNSET else ca_file) if base_url.startswith("https:") else True
            # No limit here: how many calls are in flight is decided by whoever scores. Cookies of a provider would tie
            # calls together that have nothing to do with each other.
            connector = aiohttp.TCPConnector(limit=0, ssl=context)
            session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
            return Way(session, _proxy_for(base_url) if proxy is UNSET else proxy)

        way: Way = await self._get(("way", base_url, proxy, ca_file), make)
        return way

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
        if not isinstance(client, asyncio.Future):
            return client
        try:
            # Shielded: a call that is cancelled must not take the client away from the others.
            return await asyncio.shield(client)
        except BaseException:
            if client.done() and (client.cancelled() or client.exception() is not None):
                here.clients.pop(key, None)  # a factory that failed is asked again
            raise

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


def _tls(ca_file: str | PathLike[str] | None) -> ssl.SSLContext:
    if ca_file is not None:
        try:
            return ssl.create_default_context(cafile=ca_file)
        except (ssl.SSLError, OSError) as error:
            raise ConfigurationError(f"Judge(ca_file={os.fspath(ca_file)!r}) cannot be read: {error}") from error
    # OpenSSL reads SSL_CERT_FILE and SSL_CERT_DIR itself.
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE"):
        context.load_verify_locations(certifi.where())  # a Python without a system store would trust nobody
    return context


def _proxy_for(base_url: str) -> str | None:
    """Give the environment's proxy for an address, as other programs read it."""
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


async def _close_at_the_end(clients: dict[Any, Any]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        for client in clients.values():
            made = client
            if isinstance(client, asyncio.Future):
                if not client.done() or client.cancelled() or client.exception() is not None:
                    continue
                made = client.result()
            close = getattr(made, "close", None)
            if close is not None:
                closing = close()
                if hasattr(type(closing), "__await__"):
                    await closing


PROCESS_CLIENTS = JudgeClients()
"""The one pool of this process: scorers that share an endpoint share its connections."""
