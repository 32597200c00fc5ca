"""Tokens: who may send to a project, and who may read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

TokenKind: TypeAlias = Literal["ingest", "read"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRow:
    """A token as it is kept: its secret only as a hash, which is in no ``repr``."""

    project: str
    token_id: str
    kind: TokenKind
    name: str
    secret_hash: bytes = field(repr=False)
    created_ns: int
    last_used_ns: int | None
    revoked_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewToken:
    """A token that was just made; ``token`` is what its holder sends, and is nowhere else."""

    row: TokenRow
    token: str = field(repr=False)
