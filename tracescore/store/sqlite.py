"""SQLite: all that is said of it and to it alone."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from tracescore.errors import StoreError, StoreUnavailable

APPLICATION_ID = 0x74736372  # "tscr": tells our files from other people's
OLDEST = (3, 35, 0)
LOCK_WAIT = 6.0
"""Less than a sender waits for an answer."""
_POLL = 0.001

_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # what was acknowledged survives a power cut
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
    "PRAGMA wal_autocheckpoint = 2000",
    "PRAGMA journal_size_limit = 134217728",
)

_FULL = {sqlite3.SQLITE_FULL}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DOWN = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


@dataclass(frozen=True, kw_only=True, slots=True)
class SQLiteFile:
    """One database file. Each connection is for one thread at a time."""

    path: Path
    page_size: int

    def engine(self, *, writes: bool) -> Engine:
        """Give an engine whose connections are opened one by one and set up for us."""

        def connect() -> sqlite3.Connection:
            driver = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",  # never makes a file that was deleted anew
                uri=True,
                timeout=LOCK_WAIT,  # whoever opens a WAL first, or closes it last, has it alone for a moment
                isolation_level=None,  # transactions are begun by hand: BEGIN IMMEDIATE where it writes
                check_same_thread=False,
                cached_statements=128,
            )
            for statement in _PRAGMAS:
                driver.execute(statement)
            if writes:
                driver.execute("PRAGMA busy_timeout = 0")  # from here on it waits in begin_write
            return driver

        return create_engine("sqlite://", creator=connect, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    def begin_write(self, connection: Connection, *, alone: bool = False) -> None:
        """Begin a transaction that holds the one write lock, alone or not.

        The wait is ours: SQLite's own grows to 100 ms between tries, too long beside a busy writer in another process.
        """
        if not self.path.exists():  # deleted under us: what were written now would be lost with the last handle
            raise _gone(self.path)
        deadline = time.monotonic() + LOCK_WAIT
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                return
            except DBAPIError as error:
                if _code(error.orig) not in _LOCKED or time.monotonic() > deadline:
                    raise
            time.sleep(_POLL * (0.5 + random.random()))

    def begin_read(self, connection: Connection) -> None:
        """Begin a transaction that sees one state of the database."""
        connection.exec_driver_sql("BEGIN")

    def roll_back(self, connection: Connection) -> None:
        """Undo a transaction, if SQLite has not done so itself."""
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection) and driver.in_transaction:
            driver.rollback()

    def is_conflict(self, error: BaseException) -> bool:
        """Tell of no error that the same again may work: who holds the one write lock waits for nobody."""
        return False

    def is_lost(self, error: BaseException) -> bool:
        """Tell of no error that the connection died: a file has none."""
        return False

    def explain(self, error: BaseException) -> StoreError | None:
        """Say a driver's error in our words; None for what is not the database's."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(cause, sqlite3.Error):
            return None
        return explain(cause, self.path)


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """Say in one line what happened, where, and what to do."""
    code = _code(error)
    if not path.exists():
        return _gone(path)
    if code in _FULL:
        return StoreUnavailable(f"the store is full: no room for {path}; free space on its disk", full=True)
    if code in _LOCKED:
        return StoreUnavailable(f"the store is locked: another process holds {path} for too long", retry_after=1.0)
    if code in _BROKEN:
        return StoreError(f"{path} is damaged or no database ({error}): move it away, or restore a backup")
    if code in _DOWN:
        return StoreUnavailable(f"the store cannot be used: {error} at {path}; check its disk and its permissions")
    return StoreError(f"the store refused a statement at {path}: {error}")


def _gone(path: Path) -> StoreUnavailable:
    return StoreUnavailable(f"{path} is gone: put it back and restart", retry_after=30.0)


def _code(error: object) -> int:
    # The low byte is the kind of error; what is above it tells variants apart.
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def check_version() -> None:
    """Refuse an SQLite without RETURNING.

    Raises:
        StoreError: this Python was built with one.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise StoreError(f"this Python has SQLite {sqlite3.sqlite_version}: use one with {oldest} or newer")


def identify(path: Path) -> str:
    """Tell whether a file is ``ours``, ``new`` (missing or empty) or ``foreign``.

    Raises:
        StoreError: it cannot be read, or is no database.
    """
    try:
        if not path.exists() or path.stat().st_size == 0:
            return "new"
        with path.open("rb"):
            pass
        driver = sqlite3.connect(path, timeout=LOCK_WAIT)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot open {path}: {error}; check its permissions") from error
    try:
        (mark,) = driver.execute("PRAGMA application_id").fetchone()
        (tables,) = driver.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise explain(error, path) from error
    finally:
        driver.close()
    if mark == APPLICATION_ID:
        return "ours"
    return "foreign" if tables else "new"


def create(file: SQLiteFile) -> None:
    """Create a database file as ours: what can only be set while it is empty.

    Raises:
        StoreError: it cannot be created there.
    """
    path = file.path
    try:
        # SQLite would make it readable to all; its other files take over the mode of this one.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        driver = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot create {path}: {error}; check its folder's permissions") from error
    try:
        driver.execute(f"PRAGMA page_size = {file.page_size}")
        driver.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that pruning can give space back in steps
        driver.execute("PRAGMA journal_mode = WAL")
        driver.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except sqlite3.Error as error:
        raise StoreError(f"cannot create {path}: {error}; check its disk and its permissions") from error
    finally:
        driver.close()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)  # the new file's name must survive a power cut, too
    finally:
        os.close(handle)
