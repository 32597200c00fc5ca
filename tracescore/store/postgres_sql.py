"""Statements on PostgreSQL: rows go in by COPY, ids and values as arrays, and locks are asked for by name.

Statements are written once, for both databases. Where PostgreSQL must lock rows that SQLite's one writer holds anyway,
a statement carries a comment: ``LOCK``, ``LOCK_JOB`` or ``SKIP_LOCKED``, which SQLite passes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, MetaData, Table
from sqlalchemy.dialects.postgresql import dialect as postgresql_dialect

from tracescore.store.schema import SPANS, WORK

if TYPE_CHECKING:
    import psycopg

LOCK = "/* for update */"
LOCK_JOB = "/* for update of j */"
SKIP_LOCKED = "/* for update skip locked */"
COPY_FROM = 20
"""Rows from which on a COPY beats one INSERT of many values."""

_LOCKS = {
    LOCK: "FOR UPDATE",
    LOCK_JOB: "FOR UPDATE OF j",
    SKIP_LOCKED: "FOR UPDATE SKIP LOCKED",
}
_TYPE_NAMES = {
    "BYTEA": "bytea",
    "BIGINT": "int8",
    "SMALLINT": "int2",
    "BOOLEAN": "bool",
    "FLOAT": "float8",
    "VARCHAR": "text",
}
_load_numbers = count(1)


def is_postgres(connection: Connection) -> bool:
    """Tell which database a connection goes to."""
    return connection.dialect.name == "postgresql"


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    """Give a statement in PostgreSQL's words and its driver's marks."""
    for mark, words in _LOCKS.items():
        sql = sql.replace(mark, words)
    return sql.replace("IN ({ids})", "= ANY(?)").replace("?", "%s")


def create_load_tables(driver: psycopg.Connection[Any], tables: MetaData) -> None:
    """Make the temporary tables that rows are copied into before they meet a conflict.

    One transaction may load several times: rows are told apart by a number, which costs less than emptying the table.
    """
    statements: list[str] = []
    for name in [table.name for table in tables.sorted_tables if table.name in _LOADED]:
        statements.append(
            f"CREATE TEMPORARY TABLE load_{name} WITH (toast_tuple_target = 8160) ON COMMIT DELETE ROWS "
            f"AS SELECT *, NULL::int8 AS load_no FROM {name} WITH NO DATA"
        )
        if "body" in tables.tables[name].columns:
            statements.append(f"ALTER TABLE load_{name} ALTER COLUMN body SET STORAGE EXTERNAL")
    driver.execute("; ".join(statements).encode())


_LOADED = {"spans", "logs", "traces", "evaluations", "runs", "jobs", "decision_counts"}
"""Tables that many rows at once go into and that may hold some of them already."""


def insert(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    on_conflict: str | None,
    rows: Sequence[tuple[Any, ...]],
) -> int:
    """Insert rows; give how many were written."""
    if len(rows) < COPY_FROM or (on_conflict and table not in _LOADED):
        return _insert_values(connection, table, columns, on_conflict, rows)
    if on_conflict is None:
        _copy(connection, table, columns, rows)
        return len(rows)
    number = _load(connection, table, columns, rows)
    return connection.exec_driver_sql(_from_load(table, columns, on_conflict), (number,)).rowcount


def insert_new(
    connection: Connection, table: str, columns: tuple[str, ...], keys: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Insert the rows that are not there yet, and give them; of equal keys the first."""
    key_of = itemgetter(*(columns.index(key) for key in keys))
    # In the order of their keys, so that two transactions that bring the same rows do not wait for each other.
    ordered = {key_of(row): row for row in reversed(rows)}
    number = _load(connection, table, columns, [ordered[key] for key in sorted(ordered)])
    sql = f"{_from_load(table, columns, 'DO NOTHING')} RETURNING {', '.join(keys)}"
    return [ordered[tuple(row)] for row in connection.exec_driver_sql(sql, (number,))]


def update(
    connection: Connection,
    sql: str,
    table: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
) -> int:
    """Run an UPDATE whose ``{values}`` are rows, each column an array; give how many rows it wrote."""
    types = _types(table)
    arrays = ", ".join(f"%s::{types[column]}[]" for column in columns)
    values = f"unnest({arrays}) AS v({', '.join(columns)})"
    parameters = tuple(list(column) for column in zip(*rows, strict=True))
    return connection.exec_driver_sql(sql.replace("{values}", values), parameters).rowcount


def _insert_values(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    on_conflict: str | None,
    rows: Sequence[tuple[Any, ...]],
) -> int:
    group = f"({', '.join(['%s'] * len(columns))})"
    conflict = f" ON CONFLICT {on_conflict}" if on_conflict else ""
    written = 0
    for start in range(0, len(rows), 1000):  # a statement takes 65 535 values
        part = rows[start : start + 1000]
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([group] * len(part))}{conflict}"
        written += connection.exec_driver_sql(sql, tuple(value for row in part for value in row)).rowcount
    return written


def _load(connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> int:
    number = next(_load_numbers)
    _copy(connection, f"load_{table}", (*columns, "load_no"), [(*row, number) for row in rows])
    return number


def _copy(connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection.driver_connection
    types = _types(table.removeprefix("load_"))
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types([types[column] for column in columns])
        for row in rows:
            copy.write_row(row)


def _from_load(table: str, columns: tuple[str, ...], on_conflict: str) -> str:
    names = ", ".join(columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {names} FROM load_{table} WHERE load_no = %s ON CONFLICT {on_conflict}"
    )


@cache
def _types(table: str) -> dict[str, str]:
    found = _table(table)
    types = {column.name: _TYPE_NAMES[column.type.compile(dialect=postgresql_dialect())] for column in found.columns}
    return {**types, "load_no": "int8"}


def _table(name: str) -> Table:
    return SPANS.tables[name] if name in SPANS.tables else WORK.tables[name]
