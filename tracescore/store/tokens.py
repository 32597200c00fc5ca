"""Tokens: made once, kept as hashes, looked up by their public part.

A token is ``ts_<public id>_<secret>``. The secret is 256 random bits, so a plain hash of it cannot be searched through.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

from sqlalchemy import Row, select

from tracescore.arguments import check_project
from tracescore.errors import InputError
from tracescore.store import schema
from tracescore.store.bulk import BulkInsert, ByIds, execute
from tracescore.store.database import Database
from tracescore.store.encoding import id_bytes, is_id, storable
from tracescore.store.records import NewToken, TokenKind, TokenRow

_TOKEN = re.compile(r"ts_([0-9a-f]{16})_([0-9a-f]{64})")
_ID_DIGITS = 16
_MAX_NAME = 200

_TOKENS = schema.tokens.c
_ROW = select(*(_TOKENS[field.name] for field in fields(TokenRow)))
_INSERT = BulkInsert.into(schema.tokens)
_REVOKE = """UPDATE tokens SET revoked_ns = coalesce(revoked_ns, ?) WHERE token_id = ?"""
_USED = ByIds(
    sql="UPDATE tokens SET last_used_ns = ? WHERE (last_used_ns IS NULL OR last_used_ns < ?) AND token_id IN ({ids})"
)


class Tokens:
    """Keep who may send and who may read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, project: str, kind: TokenKind, *, name: str = "", now_ns: int | None = None) -> NewToken:
        """Make a token; this is the only time that its secret is seen.

        Raises:
            InputError: the project cannot be named so.
        """
        check_project(project, InputError)
        if kind not in get_args(TokenKind):
            raise InputError(f"{kind!r:.40} is no kind of token: expected 'ingest' or 'read'")
        token_id, secret = os.urandom(_ID_DIGITS // 2).hex(), os.urandom(32).hex()
        row = TokenRow(
            project=project,
            token_id=token_id,
            kind=kind,
            name=storable(name)[:_MAX_NAME],
            secret_hash=_hash(secret),
            created_ns=time.time_ns() if now_ns is None else now_ns,
            last_used_ns=None,
            revoked_ns=None,
        )
        values = (row.project, id_bytes(token_id), row.kind, row.name, row.secret_hash, row.created_ns, None, None)
        await self._database.write(lambda connection: _INSERT.run(connection, [values]))
        return NewToken(row=row, token=f"ts_{token_id}_{secret}")

    async def list(self, project: str | None = None) -> list[TokenRow]:
        """List tokens, oldest first, revoked ones among them."""
        statement = _ROW.order_by(_TOKENS.created_ns, _TOKENS.token_id)
        if project is not None:
            statement = statement.where(_TOKENS.project == storable(project))
        return await self._database.read(
            lambda connection: [_row(found) for found in connection.execute(statement).all()]
        )

    async def revoke(self, token_id: str, *, now_ns: int | None = None) -> bool:
        """End a token for good; harmless twice. False where there is none."""
        if not is_id(token_id, digits=_ID_DIGITS):
            return False
        values = (time.time_ns() if now_ns is None else now_ns, id_bytes(token_id))
        return await self._database.write(lambda connection: execute(connection, _REVOKE, *values) > 0)

    async def used(self, token_ids: Sequence[str], *, now_ns: int, coarse_ns: int) -> None:
        """Note that tokens were used; one that was noted within ``coarse_ns`` stays as it is."""
        ids = [id_bytes(token_id) for token_id in token_ids]
        await self._database.write(lambda connection: _USED.run(connection, ids, now_ns, now_ns - coarse_ns))


def public_id(token: str) -> str | None:
    """Give the part of a token that may be shown, or None for what is no token at all."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def is_secret_of(token: str, secret_hash: bytes) -> bool:
    """Compare a token's secret with a kept hash, in the same time whether or not they are alike."""
    match = _TOKEN.fullmatch(token)
    return match is not None and hmac.compare_digest(_hash(match[2]), secret_hash)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(bytes.fromhex(secret)).digest()


def _row(row: Row[Any]) -> TokenRow:
    return TokenRow(**dict(row._mapping))
