"""What the database believes of its tables: PostgreSQL plans by it, and of a new table it believes nothing true."""

from __future__ import annotations

from sqlalchemy import Connection

from tracescore.store.bulk import query
from tracescore.store.postgres_sql import is_postgres
from tracescore.store.schema import SPANS, WORK

_TABLES = sorted({**SPANS.tables, **WORK.tables})
_MARKS = ", ".join("?" * len(_TABLES))
# By size and not by the counts of what was changed, which sessions hand in a second later or when they idle.
_GROWN = f"""SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname IN ({_MARKS})
    AND pg_relation_size(oid) / current_setting('block_size')::int8 > 2 * relpages + 16 ORDER BY relname"""


def analyze_grown(connection: Connection) -> list[str]:
    """Have tables looked at that have doubled since they last were, and give their names; nothing on SQLite.

    Autovacuum does the same, but within a minute of a new table's first rows at the earliest: until then finishing a
    group of jobs takes two to four times as long. A table that somebody else looks at is left to them.
    """
    if not is_postgres(connection):
        return []
    grown = [str(row[0]) for row in query(connection, _GROWN, *_TABLES)]
    if grown:
        connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {', '.join(grown)}")
        connection.exec_driver_sql("COMMIT")  # a reader undoes what it did, what was found out among it
    return grown
