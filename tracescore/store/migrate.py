"""Bring a database to this release's schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect

from tracescore.errors import StoreError
from tracescore.store.bulk import query

HEADS = {"spans": "0001", "work": "0002"}
"""The newest revision of each set of tables, so that an open needs no Alembic where nothing is to be done."""


def version_table(name: str) -> str:
    """Give the table that holds a set's revision; both sets may live in one database."""
    return f"alembic_version_{name}"


def needs_upgrade(connection: Connection, name: str, where: str) -> bool:
    """Tell whether a database is older than this release.

    One release newer is fine: its schema is made so that this one runs on it.

    Raises:
        StoreError: it is newer than that.
    """
    found = _revision(connection, name)
    if found is None or int(found) < int(HEADS[name]):
        return True
    if int(found) > int(HEADS[name]) + 1:
        raise StoreError(f"{where} was written by a newer tracescore (schema {found}): update tracescore")
    return False


def upgrade(connection: Connection, name: str) -> None:
    """Run the migrations that are missing; the caller holds the transaction."""
    # Alembic costs 0.2 s to import, which an open store does without.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(Path(__file__).parent / "migrations" / name))

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs(HEADS[name], revision)

    run: Callable[..., Any] = steps
    with EnvironmentContext(Config(), script, fn=run) as context:
        context.configure(connection=connection, version_table=version_table(name), transactional_ddl=True)
        context.run_migrations()


def _revision(connection: Connection, name: str) -> str | None:
    if not inspect(connection).has_table(version_table(name)):
        return None
    rows = query(connection, f"SELECT version_num FROM {version_table(name)}")
    return str(rows[0][0]) if rows else None
