"""Backfills: planned chunk by chunk, each chunk's jobs and the mark of how far it came in one transaction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import Connection

from tracescore.errors import InputError
from tracescore.store import schema, schema_versions
from tracescore.store.bulk import BulkInsert, ByIds, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import LARGEST, id_bytes, is_id, new_id, storable
from tracescore.store.plan import Plan
from tracescore.store.records import (
    Backfill,
    BackfillMark,
    BackfillRun,
    BackfillSpec,
    BackfillStatus,
    BatchSummary,
    DecisionCount,
    NewJob,
)

_COLUMNS = """project, batch_id, scorer_id, scorer_version, spec, state, mark_ns, mark_id, total, seen, planned,
    skipped, left_out, created_ns"""
_INSERT_BATCH = BulkInsert.into(schema.batches)
_INSERT = BulkInsert.into(schema_versions.backfills)
_GET = f"SELECT {_COLUMNS} FROM backfills WHERE project = ? AND batch_id = ?"
_PLANNING = f"SELECT {_COLUMNS} FROM backfills WHERE project = ? AND state = 'planning' ORDER BY created_ns, batch_id"
_LIST = "SELECT batch_id, kind, created_ns FROM batches WHERE project = ? ORDER BY created_ns DESC, batch_id LIMIT ?"
_JOBS = "SELECT state, count(*) FROM jobs WHERE batch_id = ? GROUP BY state"
_BODIES = ByIds(sql="SELECT run_id, body FROM runs WHERE project = ? AND run_id IN ({ids})")
_ADVANCE = """UPDATE backfills SET mark_ns = ?, mark_id = ?, seen = seen + ?, left_out = left_out + ?
    WHERE batch_id = ? AND state = 'planning' AND mark_ns = ? AND mark_id = ?"""
_COUNT = """UPDATE backfills SET planned = planned + ?, skipped = skipped + ?, state = ? WHERE batch_id = ?"""
_OWN = ByIds(sql="UPDATE jobs SET batch_id = ? WHERE job_id IN ({ids})")
_CANCEL = "UPDATE backfills SET state = 'cancelled' WHERE project = ? AND batch_id = ?"
_CANCEL_JOBS = """UPDATE jobs SET state = 'cancelled', finished_ns = ?, error = 'its batch was cancelled'
    WHERE batch_id = ? AND project = ? AND state = 'pending'"""

_MISSED = """SELECT count(*) FROM (SELECT 1 FROM runs AS r WHERE {where} AND r.first_arrival_ns < ?
    AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.project = r.project AND j.run_id = r.run_id AND j.scorer_id = ?)
    AND NOT EXISTS (SELECT 1 FROM backfills AS b WHERE b.project = r.project AND b.scorer_id = ?
        AND b.created_ns >= r.created_ns) LIMIT ?) AS missed"""

_RUN_COLUMNS = {
    "agent": "agent_name",
    "service": "service",
    "environment": "environment",
    "session": "session_id",
    "status": "status",
}
"""What a rule's conditions are called in the table of runs; the others are in the run's body."""
_NESTING = {"agent", "trace", "workflow"}
"""Kinds of which a rule sees the outermost."""


class Backfills:
    """Keep backfills and how far they came."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, project: str, scorer_id: str, scorer_version: str, spec: BackfillSpec, *, now_ns: int | None = None
    ) -> Backfill:
        """Store a backfill of the runs that are stored by now; workers that offer the scorer plan it.

        Raises:
            InputError: what it looks for can stand in no run.
        """
        batch_id = new_id()
        created_ns = time.time_ns() if now_ns is None else now_ns
        key = (storable(project), id_bytes(batch_id))
        try:
            text = orjson.dumps(asdict(spec)).decode()
        except TypeError as error:
            raise InputError(
                "what the backfill looks for holds half a character, which no run that is stored has"
            ) from error

        def operation(connection: Connection) -> None:
            where, values = _runs_where(key[0], spec)
            ((total,),) = query(
                connection, f"SELECT count(*) FROM runs AS r WHERE {where} AND r.created_ns <= ?", *values, created_ns
            )
            scorer = (storable(scorer_id), storable(scorer_version))
            begin = (created_ns + 1, b"\x00" * 16)
            _INSERT_BATCH.run(connection, [(*key, "backfill", "open", None, created_ns)])
            _INSERT.run(connection, [(*key, *scorer, text, "planning", *begin, total, 0, 0, 0, 0, created_ns)])

        await self._database.write(operation)
        made = await self.get(project, batch_id)
        assert made is not None
        return made

    async def get(self, project: str, batch_id: str) -> Backfill | None:
        """Read a backfill."""
        if not is_id(batch_id):
            return None
        key = (storable(project), id_bytes(batch_id))
        rows = await self._database.read(lambda connection: query(connection, _GET, *key))
        return _backfill(rows[0]) if rows else None

    async def missed(self, project: str, scorer_id: str, spec: BackfillSpec, *, before_ns: int, most: int) -> int:
        """Count runs that came before a time and were never planned for a scorer, nor asked of a backfill of it.

        Counts no further than ``most``; conditions that are not columns of a run are not looked at.
        """
        where, values = _runs_where(storable(project), spec)
        if "status" not in spec.where:
            where += " AND r.status <> 'paused'"
        sql, scorer = _MISSED.format(where=where), storable(scorer_id)
        ((count,),) = await self._database.read(
            lambda connection: query(connection, sql, *values, before_ns, scorer, scorer, most)
        )
        return count

    async def planning(self, project: str) -> list[Backfill]:
        """List the backfills that are not planned to their end, oldest first."""
        rows = await self._database.read(lambda connection: query(connection, _PLANNING, storable(project)))
        return [_backfill(row) for row in rows]

    async def status(self, project: str, batch_id: str) -> BackfillStatus | None:
        """Read a backfill with its jobs by state."""
        if not is_id(batch_id):
            return None
        key = (storable(project), id_bytes(batch_id))

        def operation(connection: Connection) -> BackfillStatus | None:
            rows = query(connection, _GET, *key)
            if not rows:
                return None
            return BackfillStatus(backfill=_backfill(rows[0]), jobs=dict(query(connection, _JOBS, key[1])))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # rows of two

        return await self._database.read(operation)

    async def batches(self, project: str, *, limit: int = 50) -> list[BatchSummary]:
        """List batches of every kind, newest first."""
        rows = await self._database.read(lambda connection: query(connection, _LIST, storable(project), limit))
        return [BatchSummary(batch_id=row[0].hex(), kind=row[1], created_ns=row[2]) for row in rows]

    async def runs(self, backfill: Backfill, limit: int) -> list[BackfillRun]:
        """List the next runs that may belong to a backfill, newest first."""
        project, spec, mark = storable(backfill.project), backfill.spec, backfill.mark
        where, values = _runs_where(project, spec)
        sql = f"""SELECT r.created_ns, r.run_id, r.revision, EXISTS(SELECT 1 FROM scores AS s
                WHERE s.project = r.project AND s.run_id = r.run_id AND s.scorer_id = ? AND s.name = ''
                AND s.current_flag = 1 AND s.scorer_version = ? AND s.standing_revision >= r.revision)
            FROM runs AS r WHERE {where} AND (r.created_ns, r.run_id) < (?, ?)
            ORDER BY r.created_ns DESC, r.run_id DESC LIMIT ?"""
        scorer = (storable(backfill.scorer_id), storable(backfill.scorer_version))
        place = (mark.created_ns, id_bytes(mark.run_id))
        always = spec.sample_rate < 1 or not spec.where.keys() <= _RUN_COLUMNS.keys()

        def operation(connection: Connection) -> list[BackfillRun]:
            rows = query(connection, sql, *scorer, *values, *place, limit)
            wanted = [row[1] for row in rows if always or not row[3]]
            bodies = dict(_BODIES.rows(connection, wanted, project))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            return [
                BackfillRun(
                    created_ns=row[0],
                    run_id=row[1].hex(),
                    revision=row[2],
                    scored=bool(row[3]),
                    body=bodies.get(row[1]),
                )
                for row in rows
            ]

        return await self._database.read(operation)

    async def plan(
        self,
        backfill: Backfill,
        jobs: Sequence[NewJob],
        *,
        app: str,
        mark: BackfillMark,
        seen: int,
        skipped: int,
        left_out: int,
        last: bool,
        counts: Sequence[DecisionCount] = (),
        now_ns: int | None = None,
    ) -> list[str] | None:
        """Insert a chunk's jobs and move on, as one step; give the ids of those that are owed work now.

        None, and nothing written, where another moved on before from the same mark, or the backfill was cancelled.
        """
        batch_id = id_bytes(backfill.batch_id)
        planning = Plan(
            storable(backfill.project),
            storable(app),
            jobs,
            cursor_seq=None,
            counts=counts,
            retired=(),
            now_ns=time.time_ns() if now_ns is None else now_ns,
        )
        before = (backfill.mark.created_ns, id_bytes(backfill.mark.run_id))

        def operation(connection: Connection) -> list[str] | None:
            after = (mark.created_ns, id_bytes(mark.run_id))
            if not execute(connection, _ADVANCE, *after, seen, left_out, batch_id, *before):
                return None
            owed = planning(connection)
            _OWN.run(connection, [id_bytes(job_id) for job_id in owed], batch_id)
            limit = backfill.spec.limit
            ends = last or (limit is not None and backfill.planned + len(owed) >= limit)
            known = skipped + len(jobs) - len(owed)
            execute(connection, _COUNT, len(owed), known, "planned" if ends else "planning", batch_id)
            return owed

        return await self._database.write(operation)

    async def cancel(self, project: str, batch_id: str, *, now_ns: int | None = None) -> int:
        """Plan no more of a batch of any kind and cancel its pending jobs; give how many. What is held goes on."""
        key = (storable(project), id_bytes(batch_id))
        ended_ns = time.time_ns() if now_ns is None else now_ns

        def operation(connection: Connection) -> int:
            execute(connection, _CANCEL, *key)
            return execute(connection, _CANCEL_JOBS, ended_ns, key[1], key[0])

        return await self._database.write(operation)


def _runs_where(project: str, spec: BackfillSpec) -> tuple[str, list[Any]]:
    """Give what the table of runs can say of a spec; the planner asks the rule itself for the rest."""
    kinds = ("agent", "trace") if spec.kind is None else (spec.kind,)
    parts = ["r.project = ?", "NOT r.withdrawn", f"r.kind IN ({', '.join('?' * len(kinds))})"]
    values: list[Any] = [project, *kinds]
    if "agent" not in spec.where and set(kinds) <= _NESTING:
        parts.append("r.outermost")
    for key, wanted in spec.where.items():
        column = _RUN_COLUMNS.get(key)
        if column is None:
            continue
        texts = [storable(value) for value in wanted if isinstance(value, str)]
        options = [f"r.{column} IN ({', '.join('?' * len(texts))})"] if texts else []
        if None in wanted:
            options.append(f"r.{column} IS NULL")
        parts.append(f"({' OR '.join(options or ['1 = 0'])})")
        values += texts
    parts.append("r.started_ns >= ? AND r.started_ns < ?")
    since_ns = -LARGEST if spec.since_ns is None else spec.since_ns
    return " AND ".join(parts), [*values, since_ns, LARGEST if spec.until_ns is None else spec.until_ns]


def _backfill(row: tuple[Any, ...]) -> Backfill:
    return Backfill(
        project=row[0],
        batch_id=row[1].hex(),
        scorer_id=row[2],
        scorer_version=row[3],
        spec=BackfillSpec(**orjson.loads(row[4])),
        state=row[5],
        mark=BackfillMark(created_ns=row[6], run_id=row[7].hex()),
        total=row[8],
        seen=row[9],
        planned=row[10],
        skipped=row[11],
        left_out=row[12],
        created_ns=row[13],
    )
