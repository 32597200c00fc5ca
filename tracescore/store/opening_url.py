"""Check a PostgreSQL database before it is used, and migrate it when that is asked for."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from tracescore.errors import StoreError
from tracescore.store import migrate, postgres
from tracescore.store.postgres import PostgresDatabase
from tracescore.store.schema import SPANS, WORK

_TABLES = {"spans": SPANS, "work": WORK}
_MIGRATION_LOCK = 0x74736372  # "tscr": one process migrates, the others wait and find it done


def is_url(location: str | Path) -> bool:
    """Tell a database's URL from a folder."""
    return isinstance(location, str) and "://" in location


def open_url(location: str) -> Mapping[str, PostgresDatabase]:
    """Give a store's two sets of tables, which one database holds.

    Raises:
        StoreError: it is not migrated, is no PostgreSQL database, or cannot be used.
        StoreUnavailable: it does not answer.
    """
    url = postgres.check_url(location)
    with _connection(url) as connection:
        for name in _TABLES:
            if migrate.needs_upgrade(connection, name, postgres.describe(url)):
                raise StoreError(f"{postgres.describe(url)} is not at this release's schema: run `tracescore migrate`")
    return {name: PostgresDatabase(url=url, tables=tables) for name, tables in _TABLES.items()}


def migrate_url(location: str) -> bool:
    """Bring a database to this release's schema, all of it or nothing; tell whether there was anything to do.

    Raises:
        StoreError: it is no PostgreSQL database, or it refuses.
        StoreUnavailable: it does not answer.
    """
    url = postgres.check_url(location)
    with _connection(url) as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        behind = [name for name in _TABLES if migrate.needs_upgrade(connection, name, postgres.describe(url))]
        for name in behind:
            migrate.upgrade(connection, name)
        connection.exec_driver_sql("COMMIT")
    return bool(behind)


@contextmanager
def _connection(url: str) -> Generator[Connection]:
    engine = postgres.engine_for(url)
    try:
        with engine.connect() as connection:
            _check(connection, url)
            yield connection
    except DBAPIError as error:
        raise postgres.explain(error, url) or error from error
    finally:
        engine.dispose()


def _check(connection: Connection, url: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(f"{postgres.describe(url)} is encoded in {encoding}: make a database with ENCODING 'UTF8'")
