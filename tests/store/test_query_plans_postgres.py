"""PostgreSQL chooses its plans by what it believes of a table; whatever it was told last, none reads rows in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from tests.store.hot import work_through
from tests.store.rows import NOW, OFFER, SECOND, claim, finish, finished, new_job, plan, replace_runs, run_record
from tracescore.bridge import run_sync
from tracescore.store import Offered, RunRecord, Store

COUNT = 1200
FEW = 60
"""Rows that a statement on a few may read and throw away: a page or two."""
TRACE = "33" * 16
OTHER = Offered(project="default", scorer_id="other", scorer_version="1")


@pytest.fixture
def store(fresh_postgres_url: str) -> Iterator[Store]:
    with Store.open(fresh_postgres_url) as opened:
        yield opened


@pytest.fixture
def in_vain() -> Iterator[dict[str, int]]:
    """By statement that runs meanwhile: how many rows a part of it read and threw away, at the worst."""
    found: dict[str, int] = {}
    explaining = False

    def explain(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        nonlocal explaining
        if explaining or statement.split()[0] not in ("SELECT", "UPDATE", "INSERT", "DELETE"):
            return
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as own:
            own.execute("SAVEPOINT explained")
            (rows,) = own.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).fetchone()
            own.execute("ROLLBACK TO explained")
        wasted = max(_wasted(rows[0]["Plan"]))
        found[statement] = max(wasted, found.get(statement, 0))

    event.listen(Engine, "before_cursor_execute", explain)
    yield found
    event.remove(Engine, "before_cursor_execute", explain)


def _wasted(node: Mapping[str, Any]) -> Iterator[int]:
    removed = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Join Filter", "Index Recheck"))
    yield int(removed * node["Actual Loops"])
    for part in node.get("Plans", ()):
        yield from _wasted(part)


def fill(store: Store, *, scorer_id: str) -> list[RunRecord]:
    runs = [run_record(f"{number}", trace_id=TRACE) for number in range(COUNT)]
    replace_runs(store, *runs, trace_id=TRACE)
    plan(store, *(new_job(run, scorer_id=scorer_id, due_at_ns=NOW - SECOND) for run in runs), cursor_seq=1)
    return runs


def done_before(store: Store) -> None:
    """All jobs were done when the tables were analyzed, and then many came."""
    fill(store, scorer_id="other")
    finish(store, *(finished(job, sinks=()) for job in claim(store, offers=[OTHER], limit=COUNT)))
    run_sync(store.control.analyze())


def never_analyzed(store: Store) -> None:
    """The database is new."""


@pytest.mark.parametrize("before", [never_analyzed, done_before])
def test_no_statement_reads_rows_in_vain(
    store: Store, in_vain: dict[str, int], before: Callable[[Store], None]
) -> None:
    before(store)
    in_vain.clear()
    fill(store, scorer_id=OFFER.scorer_id)
    at_once, of_one = dict(in_vain), in_vain
    in_vain.clear()
    work_through(store)

    # All at once may well read a table, but not for each of them.
    assert {sql: rows for sql, rows in at_once.items() if rows > COUNT} == {}
    assert {sql: rows for sql, rows in of_one.items() if rows > FEW} == {}
    assert len(of_one) > 50


def test_tables_are_looked_at_when_they_have_grown(store: Store) -> None:
    assert run_sync(store.control.analyze()) == []
    fill(store, scorer_id=OFFER.scorer_id)
    grown = run_sync(store.control.analyze())

    assert {"jobs", "runs"} <= set(grown)
    assert run_sync(store.control.analyze()) == []
    sql = "SELECT count(DISTINCT tablename) FROM pg_stats WHERE tablename IN ('jobs', 'runs')"
    assert run_sync(store.control._database.read(lambda connection: connection.exec_driver_sql(sql).scalar())) == 2
