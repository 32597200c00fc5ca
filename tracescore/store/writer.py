"""One thread that writes: many operations in one transaction."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine

from tracescore.errors import StoreError, StoreUnavailable

T = TypeVar("T")

GROUP_TIME = 0.02
"""How long a transaction takes operations in before it commits; its locks keep other processes out that long."""
YIELD_AFTER = 0.05
YIELD_TIME = 0.002
"""A writer that is never idle pauses so long, so often: writers of other processes poll for the lock."""
CONFLICTS = 5
"""How often one operation is run again where the database says that another transaction was in its way."""
CONFLICT_TIME = 5.0
"""For how long it is run again."""


class DatabaseFile(Protocol):
    """What a writer and its readers need of a database."""

    def engine(self, *, writes: bool) -> Engine:
        """Give an engine for new connections."""
        ...

    def begin_write(self, connection: Connection, *, alone: bool = False) -> None:
        """Begin a transaction that writes; ``alone`` where it runs a single operation."""
        ...

    def begin_read(self, connection: Connection) -> None:
        """Begin a transaction that sees one state."""
        ...

    def roll_back(self, connection: Connection) -> None:
        """Undo what is open."""
        ...

    def is_conflict(self, error: BaseException) -> bool:
        """Tell whether the same again may work: two transactions waited for each other."""
        ...

    def is_lost(self, error: BaseException) -> bool:
        """Tell whether the connection died, so that a new one may work at once."""
        ...

    def explain(self, error: BaseException) -> StoreError | None:
        """Say a driver's error in our words; None for what is not the database's."""
        ...


@dataclass(slots=True)
class _Submitted:
    operation: Callable[[Connection], Any]
    future: Future[Any]
    result: Any = None


class Writer:
    """Run submitted operations in group commits, each alone in its failure.

    An operation takes a connection and does nothing outside it: where one of a group fails, the group is undone and
    each of its operations runs again behind a savepoint of its own.
    """

    def __init__(self, database: DatabaseFile, *, name: str) -> None:
        self._database = database
        self._engine = database.engine(writes=True)
        self._connection: Connection | None = None
        self._queue: SimpleQueue[_Submitted | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._busy = False
        self._last_idle = time.monotonic()
        # In the context of who opened the store: an exporter says there that nothing it does is traced.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name=f"tracescore-write-{name}", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        """Queue an operation; its future ends once it is durable."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            self._queue.put(_Submitted(operation, future))
        return future

    def load(self) -> int:
        """Tell how much a further operation would wait for: 0 where it would be begun at once."""
        return self._queue.qsize() + self._busy

    def close(self) -> None:
        """Commit what was submitted and end the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._next()) is not None:
            self._busy = True
            self._commit_group(first)
            self._busy = False
            del first
        self._disconnect()

    def _next(self) -> _Submitted | None:
        try:
            item = self._queue.get_nowait()
        except Empty:
            item = self._queue.get()
            self._last_idle = time.monotonic()
        return item

    def _commit_group(self, first: _Submitted) -> None:
        if not first.future.set_running_or_notify_cancel():
            return
        group = [first]
        del first
        try:
            self._commit(group)
        finally:
            # Drivers leave frames behind, of each try for a lock too, that hold their callers' until cycles are looked
            # for: what was written, or could not be, is not to wait for that.
            group.clear()
        self._let_others_write()

    def _commit(self, group: list[_Submitted]) -> None:
        begun = False
        try:
            connection = self._begin()
            begun = True
            try:
                if not self._run_group(connection, group):
                    self._database.roll_back(connection)
                    self._database.begin_write(connection)
                    self._run_apart(connection, group)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                self._database.roll_back(connection)
                raise
        except Exception as error:  # noqa: BLE001  # whatever it was, everyone who waits is told
            if begun and self._database.is_conflict(error):
                self._commit_each(group)
            else:
                # Who waited behind a database that could not be had is told with the first: one such wait after the
                # other would be longer than anybody waits for an answer.
                self._fail(group if begun else [*group, *self._all_waiting()], error)
        else:
            self._end(group)

    def _end(self, group: list[_Submitted]) -> None:
        for submitted in group:
            submitted.future.set_result(submitted.result)

    def _all_waiting(self) -> list[_Submitted]:
        waiting: list[_Submitted] = []
        while (item := self._take(until=time.monotonic() + 1)) is not None:
            waiting.append(item)
        return waiting

    def _commit_each(self, group: list[_Submitted]) -> None:
        # Each in a transaction of its own holds no lock that another's next operation waits for. Once one has waited in
        # vain the others wait shortly: they may be behind the same lock, and all of them are to be answered in time.
        patient = True
        for submitted in group:
            if submitted.future.done():  # one that failed apart was told already
                continue
            try:
                self._commit_alone(submitted, patient=patient)
            except Exception as error:  # noqa: BLE001  # the caller is told
                patient = patient and not self._database.is_conflict(error)
                self._fail([submitted], error)
            else:
                submitted.future.set_result(submitted.result)

    def _commit_alone(self, submitted: _Submitted, *, patient: bool) -> None:
        end = time.monotonic() + CONFLICT_TIME
        for left in reversed(range(CONFLICTS if patient else 1)):
            connection = self._begin(alone=patient)
            try:
                submitted.result = submitted.operation(connection)
                connection.exec_driver_sql("COMMIT")
                return
            except Exception as error:
                self._database.roll_back(connection)
                if not left or time.monotonic() > end or not self._database.is_conflict(error):
                    raise

    def _begin(self, *, alone: bool = False) -> Connection:
        # A connection may have died while nothing was written, as at a restart of its server: nothing is lost yet.
        was_open = self._connection is not None
        connection = self._connect()
        try:
            self._database.begin_write(connection, alone=alone)
        except Exception as error:
            if not was_open or not self._database.is_lost(error):
                raise
            self._disconnect()
            connection = self._connect()
            self._database.begin_write(connection, alone=alone)
        return connection

    def _run_group(self, connection: Connection, group: list[_Submitted]) -> bool:
        # Takes operations in until the queue is empty or the time is over; False where one of them failed.
        end = time.monotonic() + GROUP_TIME
        submitted: _Submitted | None = group[0]
        while submitted is not None:
            try:
                submitted.result = submitted.operation(connection)
            except Exception as error:
                if isinstance(self._database.explain(error), StoreUnavailable):  # a conflict is one, too
                    raise
                return False
            submitted = self._take(until=end)
            if submitted is not None:
                group.append(submitted)
        return True

    def _take(self, *, until: float) -> _Submitted | None:
        while time.monotonic() < until:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return None
            if item is None:
                self._queue.put(None)  # the end comes after this group
                return None
            if item.future.set_running_or_notify_cancel():
                return item
        return None

    def _run_apart(self, connection: Connection, group: list[_Submitted]) -> None:
        done: list[_Submitted] = []
        failed: list[tuple[_Submitted, Exception]] = []
        for submitted in group:
            connection.exec_driver_sql("SAVEPOINT one")
            try:
                submitted.result = submitted.operation(connection)
            except Exception as error:
                if isinstance(self._database.explain(error), StoreUnavailable):
                    raise
                connection.exec_driver_sql("ROLLBACK TO one")
                failed.append((submitted, error))
            else:
                done.append(submitted)
            connection.exec_driver_sql("RELEASE one")
        for submitted, error in failed:
            submitted.future.set_exception(self._told(error))
        group[:] = done

    def _told(self, error: Exception) -> BaseException:
        explained = self._database.explain(error)
        if explained is None:
            return error
        traceback.clear_frames(error.__traceback__)  # the operation's own among them
        explained.__cause__ = error
        return explained

    def _fail(self, group: list[_Submitted], error: Exception) -> None:
        told = self._told(error)
        if not isinstance(told, StoreUnavailable) or not told.full:
            self._disconnect()  # a handle that failed may stay broken
        for submitted in group:
            if not submitted.future.done():  # one that failed apart was told already
                submitted.future.set_exception(self._told(error))

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it is given up; the next one is a new one
                self._connection.close()
            self._connection = None

    def _let_others_write(self) -> None:
        if time.monotonic() - self._last_idle > YIELD_AFTER:
            time.sleep(YIELD_TIME)
            self._last_idle = time.monotonic()
