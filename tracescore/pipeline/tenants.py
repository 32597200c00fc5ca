"""Tenants: whose requests are whose project's, and who may listen where."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tracescore.errors import ConfigurationError, StoreError
from tracescore.store import Store, TokenKind, TokenRow, is_secret_of, public_id

logger = logging.getLogger(__name__)

FRESH = 1.0
"""So many seconds what was read of the tokens is taken for true; after that it is read again, beside the requests."""
STALEST = 4.0
"""A request waits for that reading once it is so many seconds since the last: a revoked token ends by then."""
USED_NS = 600 * 1_000_000_000
"""How exactly it is noted when a token was used last."""
_NOBODYS = hashlib.sha256(b"").digest()


class Unauthorized(Exception):
    """A request without a token that opens its door; why it does not is told to nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    tokens: Mapping[str, TokenRow]
    read_at: float


class Tenants:
    """Tell a request's project by its token, from a copy of all tokens: no request costs a read of the store.

    Where the store has no token, every request is the ``open_project``'s. Tokens that were revoked count: taking the
    last one away must not open the door.
    """

    def __init__(self, store: Store, *, open_project: str) -> None:
        self._store = store
        self._open_project = open_project
        self._known: _Known | None = None
        self._reading: asyncio.Task[_Known] | None = None
        self._used_ns: dict[str, int] = {}
        self._noting: set[asyncio.Task[None]] = set()

    async def project_of(self, token: str | None, kind: TokenKind) -> str:
        """Give the project of a request that needs a token of a kind.

        Raises:
            Unauthorized: the token is missing, unknown, revoked, or of the other kind.
            StoreError: the tokens cannot be read.
        """
        tokens = (await self._current()).tokens
        if not tokens:
            return self._open_project
        row = tokens.get(public_id(token or "") or "")
        fits = is_secret_of(token or "", row.secret_hash if row else _NOBODYS)
        if row is None or not fits or row.revoked_ns is not None or row.kind != kind:
            raise Unauthorized
        self._note_use(row)
        return row.project

    async def _current(self) -> _Known:
        known = self._known
        age = float("inf") if known is None else time.monotonic() - known.read_at
        if known is not None and age < FRESH:
            return known
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._have_read)
        if known is not None and age < STALEST:
            return known
        return await asyncio.shield(self._reading)

    async def _read(self) -> _Known:
        began = time.monotonic()
        rows = await self._store.tokens.list()
        return _Known(tokens={row.token_id: row for row in rows}, read_at=began)

    def _have_read(self, task: asyncio.Task[_Known]) -> None:
        self._reading = None
        if not task.cancelled() and task.exception() is None:
            self._known = task.result()

    def _note_use(self, row: TokenRow) -> None:
        now_ns = time.time_ns()
        if now_ns - max(row.last_used_ns or 0, self._used_ns.get(row.token_id, 0)) < USED_NS:
            return
        self._used_ns[row.token_id] = now_ns
        task = asyncio.create_task(self._write_use(row.token_id, now_ns))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _write_use(self, token_id: str, now_ns: int) -> None:
        try:
            await self._store.tokens.used([token_id], now_ns=now_ns, coarse_ns=USED_NS)
        except StoreError as error:  # no request fails for it
            logger.debug("the use of token %s was not noted: %s", token_id, error)


async def check_exposure(store: Store, *, host: str, insecure: bool) -> None:
    """Refuse to listen beyond this machine where anybody could send and read.

    Raises:
        ConfigurationError: the host is not loopback, and the store has no token.
    """
    if is_loopback(host) or insecure or await store.tokens.list():
        return
    raise ConfigurationError(
        f"host {host!r} is not this machine, and without a token anybody could send and read: make tokens "
        "(`tracescore tokens create`), listen on 127.0.0.1, or accept it with --insecure"
    )


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
