"""Jobs: planned once, held by one worker at a time, finished once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from sqlalchemy import Connection, Row, select

from tracescore.store import schema
from tracescore.store.bulk import BulkUpdate, ByIds, execute, query
from tracescore.store.claim import Claim, choose, offer_keys
from tracescore.store.database import Database
from tracescore.store.encoding import id_bytes, is_id, storable
from tracescore.store.finish import Finish
from tracescore.store.plan import QUEUES, Plan
from tracescore.store.postgres_sql import LOCK
from tracescore.store.records import (
    ClaimedJob,
    DecisionCount,
    DueJob,
    FinishedJob,
    JobRow,
    JobState,
    NewJob,
    Offered,
    Retired,
)

_JOBS = schema.jobs.c
_ROW = select(*(_JOBS[field.name] for field in fields(JobRow)))

_RENEW = BulkUpdate(
    table="jobs",
    keys=("job_id", "token"),
    values=("due_at_ns", "leased_by"),
    assign="due_at_ns = v.due_at_ns",
    where="jobs.state = 'leased' AND jobs.leased_by = v.leased_by",
)
_LOCK = ByIds(sql=f"SELECT job_id FROM jobs WHERE job_id IN ({{ids}}) ORDER BY job_id {LOCK}")
_HELD = ByIds(
    sql=f"SELECT job_id, token FROM jobs WHERE {schema.STATE} = 'leased' AND leased_by = ? AND job_id IN ({{ids}})"
)
_RELEASE = BulkUpdate(
    table="jobs",
    keys=("job_id", "token"),
    values=("due_at_ns", "error"),
    assign="state = 'pending', due_at_ns = v.due_at_ns, error = v.error, leased_by = NULL, "
    "leases_taken = leases_taken - 1",
    where="jobs.state = 'leased'",
)
_DUE = """SELECT job_id FROM jobs WHERE state IN ('pending', 'leased') AND queue = ? AND due_at_ns <= ? LIMIT ?"""
_SAVE_REPLY = """INSERT INTO replies (job_id, step, prompt_hash, reply) VALUES (?, ?, ?, ?)
    ON CONFLICT (job_id, step, prompt_hash) DO UPDATE SET reply = excluded.reply"""


class Jobs:
    """Keep what is owed a result."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def plan(
        self,
        project: str,
        app: str,
        jobs: Sequence[NewJob],
        *,
        cursor_seq: int | None = None,
        counts: Sequence[DecisionCount] = (),
        retired: Sequence[Retired] = (),
        sinks: Sequence[str] = (),
        now_ns: int | None = None,
    ) -> list[str]:
        """Insert jobs and move the app's cursor, as one step; give the ids of those that are owed work now.

        A job that was planned before stays as it is, but for two cases: superseded, it is pending again; ended, its
        outcome becomes the current one again, and the ``sinks`` are owed it. Older pending live jobs of the same run
        and scorer are superseded. A live job for a run that has changed since is left out: its newer state will be
        planned. A job of another source is kept through revisions and judges the run as it is when it is claimed.
        """
        plan = Plan(
            storable(project),
            storable(app),
            jobs,
            cursor_seq=cursor_seq,
            counts=counts,
            retired=retired,
            sinks=sinks,
            now_ns=time.time_ns() if now_ns is None else now_ns,
        )
        return await self._database.write(plan)

    async def claim(
        self,
        offers: Sequence[Offered],
        *,
        worker: str,
        now_ns: int,
        lease_ns: int,
        limit: int,
        prefer: Sequence[str] = (),
    ) -> list[ClaimedJob]:
        """Take due jobs that are offered: live before backfill, preferred ids first, then by due time."""
        if not offers or limit <= 0:
            return []
        return await self._database.write(
            Claim(offers, worker=worker, now_ns=now_ns, lease_ns=lease_ns, limit=limit, prefer=prefer)
        )

    async def renew(self, worker: str, jobs: Sequence[tuple[str, int]], *, until_ns: int) -> set[str]:
        """Hold jobs longer, each given with its token; give the ids of those still held."""
        keys = [(id_bytes(job_id), token) for job_id, token in jobs]

        def operation(connection: Connection) -> set[str]:
            _LOCK.lock(connection, [key[0] for key in keys])
            _RENEW.run(connection, [(*key, until_ns, worker) for key in keys])
            held = {(row[0], row[1]) for row in _HELD.rows(connection, [key[0] for key in keys], worker)}
            return {job_id.hex() for job_id, token in keys if (job_id, token) in held}

        return await self._database.write(operation)

    async def release(self, jobs: Sequence[tuple[str, int]], *, due_at_ns: int, error: str | None = None) -> None:
        """Give jobs back unscored: they are due at ``due_at_ns``, and the lease does not count."""
        why = None if error is None else storable(error)
        rows = [(id_bytes(job_id), token, due_at_ns, why) for job_id, token in jobs]

        def operation(connection: Connection) -> None:
            _LOCK.lock(connection, [row[0] for row in rows])
            _RELEASE.run(connection, rows)

        await self._database.write(operation)

    async def finish(self, finished: Sequence[FinishedJob]) -> set[str]:
        """End jobs, each with its scores and what its sinks are owed, as one step; give the ids of those written.

        A job whose lease was lost writes nothing.
        """
        return await self._database.write(Finish(finished)) if finished else set()

    async def due(self, *, now_ns: int, limit: int, offers: Sequence[Offered] | None = None) -> list[DueJob]:
        """List jobs that could be claimed now, live first; of all scorers where no offers are given."""
        keys = None if offers is None else offer_keys(offers)

        def operation(connection: Connection) -> list[DueJob]:
            found: list[DueJob] = []
            for number, queue in enumerate(QUEUES):
                room = limit - len(found)
                if keys is None:
                    ids = [row[0] for row in query(connection, _DUE, number, now_ns, room)]
                else:
                    ids = choose(connection, keys, queue=number, now_ns=now_ns, limit=room)
                found += [DueJob(job_id=job_id.hex(), queue=queue) for job_id in ids]
            return found

        return await self._database.read(operation)

    async def counts(self, project: str | None = None) -> Mapping[JobState, int]:
        """Count jobs by state; states without jobs are there with 0."""
        where, values = ("", ()) if project is None else ("WHERE project = ?", (storable(project),))
        sql = f"SELECT state, count(*) FROM jobs {where} GROUP BY state"

        def operation(connection: Connection) -> dict[JobState, int]:
            counts: dict[JobState, int] = dict.fromkeys(get_args(JobState), 0)
            counts.update((row[0], row[1]) for row in query(connection, sql, *values))
            return counts

        return await self._database.read(operation)

    async def for_runs(self, project: str, run_ids: Sequence[str]) -> list[JobRow]:
        """List the jobs of runs, oldest first."""
        ids = sorted({run_id for run_id in run_ids if is_id(run_id)})

        def operation(connection: Connection) -> list[JobRow]:
            found: list[JobRow] = []
            for start in range(0, len(ids), 200):
                statement = _ROW.where(_JOBS.project == storable(project), _JOBS.run_id.in_(ids[start : start + 200]))
                found += [_job(row) for row in connection.execute(statement)]
            return sorted(found, key=lambda job: (job.created_ns, job.job_id))

        return await self._database.read(operation)

    async def load_replies(self, job_id: str) -> dict[tuple[str, str], str]:
        """Read what prompt steps of a job were answered, by step and prompt hash."""
        sql = "SELECT step, prompt_hash, reply FROM replies WHERE job_id = ?"
        rows = await self._database.read(lambda connection: query(connection, sql, id_bytes(job_id)))
        return {(row[0], row[1]): row[2].decode("utf-8", "surrogatepass") for row in rows}

    async def save_reply(self, job_id: str, step: str, prompt_hash: str, reply: str) -> None:
        """Keep a prompt step's reply."""
        values = (id_bytes(job_id), step, prompt_hash, reply.encode("utf-8", "surrogatepass"))
        await self._database.write(lambda connection: execute(connection, _SAVE_REPLY, *values))

    async def cursor(self, project: str, app: str) -> int:
        """Read how far an app has planned; 0 at first."""
        sql = "SELECT seq FROM cursors WHERE project = ? AND app = ?"
        rows = await self._database.read(lambda connection: query(connection, sql, storable(project), storable(app)))
        return rows[0][0] if rows else 0


def _job(row: Row[Any]) -> JobRow:
    values = dict(row._mapping)
    return JobRow(**{**values, "queue": QUEUES[values["queue"]]})
