"""What runs all the time must not read whole tables: the indexes are those that its statements use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.store.hot import work_through
from tracescore.store import Store

BIG = re.compile(
    r"SCAN (spans|logs|traces|evaluations|compacted|runs|jobs|scores|evidence|outbox|replies)\b"
    r"(?! USING INDEX ix_(traces_waiting|evaluations_due))"
)


@pytest.fixture
def plans(sqlite_store: Store) -> Iterator[dict[str, list[str]]]:
    """The query plan of every statement that runs meanwhile."""
    found: dict[str, list[str]] = {}

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.split()[0] in ("SELECT", "UPDATE", "INSERT", "DELETE"):
            rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found[statement] = [row[3] for row in rows]

    event.listen(Engine, "before_cursor_execute", explain)
    yield found
    event.remove(Engine, "before_cursor_execute", explain)


def test_no_whole_table_is_read(sqlite_store: Store, plans: dict[str, list[str]]) -> None:
    work_through(sqlite_store)

    assert {sql: steps for sql, steps in plans.items() if any(BIG.search(step) for step in steps)} == {}
    assert len(plans) > 50
