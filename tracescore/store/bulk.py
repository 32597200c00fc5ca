"""Statements over many rows at once, at driver level.

A driver lets the interpreter go at each step of a statement and must win it back: beside a busy loop that costs up to
5 ms a step, so that 500 rows by ``executemany`` take seconds (measured: 244 rows/s, against 23 000 with 50 rows in one
statement). Hence one statement of many rows, and as few statements as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

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

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        """Insert rows, ``ROWS`` at a time; give how many were written of each."""
        mark = _mark(connection)
        counts: list[int] = []
        for chunk in _chunks(rows):
            sql = _insert_sql(self, len(chunk), mark)
            counts.append(connection.exec_driver_sql(sql, tuple(chain.from_iterable(chunk))).rowcount)
        return counts


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkUpdate:
    """Update rows each by its own values: tuples of ``keys``, then ``values``.

    ``assign`` is the SET clause and ``where`` a further condition; both may name the values as ``v.column``.
    """

    table: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    assign: str
    where: str = ""

    def run(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Update rows; give how many were."""
        mark = _mark(connection)
        written = 0
        for chunk in _chunks(rows):
            sql = _update_sql(self, len(chunk), mark)
            written += connection.exec_driver_sql(sql, tuple(chain.from_iterable(chunk))).rowcount
        return written


@dataclass(frozen=True, kw_only=True, slots=True)
class ByIds:
    """A statement with ``{ids}`` in it, and before that as many values as ``?`` stand in it."""

    sql: str

    def rows(self, connection: Connection, ids: Sequence[Any], *values: Any) -> Sequence[tuple[Any, ...]]:
        """Give the rows of a query for all ids."""
        found: list[tuple[Any, ...]] = []
        mark = _mark(connection)
        for chunk in _chunks(ids, size=IDS):
            result = connection.exec_driver_sql(_by_ids_sql(self.sql, len(chunk), mark), (*values, *chunk))
            found.extend(result.all())
        return found

    def run(self, connection: Connection, ids: Sequence[Any], *values: Any) -> int:
        """Run a statement for all ids; give how many rows it wrote."""
        mark = _mark(connection)
        return sum(
            connection.exec_driver_sql(_by_ids_sql(self.sql, len(chunk), mark), (*values, *chunk)).rowcount
            for chunk in _chunks(ids, size=IDS)
        )


def query(connection: Connection, sql: str, *values: Any) -> Sequence[tuple[Any, ...]]:
    """Give the rows of a query at driver level, its values marked ``?``."""
    return connection.exec_driver_sql(_marked(sql, _mark(connection)), values).all()


def execute(connection: Connection, sql: str, *values: Any) -> int:
    """Run a statement at driver level, its values marked ``?``; give how many rows it wrote."""
    return connection.exec_driver_sql(_marked(sql, _mark(connection)), values).rowcount


def _mark(connection: Connection) -> str:
    return "?" if connection.dialect.paramstyle == "qmark" else "%s"


@lru_cache(maxsize=512)
def _marked(sql: str, mark: str) -> str:
    return sql if mark == "?" else sql.replace("?", mark)


def _chunks(rows: Sequence[Any], size: int = ROWS) -> Iterable[Sequence[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _groups(columns: int, count: int, mark: str) -> str:
    group = f"({', '.join([mark] * columns)})"
    return ", ".join([group] * count)


@lru_cache(maxsize=512)
def _insert_sql(insert: BulkInsert, count: int, mark: str) -> str:
    conflict = f" ON CONFLICT {insert.on_conflict}" if insert.on_conflict else ""
    values = _groups(len(insert.columns), count, mark)
    return f"INSERT INTO {insert.table} ({', '.join(insert.columns)}) VALUES {values}{conflict}"


@lru_cache(maxsize=512)
def _update_sql(update: BulkUpdate, count: int, mark: str) -> str:
    # VALUES names its columns column1, column2, …; a CTE would do, but sqlite3 counts no rows behind WITH.
    columns = (*update.keys, *update.values)
    named = ", ".join(f"column{number} AS {column}" for number, column in enumerate(columns, 1))
    matches = " AND ".join(f"{update.table}.{key} = v.{key}" for key in update.keys)
    where = f" AND {update.where}" if update.where else ""
    return (
        f"UPDATE {update.table} SET {update.assign} "
        f"FROM (SELECT {named} FROM (VALUES {_groups(len(columns), count, mark)}) AS w) AS v WHERE {matches}{where}"
    )


@lru_cache(maxsize=512)
def _by_ids_sql(sql: str, count: int, mark: str) -> str:
    return _marked(sql, mark).replace("{ids}", ", ".join([mark] * count))
