"""Spans and logs as they come in, and the traces they make."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection

from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.store import schema
from tracescore.store.bulk import BulkUpdate, ByIds, execute, query
from tracescore.store.compacted import Copy, read_copies
from tracescore.store.database import Database
from tracescore.store.encoding import id_bytes, is_id, storable
from tracescore.store.externals import JOIN_AGAIN
from tracescore.store.ingest import Intake
from tracescore.store.postgres_sql import SKIP_LOCKED
from tracescore.store.records import (
    Ingested,
    PendingTrace,
    SettledTrace,
    StoredLog,
    StoredSpan,
    StoredTrace,
    TraceClaim,
    TraceCounts,
    TraceSeen,
)

MAX_COPIES_READ = 8

_CLAIM = f"""UPDATE traces SET ready_at_ns = ? WHERE (project, trace_id) IN (
    SELECT project, trace_id FROM traces WHERE stage = 0 AND ready_at_ns IS NOT NULL AND ready_at_ns <= ?
    ORDER BY ready_at_ns LIMIT ? {SKIP_LOCKED})
    RETURNING project, trace_id, version"""
# A trace that something came for since it was claimed keeps the time that its ingest set.
_SETTLE = BulkUpdate(
    table="traces",
    keys=("project", "trace_id"),
    values=("version", "ready_at_ns", "stage"),
    assign="""ready_at_ns = CASE
        WHEN traces.version = v.version THEN v.ready_at_ns
        WHEN traces.ready_at_ns < v.ready_at_ns THEN traces.ready_at_ns
        ELSE coalesce(v.ready_at_ns, traces.ready_at_ns) END,
        stage = CASE WHEN traces.version = v.version THEN v.stage ELSE traces.stage END""",
)

_LOOK_AGAIN = ByIds(
    sql="UPDATE traces SET ready_at_ns = ?, stage = 0, version = version + 1 WHERE project = ? AND trace_id IN ({ids})"
)


class Spans:
    """Keep the distinct copies of each span, and when each trace is to be looked at."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ingest(
        self,
        project: str,
        spans: Sequence[SpanRow],
        logs: Sequence[LogRow],
        evaluations: Sequence[EvaluationRow] = (),
        *,
        now_ns: int,
        quiet_ns: int,
    ) -> Ingested:
        """Store what is new, durably when this returns; evaluations change nothing of their traces.

        Raises:
            StoreUnavailable: the store is full, locked or down; nothing was kept.
        """
        if not spans and not logs and not evaluations:
            return Ingested(new_spans=0, new_logs=0)
        intake = Intake(storable(project), spans, logs, evaluations, now_ns=now_ns, quiet_ns=quiet_ns)
        return await self._database.write(intake)

    async def complete(self, project: str, trace_id: str, *, now_ns: int) -> bool:
        """Note that nothing more will come; False for a trace that is not stored."""
        if not is_id(trace_id):
            return False

        def operation(connection: Connection) -> bool:
            # The version counts too, or an assembly that is under way would settle the trace without this.
            return bool(
                execute(
                    connection,
                    "UPDATE traces SET complete = ?, ready_at_ns = ?, stage = 0, version = version + 1 "
                    "WHERE project = ? AND trace_id = ?",
                    *(True, now_ns, storable(project), id_bytes(trace_id)),
                )
            )

        return await self._database.write(operation)

    async def look_again(self, project: str, trace_ids: Sequence[str], *, now_ns: int) -> None:
        """Have traces assembled once more: runs of other traces have changed that theirs have to do with."""
        # The version counts too, or an assembly that is under way would settle them without this.
        ids = sorted(id_bytes(trace_id) for trace_id in trace_ids)
        await self._database.write(lambda connection: _LOOK_AGAIN.run(connection, ids, now_ns, storable(project)))

    async def claim_traces(self, *, now_ns: int, limit: int, lease_ns: int) -> list[TraceClaim]:
        """Take traces that are due, longest due first; each is hidden until its lease ends or it is settled."""

        def operation(connection: Connection) -> list[TraceClaim]:
            rows = query(connection, _CLAIM, now_ns + lease_ns, now_ns, limit)
            return [TraceClaim(project=row[0], trace_id=row[1].hex(), version=row[2]) for row in rows]

        return await self._database.write(operation)

    async def load_trace(self, project: str, trace_id: str) -> StoredTrace | None:
        """Read a trace; None where nothing of it is stored."""
        if not is_id(trace_id):
            return None
        key = (storable(project), id_bytes(trace_id))

        def operation(connection: Connection) -> StoredTrace | None:
            where = "WHERE project = ? AND trace_id = ?"
            found = query(connection, f"SELECT version, complete, capped FROM traces {where}", *key)
            if not found:
                return None
            spans, logs = read_copies(connection, *key)
            version, complete, capped = found[0]
            return StoredTrace(
                trace_id=trace_id,
                version=version,
                spans=tuple(_span(span_id, list(rows)) for span_id, rows in groupby(spans, key=itemgetter(0))),
                logs=tuple(StoredLog(span_id=row[0].hex(), body=row[2], arrived_ns=row[3]) for row in logs),
                complete=bool(complete),
                capped=bool(capped),
            )

        return await self._database.read(operation)

    async def settle_traces(self, settled: Sequence[SettledTrace]) -> None:
        """Say when each trace is due next; one that something came for since stays due."""
        rows = [
            (
                storable(trace.project),
                id_bytes(trace.trace_id),
                trace.version,
                trace.next_check_ns,
                schema.STAGES[trace.then],
            )
            for trace in settled
        ]
        changed: dict[str, list[bytes]] = {}
        for trace in settled:
            if trace.changed:
                changed.setdefault(storable(trace.project), []).append(id_bytes(trace.trace_id))
        now_ns = time.time_ns()

        def operation(connection: Connection) -> None:
            _SETTLE.run(connection, rows)
            for project, trace_ids in sorted(changed.items()):
                JOIN_AGAIN.run(connection, sorted(trace_ids), now_ns, project)

        await self._database.write(operation)

    async def trace_counts(self, project: str | None = None, *, now_ns: int | None = None) -> TraceCounts:
        """Count what is stored and waiting."""
        now = time.time_ns() if now_ns is None else now_ns
        where, values = ("", ()) if project is None else (" WHERE project = ?", (storable(project),))

        def operation(connection: Connection) -> TraceCounts:
            sql = f"""SELECT count(*), cast(coalesce(sum(span_count), 0) AS bigint),
                cast(coalesce(sum(log_count), 0) AS bigint),
                count(CASE WHEN stage = 0 THEN ready_at_ns END),
                count(CASE WHEN stage = 0 AND ready_at_ns <= ? THEN 1 END),
                min(CASE WHEN stage = 0 THEN ready_at_ns END) FROM traces{where}"""
            (row,) = query(connection, sql, now, *values)
            return TraceCounts(
                traces=row[0],
                spans=row[1],
                logs=row[2],
                settling=row[3],
                due=row[4],
                oldest_due_ns=row[5] if row[4] else None,
            )

        return await self._database.read(operation)

    async def sample(self, project: str, *, limit: int) -> list[TraceSeen]:
        """Give the newest traces, and as many others of any time; each trace's row is read, and no span."""
        sql = "SELECT trace_id, last_arrival_ns FROM traces WHERE project = ? ORDER BY {} LIMIT ?"

        def operation(connection: Connection) -> list[TraceSeen]:
            found: dict[bytes, int] = {}
            for order in ("last_arrival_ns DESC", "trace_id"):  # ids are random: their first ones are of any time
                found.update(query(connection, sql.format(order), storable(project), limit))
            return [TraceSeen(trace_id=key.hex(), last_arrival_ns=last) for key, last in found.items()]

        return await self._database.read(operation)

    async def pending(self, project: str, *, limit: int = 100) -> list[PendingTrace]:
        """List traces that are still settling, next due first."""
        # The expression keeps the planner from the key, which would read every trace of the project.
        sql = """SELECT project, trace_id, version, span_count, first_arrival_ns, last_arrival_ns, ready_at_ns
            FROM traces WHERE stage = 0 AND ready_at_ns IS NOT NULL AND project || '' = ?
            ORDER BY ready_at_ns LIMIT ?"""

        def operation(connection: Connection) -> list[PendingTrace]:
            return [
                PendingTrace(
                    project=row[0],
                    trace_id=row[1].hex(),
                    version=row[2],
                    span_count=row[3],
                    first_arrival_ns=row[4],
                    last_arrival_ns=row[5],
                    ready_at_ns=row[6],
                )
                for row in query(connection, sql, storable(project), limit)
            ]

        return await self._database.read(operation)


def _span(span_id: bytes, rows: Sequence[Copy]) -> StoredSpan:
    arrivals = [row[3] for row in rows]
    return StoredSpan(
        span_id=span_id.hex(),
        copies=tuple(row[2] for row in rows[:MAX_COPIES_READ]),
        arrived_ns=min(arrivals),
        last_arrived_ns=max(arrivals),
    )
