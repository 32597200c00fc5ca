"""Statements on PostgreSQL: large rows go in by COPY, small ones as arrays, ids too; locks are asked for by name.

Statements are written once, for both databases. Where PostgreSQL must lock rows that SQLite's one writer holds anyway,
a statement carries a comment: ``LOCK``, ``LOCK_JOB`` or ``SKIP_LOCKED``, which SQLite passes over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, CursorResult, MetaData, Table
from sqlalchemy.dialects.postgresql import dialect as postgresql_dialect

from tracescore.store.schema import SPANS, WORK

if TYPE_CHECKING:
    import psycopg

LOCK = "/* for update */"
LOCK_JOB = "/* for update of j */"
SKIP_LOCKED = "/* for update skip locked */"
COPY_FROM = 20
"""Rows from which on a COPY, or arrays, beat one INSERT of many values."""

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
        statements.append(f"ALTER TABLE load_{name} ALTER COLUMN body SET STORAGE EXTERNAL")
    driver.execute("; ".join(statements).encode())


_LOADED = {"spans", "logs", "evaluations", "runs"}
"""Tables of large rows, many of which go in at once and may be there already; small rows go in as arrays."""


def insert(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    on_conflict: str | None,
    rows: Sequence[tuple[Any, ...]],
) -> int:
    """Insert rows; give how many were written."""
    if len(rows) < COPY_FROM:
        return _insert_values(connection, table, columns, on_conflict, rows).rowcount
    if on_conflict is None:
        _copy(connection, table, columns, rows)
        return len(rows)
    if table in _LOADED:
        number = _load(connection, table, columns, rows)
        return connection.exec_driver_sql(_from_load(table, columns, on_conflict), (number,)).rowcount
    sql = f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM {{values}} ON CONFLICT {on_conflict}"
    return run_with_values(connection, sql, table, columns, rows)


def insert_new(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    keys: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    known: Collection[bytes],
) -> list[tuple[Any, ...]]:
    """Insert the rows that are not there yet, and give them; of equal keys the first.

    ``known`` holds the values of the first key of which rows may be there. They are looked up, and the others copied
    straight into the table: by way of another table a row costs PostgreSQL twice as much. Where somebody else brings
    one of them at the same moment, the copy is undone and goes that way after all.
    """
    key_of = itemgetter(*(columns.index(key) for key in keys))
    # In the order of their keys, so that two transactions that bring the same rows do not wait for each other.
    ordered = {key_of(row): row for row in reversed(rows)}
    project = rows[0][columns.index("project")]
    returning = f"DO NOTHING RETURNING {', '.join(keys)}"
    if len(ordered) < COPY_FROM:
        written = _insert_values(connection, table, columns, returning, [ordered[key] for key in sorted(ordered)])
        return [ordered[tuple(row)] for row in written]
    there = _there(connection, table, keys, [key for key in ordered if key[0] in known], project)
    fresh = [ordered[key] for key in sorted(ordered.keys() - there)]
    if not fresh or _copied_straight(connection, table, columns, fresh):
        return fresh
    number = _load(connection, table, columns, fresh)
    written = connection.exec_driver_sql(_from_load(table, columns, returning), (number,))
    return [ordered[tuple(row)] for row in written]


def _there(
    connection: Connection, table: str, keys: tuple[str, ...], wanted: Sequence[tuple[Any, ...]], project: str
) -> set[tuple[Any, ...]]:
    # Found by the first two of the keys, which few rows share.
    if not wanted:
        return set()
    first, second = keys[:2]
    sql = (
        f"SELECT {', '.join(f't.{key}' for key in keys)} FROM unnest(%s::bytea[], %s::bytea[]) AS w({first}, {second}) "
        f"JOIN {table} AS t ON t.project = %s AND t.{first} = w.{first} AND t.{second} = w.{second}"
    )
    pairs = {key[:2] for key in wanted}
    values = ([pair[0] for pair in pairs], [pair[1] for pair in pairs], project)
    return {tuple(row) for row in connection.exec_driver_sql(sql, values)}


def _copied_straight(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> bool:
    from psycopg.errors import UniqueViolation

    connection.exec_driver_sql("SAVEPOINT straight")
    try:
        _copy(connection, table, columns, rows)
    except UniqueViolation:
        connection.exec_driver_sql("ROLLBACK TO straight; RELEASE straight")
        return False
    connection.exec_driver_sql("RELEASE straight")
    return True


def run_with_values(
    connection: Connection,
    sql: str,
    table: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
) -> int:
    """Run a statement whose ``{values}`` are rows, each column an array; give how many rows it wrote."""
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
) -> CursorResult[Any]:
    group = f"({', '.join(['%s'] * len(columns))})"
    conflict = f" ON CONFLICT {on_conflict}" if on_conflict else ""
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([group] * len(rows))}{conflict}"
    return connection.exec_driver_sql(sql, tuple(value for row in rows for value in row))


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
