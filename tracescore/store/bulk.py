"""Statements over many rows at once, at driver level.

A driver lets the interpreter go at each step of a statement and must win it back: beside a busy loop that costs up to
5 ms a step, so that 500 rows by ``executemany`` take seconds (measured: 244 rows/s, against 23 000 with 50 rows in one
statement). Hence one statement of many rows, and as few statements as can be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

from tracescore.store import postgres_sql
from tracescore.store.postgres_sql import is_postgres

ROWS = 100
"""Rows in one statement: its text is prepared once and kept."""
IDS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkInsert:
    """Insert tuples in the order of ``columns``; ``on_conflict`` is what follows ON CONFLICT."""

    table: str
    columns: tuple[str, ...]
    on_conflict: str | None = None

    @classmethod
    def into(cls, table: Table, *, on_conflict: str | None = None, leave_out: Sequence[str] = ()) -> BulkInsert:
        """Insert into all columns of a table but some."""
        columns = tuple(column.name for column in table.columns if column.name not in leave_out)
        return cls(table=table.name, columns=columns, on_conflict=on_conflict)

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Insert rows; give how many were written."""
        if not rows:
            return 0
        if is_postgres(connection):
            return postgres_sql.insert(connection, self.table, self.columns, self.on_conflict, rows)
        return sum(self._insert(connection, chunk) for chunk in _chunks(rows))

    def tell_new(
        self,
        connection: Connection,
        rows: Sequence[tuple[Any, ...]],
        *,
        keys: tuple[str, ...],
        known: Collection[bytes],
    ) -> list[tuple[Sequence[tuple[Any, ...]], int]]:
        """Insert rows that may be there; give them in groups, with how many of each group were new.

        ``known`` holds the values of the first key of which there are rows, as far as was seen: right or wrong, it
        changes only how fast it goes.
        """
        if rows and is_postgres(connection):
            new = postgres_sql.insert_new(connection, self.table, self.columns, keys, rows, known)
            return [(new, len(new))]
        return [(chunk, self._insert(connection, chunk)) for chunk in _chunks(rows)]

    def _insert(self, connection: Connection, chunk: Sequence[tuple[Any, ...]]) -> int:
        return connection.exec_driver_sql(_insert_sql(self, len(chunk)), tuple(chain.from_iterable(chunk))).rowcount


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkUpdate:
    """Update rows each by its own values: tuples of ``keys``, then ``values``, named as the table's columns are.

    ``assign`` is the SET clause and ``where`` a further condition; both may name the values as ``v.column``.
    """

    table: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    assign: str
    where: str = ""

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Update rows; give how many were."""
        if not rows:
            return 0
        if is_postgres(connection):
            columns = (*self.keys, *self.values)
            return postgres_sql.run_with_values(connection, _update_from(self), self.table, columns, rows)
        written = 0
        for chunk in _chunks(rows):
            sql = _update_sql(self, len(chunk))
            written += connection.exec_driver_sql(sql, tuple(chain.from_iterable(chunk))).rowcount
        return written


@dataclass(frozen=True, kw_only=True, slots=True)
class ByIds:
    """A statement with ``{ids}`` in it, and before that as many values as ``?`` stand in it."""

    sql: str

    def rows(self, connection: Connection, ids: Sequence[Any], *values: Any) -> Sequence[tuple[Any, ...]]:
        """Give the rows of a query for all ids."""
        found: list[tuple[Any, ...]] = []
        for sql, parameters in self._statements(connection, ids, values):
            found.extend(connection.exec_driver_sql(sql, parameters).all())
        return found

    def run(self, connection: Connection, ids: Sequence[Any], *values: Any) -> int:
        """Run a statement for all ids; give how many rows it wrote."""
        return sum(
            connection.exec_driver_sql(sql, parameters).rowcount
            for sql, parameters in self._statements(connection, ids, values)
        )

    def lock(self, connection: Connection, ids: Sequence[Any], *values: Any) -> None:
        """Lock rows in an order, where several may write at once."""
        if is_postgres(connection):
            self.rows(connection, ids, *values)

    def _statements(
        self, connection: Connection, ids: Sequence[Any], values: tuple[Any, ...]
    ) -> Iterable[tuple[str, tuple[Any, ...]]]:
        if not ids:
            return ()
        if is_postgres(connection):
            return [(postgres_sql.translate(self.sql), (*values, list(ids)))]
        chunks = _chunks(ids, size=IDS)
        return ((_by_ids_sql(self.sql, len(chunk)), (*values, *chunk)) for chunk in chunks)


def query(connection: Connection, sql: str, *values: Any) -> Sequence[tuple[Any, ...]]:
    """Give the rows of a query at driver level, its values marked ``?``."""
    return connection.exec_driver_sql(_said(sql, connection), values).all()


def execute(connection: Connection, sql: str, *values: Any) -> int:
    """Run a statement at driver level, its values marked ``?``; give how many rows it wrote."""
    return connection.exec_driver_sql(_said(sql, connection), values).rowcount


def _said(sql: str, connection: Connection) -> str:
    return postgres_sql.translate(sql) if is_postgres(connection) else sql


def _chunks(rows: Sequence[Any], size: int = ROWS) -> Iterable[Sequence[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _groups(columns: int, count: int) -> str:
    group = f"({', '.join('?' * columns)})"
    return ", ".join([group] * count)


@lru_cache(maxsize=512)
def _insert_sql(insert: BulkInsert, count: int) -> str:
    conflict = f" ON CONFLICT {insert.on_conflict}" if insert.on_conflict else ""
    values = _groups(len(insert.columns), count)
    return f"INSERT INTO {insert.table} ({', '.join(insert.columns)}) VALUES {values}{conflict}"


@lru_cache(maxsize=512)
def _update_sql(update: BulkUpdate, count: int) -> str:
    # VALUES names its columns column1, column2, …; a CTE would do, but sqlite3 counts no rows behind WITH.
    columns = (*update.keys, *update.values)
    named = ", ".join(f"column{number} AS {column}" for number, column in enumerate(columns, 1))
    values = f"(SELECT {named} FROM (VALUES {_groups(len(columns), count)}) AS w) AS v"
    return _update_from(update).replace("{values}", values)


@lru_cache(maxsize=64)
def _update_from(update: BulkUpdate) -> str:
    matches = " AND ".join(f"{update.table}.{key} = v.{key}" for key in update.keys)
    # In a CASE no planner looks for an index by it, nor starts from the few rows that it believes to fulfil it: rows
    # are found by their keys.
    where = f" AND CASE WHEN {update.where} THEN TRUE ELSE FALSE END" if update.where else ""
    return f"UPDATE {update.table} SET {update.assign} FROM {{values}} WHERE {matches}{where}"


@lru_cache(maxsize=512)
def _by_ids_sql(sql: str, count: int) -> str:
    return sql.replace("{ids}", ", ".join("?" * count))
