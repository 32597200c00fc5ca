"""PostgreSQL: all that is said of it and to it alone, but for its statements (see ``postgres_sql``)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, MetaData, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from tracescore.errors import StoreError, StoreUnavailable
from tracescore.settings import STORE_SCHEMES
from tracescore.store.postgres_sql import create_load_tables

if TYPE_CHECKING:
    import psycopg

GROUP_LOCK_WAIT = "200ms"
"""How long one of a group waits for a row: two groups may wait for each other, while operations alone cannot, since
each takes its locks in one order."""
LOCK_WAIT = "6s"
"""Less than a sender waits for an answer; who reads waits no longer."""
_CONNECT_TIMEOUT = 5
_RETRY_AFTER = 2.0

_SET_UP = """SET application_name = 'tracescore';
    SET lock_timeout = '{lock_wait}';
    SET jit = off;
    SET plan_cache_mode = force_custom_plan; SET enable_material = off;
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET random_page_cost = 1.1;
    SET idle_in_transaction_session_timeout = '60s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"""
"""What was acknowledged survives a power cut, whatever the server's default; a stronger one is left as it is. All joins
go by key: a plan that was made or kept when a table was small read it whole until its next ANALYZE, and finishing 64
jobs took 80 ms with it. What is looked up is mostly in memory, where a page costs the same wherever it lies."""
_SET_UP_WRITER = "SET enable_seqscan = off"
"""No statement that writes needs a whole table; who reads may count one."""

_CONFLICTS = ("40001", "40P01", "55P03")  # serialization failure, deadlock, lock timeout
_FULL = ("53100",)
_DOWN_CLASSES = ("08", "53", "57", "58")  # connection, resources, operator intervention, system
_READ_ONLY = ("25006",)  # a standby, or a primary that became one
_LOCKED = ("55P03",)
_MISSING = ("42P01", "42703", "3F000")  # table, column, schema


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresDatabase:
    """One set of tables in a database. Each connection is for one thread at a time."""

    url: str
    tables: MetaData

    def engine(self, *, writes: bool) -> Engine:
        """Give an engine whose connections are opened one by one and set up for us."""
        return engine_for(self.url, load_tables=self.tables if writes else None)

    def begin_write(self, connection: Connection, *, alone: bool = False) -> None:
        """Begin a transaction that writes; ``alone`` where it runs a single operation."""
        wait = LOCK_WAIT if alone else GROUP_LOCK_WAIT
        connection.exec_driver_sql(f"BEGIN; SET LOCAL lock_timeout = '{wait}'")

    def begin_read(self, connection: Connection) -> None:
        """Begin a transaction that sees one state of the database."""
        connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def roll_back(self, connection: Connection) -> None:
        """Undo a transaction, if one is open; what cannot be undone is lost with its connection anyway."""
        from psycopg.pq import TransactionStatus

        with contextlib.suppress(Exception):
            driver = driver_of(connection)
            if driver.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN):
                driver.execute("ROLLBACK")

    def is_conflict(self, error: BaseException) -> bool:
        """Tell whether the same again may work: two transactions waited for each other."""
        return _state(error) in _CONFLICTS

    def is_lost(self, error: BaseException) -> bool:
        """Tell whether the connection died, so that a new one may work at once."""
        return _is_unreachable(error)

    def explain(self, error: BaseException) -> StoreError | None:
        """Say a driver's error in our words; None for what is not the database's."""
        return explain(error, self.url)


def explain(error: BaseException, url: str) -> StoreError | None:
    """Say in one line what happened, where, and what to do; None for what is not the database's."""
    import psycopg

    cause = _cause(error)
    if not isinstance(cause, psycopg.Error):
        return None
    where, state, said = describe(url), _state(error), _said(cause)
    if state in _FULL:
        return StoreUnavailable(f"the store is full: {said} at {where}; free space on its disk", full=True)
    if state in _LOCKED:
        return StoreUnavailable(f"the store is locked: another process holds rows of {where} for too long")
    if state in _CONFLICTS:
        return StoreUnavailable(f"the store is too busy: {said} at {where}", retry_after=1.0)
    if state in _MISSING:
        return StoreError(f"{where} is not migrated ({said}): run `tracescore migrate`")
    if state in _READ_ONLY or state[:2] in _DOWN_CLASSES or _is_unreachable(error):
        return StoreUnavailable(f"the store cannot be used: {said} at {where}", retry_after=_RETRY_AFTER)
    return StoreError(f"the store refused a statement at {where}: {said}")


def _is_unreachable(error: BaseException) -> bool:
    import psycopg

    # The driver gives no state where the server said nothing any more.
    kinds = (psycopg.OperationalError, psycopg.InterfaceError)
    return isinstance(_cause(error), kinds) and _state(error) in ("", "57P01", "57P02", "57P03")


def _cause(error: BaseException) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def _state(error: BaseException) -> str:
    return getattr(_cause(error), "sqlstate", None) or ""


def _said(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def check_url(location: str) -> str:
    """Give a database's URL as the driver takes it.

    Raises:
        StoreError: it is none of PostgreSQL's.
    """
    scheme, _, rest = location.partition("://")
    if scheme not in STORE_SCHEMES:
        raise StoreError(f"cannot open the store {scheme}://…: give a folder or postgresql://user@host/database")
    return f"postgresql://{rest}"


def describe(url: str) -> str:
    """Name a database in words: its URL without a password or options, which may hold one."""
    credentials, at, address = url.partition("://")[2].partition("?")[0].rpartition("@")
    return f"postgresql://{credentials.partition(':')[0]}{at}{address}"


def engine_for(url: str, *, load_tables: MetaData | None = None) -> Engine:
    """Give an engine for a database; its connections are in autocommit, and transactions begun by hand."""
    try:
        import psycopg
    except ImportError as error:
        raise StoreError("a store on PostgreSQL needs psycopg: pip install 'tracescore[postgres]'") from error

    def connect() -> psycopg.Connection[Any]:
        driver = psycopg.connect(url, autocommit=True, **_defaults(url))
        try:
            driver.execute(_SET_UP.format(lock_wait=LOCK_WAIT).encode())
            if load_tables is not None:
                driver.execute(_SET_UP_WRITER)
                create_load_tables(driver, load_tables)
        except BaseException:
            driver.close()
            raise
        return driver

    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        use_native_hstore=False,
    )


def _defaults(url: str) -> dict[str, Any]:
    # A server that goes away without a word must not hold a thread for the two hours of TCP's own patience.
    wanted = {
        "connect_timeout": _CONNECT_TIMEOUT,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }
    return {name: value for name, value in wanted.items() if f"{name}=" not in url}


def driver_of(connection: Connection) -> psycopg.Connection[Any]:
    """Give the driver's own connection."""
    driver: Any = connection.connection.driver_connection
    return driver
