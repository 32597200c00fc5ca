"""Runs: the settled set of each trace, and what a planner has not seen yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, literal, select, tuple_

from tracescore.store import schema
from tracescore.store.bulk import ByIds, query
from tracescore.store.columns import HexId
from tracescore.store.database import Database
from tracescore.store.encoding import is_id, page_limit, page_mark, read_page_mark, storable
from tracescore.store.records import Page, PlannableRun, ReplacedRuns, RunFilters, RunRecord, RunRow
from tracescore.store.replace_runs import Replacement, SessionClock, add_run, trace_key
from tracescore.store.sessions import session_key

_RUNS = schema.runs.c
_ROW = select(*(_RUNS[field.name] for field in fields(RunRow)))
_WITH_RUNS = ByIds(sql="SELECT DISTINCT settle_key FROM runs WHERE project = ? AND settle_key IN ({ids})")
_FORGET = ByIds(sql="DELETE FROM assemblies WHERE project = ? AND settle_key IN ({ids})")
_EQUAL = ("kind", "trace_id", "session_id", "agent_name", "service", "environment", "status", "outermost", "withdrawn")


class Runs:
    """Keep the newest revision of each run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def replace_runs(
        self,
        project: str,
        trace_id: str,
        version: int,
        runs: Sequence[RunRecord],
        *,
        now_ns: int | None = None,
        sessions: SessionClock | None = None,
    ) -> ReplacedRuns:
        """Make these the runs of a trace, as one step.

        A run that is gone is withdrawn: its pending jobs and its current scores are superseded. A revised run's
        pending live jobs are superseded too; its scores stand until the next ones. What is not settled stays as it is.
        Nothing changes where a later version of the trace was assembled before.
        """
        now = time.time_ns() if now_ns is None else now_ns
        return await self._database.write(
            Replacement(storable(project), trace_key(trace_id), version, runs, now_ns=now, sessions=sessions)
        )

    async def replace_session(
        self, project: str, session_id: str, version: int, run: RunRecord | None, *, now_ns: int
    ) -> ReplacedRuns:
        """Make this the run of a session, as ``replace_runs`` does; None withdraws it."""
        key = session_key(storable(session_id))
        runs = [] if run is None else [run]
        return await self._database.write(Replacement(storable(project), key, version, runs, now_ns=now_ns))

    async def kinds_of_trace(self, project: str, trace_id: str) -> frozenset[str]:
        """Give the kinds of the runs that a trace has, or had."""
        sql = "SELECT DISTINCT kind FROM runs WHERE project = ? AND settle_key = ?"
        values = (storable(project), trace_key(trace_id))
        return frozenset(row[0] for row in await self._database.read(lambda found: query(found, sql, *values)))

    async def add(self, project: str, run: RunRecord, *, now_ns: int | None = None) -> None:
        """Store a run that is in no trace's set (one span asked for by hand); no planner sees it."""
        now = time.time_ns() if now_ns is None else now_ns
        await self._database.write(lambda connection: add_run(connection, storable(project), run, now_ns=now))

    async def forget(self, project: str, trace_ids: Sequence[str]) -> set[str]:
        """Forget that these traces were assembled, but for those that have runs or had some; give the others.

        A trace that is dropped counts its versions anew when something comes for it, so none may be known of before.
        """
        name = storable(project)
        keys = {trace_key(trace_id): trace_id for trace_id in trace_ids}

        def operation(connection: Connection) -> set[str]:
            known = {row[0] for row in _WITH_RUNS.rows(connection, list(keys), name)}
            _FORGET.run(connection, [key for key in keys if key not in known], name)
            return {trace_id for key, trace_id in keys.items() if key not in known}

        return await self._database.write(operation)

    async def runs_after(self, project: str, seq: int, limit: int) -> list[PlannableRun]:
        """List what changed since ``seq``, in order; each run once, in its newest state."""
        sql = """SELECT seq, run_id, revision, first_arrival_ns, body, withdrawn, seen_states
            FROM runs WHERE project = ? AND seq > ? ORDER BY seq LIMIT ?"""

        def operation(connection: Connection) -> list[PlannableRun]:
            return [
                PlannableRun(
                    seq=row[0],
                    run_id=row[1].hex(),
                    revision=row[2],
                    first_arrival_ns=row[3],
                    body=row[4],
                    withdrawn=bool(row[5]),
                    changed=row[6] > 1,
                )
                for row in query(connection, sql, storable(project), seq, limit)
            ]

        return await self._database.read(operation)

    async def get(self, project: str, run_id: str) -> RunRow | None:
        """Read a run, a withdrawn one too."""
        if not is_id(run_id):
            return None
        statement = _ROW.where(_RUNS.project == storable(project), _RUNS.run_id == run_id)
        return await self._database.read(lambda connection: _first(connection.execute(statement).first()))

    async def get_for_target(self, project: str, trace_id: str, span_id: str | None = None) -> RunRow | None:
        """Read the run of a span, or the first outermost run of a trace."""
        if not is_id(trace_id) or (span_id is not None and not is_id(span_id, digits=16)):
            return None
        statement = _ROW.where(
            _RUNS.project == storable(project), _RUNS.trace_id == trace_id, _RUNS.withdrawn.is_(False)
        )
        if span_id is not None:
            statement = statement.where(_RUNS.span_id == span_id)
        statement = statement.order_by(
            (_RUNS.settle_key == trace_key(trace_id)).desc(),
            _RUNS.kind.in_(("agent", "trace")).desc(),
            _RUNS.outermost.desc(),
            _RUNS.started_ns,
            _RUNS.run_id,
        ).limit(1)
        return await self._database.read(lambda connection: _first(connection.execute(statement).first()))

    async def list(
        self, project: str, *, filters: RunFilters | None = None, limit: int = 50, after: str | None = None
    ) -> Page[RunRow]:
        """List runs, newest first; at most 500 at once.

        Raises:
            InputError: ``after`` is not what a page gave.
        """
        conditions = _conditions(filters or RunFilters())
        if conditions is None:
            return Page(items=())
        statement = _ROW.where(_RUNS.project == storable(project), *conditions)
        if after is not None:
            created_ns, run_id = read_page_mark(after)
            place = tuple_(literal(created_ns), literal(run_id, HexId))
            statement = statement.where(tuple_(_RUNS.created_ns, _RUNS.run_id) < place)
        count = page_limit(limit)
        statement = statement.order_by(_RUNS.created_ns.desc(), _RUNS.run_id.desc()).limit(count + 1)

        def operation(connection: Connection) -> Page[RunRow]:
            rows = [_run(row) for row in connection.execute(statement)]
            mark = page_mark(rows[count - 1].created_ns, rows[count - 1].run_id) if len(rows) > count else None
            return Page(items=tuple(rows[:count]), next=mark)

        return await self._database.read(operation)


def _conditions(filters: RunFilters) -> list[ColumnElement[bool]] | None:
    # None where nothing can match: an id that is no id.
    if filters.trace_id is not None and not is_id(filters.trace_id):
        return None
    conditions: list[ColumnElement[bool]] = []
    for name in _EQUAL:
        value = getattr(filters, name)
        if value is not None:
            conditions.append(_RUNS[name] == (storable(value) if isinstance(value, str) else value))
    if filters.since_ns is not None:
        conditions.append(_RUNS.started_ns >= filters.since_ns)
    if filters.until_ns is not None:
        conditions.append(_RUNS.started_ns < filters.until_ns)
    return conditions


def _first(row: Row[Any] | None) -> RunRow | None:
    return None if row is None else _run(row)


def _run(row: Row[Any]) -> RunRow:
    return RunRow(**row._mapping)
