"""A few threads that read, each with a connection of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection

from tracescore.errors import StoreError
from tracescore.store.writer import DatabaseFile

T = TypeVar("T")

THREADS = 3


class Readers:
    """Run operations that only read, each in one state of the database."""

    def __init__(self, database: DatabaseFile, *, name: str) -> None:
        self._database = database
        self._engine = database.engine(writes=False)
        self._local = threading.local()
        self._connections: set[Connection] = set()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix=f"tracescore-read-{name}")

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        """Queue an operation."""
        try:
            return self._pool.submit(self._run, operation)
        except RuntimeError as error:  # shut down
            raise StoreError("the store is closed") from error

    def close(self) -> None:
        """Finish what was submitted and close the connections."""
        self._pool.shutdown(wait=True)
        while self._connections:
            self._connections.pop().close()

    def _run(self, operation: Callable[[Connection], T]) -> T:
        try:
            connection = self._begin()
            try:
                return operation(connection)
            finally:
                self._database.roll_back(connection)
        except Exception as error:
            explained = self._database.explain(error)
            if explained is None:
                raise
            self._give_up()
            raise explained from error

    def _begin(self) -> Connection:
        was_open = getattr(self._local, "connection", None) is not None
        connection = self._connection()
        try:
            self._database.begin_read(connection)
        except Exception as error:
            if not was_open or not self._database.is_lost(error):
                raise
            self._give_up()  # it died while nothing was read
            connection = self._connection()
            self._database.begin_read(connection)
        return connection

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._engine.connect()
            self._local.connection = connection
            self._connections.add(connection)
        return connection

    def _give_up(self) -> None:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            self._connections.discard(connection)
            with contextlib.suppress(Exception):  # it is given up; the next one is a new one
                connection.close()
