"""Exported spans into a store: durable when the export returns, as a receiver's answer is."""

from __future__ import annotations

import asyncio
from concurrent.futures import wait

from tracescore.bridge import BackgroundLoop
from tracescore.otel import PROTOBUF
from tracescore.pipeline.ingest import take_traces
from tracescore.redaction import Redaction
from tracescore.store import Store

OPENING = 5.0
"""Seconds that a store may take to open before the application goes on without waiting for it."""


class ToStore:
    """Open the store in a thread of its own, and again at the next export where that failed."""

    def __init__(self, location: str, *, project: str, quiet_ns: int, redaction: Redaction) -> None:
        self._location = location
        self._project = project
        self._quiet_ns = quiet_ns
        self._redaction = redaction
        self._store: Store | None = None
        self._opening = asyncio.Lock()
        # At once: a program may export for the first time as it ends, when no thread can be started any more. And it is
        # waited for: one that forks next must not do so while a thread opens a database.
        self._loop = BackgroundLoop(name="tracescore-export")
        wait([self._loop.submit(self._try_open())], timeout=OPENING)

    def take(self, body: bytes, *, timeout: float) -> None:
        """Store spans, and wait until they are durable."""
        reason = self._loop.submit(self._take(body)).result(timeout)
        if reason:
            raise ValueError(reason)

    def flush(self, *, timeout: float) -> bool:
        """Give True: each export waits for its own spans."""
        return True

    def close(self, *, timeout: float) -> None:
        """Close the store."""
        try:
            self._loop.submit(self._close()).result(timeout)
        finally:
            self._loop.close()

    async def _take(self, body: bytes) -> str:
        store = await self._opened()
        taken = await take_traces(
            store,
            body,
            content_type=PROTOBUF,
            project=self._project,
            quiet_ns=self._quiet_ns,
            redaction=self._redaction,
        )
        return taken.reason if taken.rejected else ""

    async def _try_open(self) -> None:
        try:
            await self._opened()
        except Exception:  # noqa: BLE001 - the export that needs it tries again and says so
            return

    async def _opened(self) -> Store:
        async with self._opening:
            if self._store is None:
                # Here and not in another thread: the store's own are to have this context, in which nothing is traced.
                self._store = Store.open(self._location)
            return self._store

    async def _close(self) -> None:
        if self._store is not None:
            self._store.close()
