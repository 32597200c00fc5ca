"""Versions that are offered, jobs that wait for one that is not, and their handing over to another version."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from tracescore.store import schema_versions
from tracescore.store.bulk import BulkInsert, BulkUpdate, ByIds, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import id_bytes, storable
from tracescore.store.plan import QUEUES, Plan
from tracescore.store.records import DescribedVersion, NewJob, Offered, OfferedVersion, WaitingJob, WaitingJobs
from tracescore.store.schema import STATE

_VERSIONS = "SELECT scorer_id, scorer_version, since_ns, seen_ns FROM offered_versions WHERE project = ?"
_DESCRIBE = BulkInsert.into(schema_versions.described_versions, on_conflict="DO NOTHING")
_DESCRIBED = """SELECT d.scorer_version, d.body, COALESCE(o.seen_ns, 0)
    FROM described_versions AS d LEFT JOIN offered_versions AS o
        ON o.project = d.project AND o.scorer_id = d.scorer_id AND o.scorer_version = d.scorer_version
    WHERE d.project = ? AND d.scorer_id = ? ORDER BY 3 DESC, d.scorer_version"""
_LIVE = "SELECT DISTINCT project, scorer_id, scorer_version FROM offers WHERE seen_ns >= ?"
# Group by group along the index: to list the groups of a million jobs reads a few rows of it.
_NEXT = """SELECT scorer_id, scorer_version FROM jobs WHERE state IN ('pending', 'leased') AND project = ?
    AND (scorer_id, scorer_version) > (?, ?) ORDER BY scorer_id, scorer_version LIMIT 1"""
_COUNT = """SELECT count(*) FROM jobs WHERE state IN ('pending', 'leased') AND project = ? AND scorer_id = ?
    AND scorer_version = ? AND due_at_ns <= ?"""
_WAITING = """SELECT j.job_id, j.run_id, j.revision, j.probability, j.source, j.queue, j.generation, j.batch_id,
        r.revision, r.withdrawn, r.body
    FROM jobs AS j LEFT JOIN runs AS r ON r.project = j.project AND r.run_id = j.run_id
    WHERE j.state IN ('pending', 'leased') AND j.project = ? AND j.scorer_id = ? AND j.scorer_version = ?
    AND j.due_at_ns <= ? LIMIT ?"""
_SUPERSEDE = ByIds(
    sql=f"""UPDATE jobs SET state = 'superseded', finished_ns = ?, leased_by = NULL, error = ?
    WHERE {STATE} IN ('pending', 'leased') AND due_at_ns <= ? AND job_id IN ({{ids}})"""
)
_TAKEN = ByIds(
    sql="SELECT job_id FROM jobs WHERE state = 'superseded' AND finished_ns = ? AND error = ? AND job_id IN ({ids})"
)
_OWN = BulkUpdate(table="jobs", keys=("job_id",), values=("batch_id",), assign="batch_id = v.batch_id")
_FOLLOW = "UPDATE batch_items SET job_id = ? WHERE batch_id = ? AND job_id = ?"
_BACKFILLS = """UPDATE backfills SET scorer_version = ?
    WHERE project = ? AND scorer_id = ? AND scorer_version = ? AND state = 'planning'"""


class OfferedVersions:
    """Keep since when versions are offered, and what waits for one that is not."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def versions(self, project: str) -> list[OfferedVersion]:
        """List every version that was ever offered in a project."""
        rows = await self._database.read(lambda connection: query(connection, _VERSIONS, storable(project)))
        return [OfferedVersion(scorer_id=row[0], version=row[1], since_ns=row[2], seen_ns=row[3]) for row in rows]

    async def live(self, since_ns: int) -> list[Offered]:
        """List what workers that were seen since offer, in all projects."""
        rows = await self._database.read(lambda connection: query(connection, _LIVE, since_ns))
        return [Offered(project=row[0], scorer_id=row[1], scorer_version=row[2]) for row in rows]

    async def describe(self, project: str, versions: Sequence[DescribedVersion]) -> None:
        """Keep what versions are made of; what is kept of a version already stays."""
        rows = [
            (storable(project), storable(one.scorer_id), storable(one.version), zlib.compress(one.body))
            for one in versions
        ]
        await self._database.write(lambda connection: _DESCRIBE.run(connection, rows))

    async def described(self, project: str, scorer_id: str) -> list[DescribedVersion]:
        """List what the versions of a scorer were made of, the one that was offered last first."""
        values = (storable(project), storable(scorer_id))
        rows = await self._database.read(lambda connection: query(connection, _DESCRIBED, *values))
        return [
            DescribedVersion(scorer_id=scorer_id, version=row[0], body=zlib.decompress(row[1]), seen_ns=row[2])
            for row in rows
        ]

    async def waiting(self, project: str, *, now_ns: int, offered: Sequence[Offered] = ()) -> list[WaitingJobs]:
        """Count the jobs that are due and held by nobody, by scorer and version; but those of what is offered."""
        key = storable(project)
        known = {(storable(offer.scorer_id), storable(offer.scorer_version)) for offer in offered}

        def operation(connection: Connection) -> list[WaitingJobs]:
            found: list[WaitingJobs] = []
            group: tuple[str, str] = ("", "")
            while rows := query(connection, _NEXT, key, *group):
                group = (rows[0][0], rows[0][1])
                if group in known:  # there may be very many, and nobody asks how many
                    continue
                ((count,),) = query(connection, _COUNT, key, *group, now_ns)
                if count:
                    found.append(WaitingJobs(scorer_id=group[0], version=group[1], count=count))
            return found

        return await self._database.read(operation)

    async def waiting_jobs(
        self, project: str, scorer_id: str, version: str, *, now_ns: int, limit: int
    ) -> list[WaitingJob]:
        """List jobs of a version that are due and held by nobody, each with its run."""
        key = (storable(project), storable(scorer_id), storable(version))
        rows = await self._database.read(lambda connection: query(connection, _WAITING, *key, now_ns, limit))
        return [
            WaitingJob(
                job_id=row[0].hex(),
                run_id=row[1].hex(),
                revision=row[2],
                probability=row[3],
                source=row[4],
                queue=QUEUES[row[5]],
                generation=row[6],
                batch_id=None if row[7] is None else row[7].hex(),
                run_revision=row[8],
                withdrawn=bool(row[9]),
                body=row[10],
            )
            for row in rows
        ]

    async def hand_over(
        self,
        project: str,
        scorer_id: str,
        *,
        old: str,
        new: str,
        jobs: Mapping[str, NewJob | None],
        app: str,
        now_ns: int | None = None,
    ) -> list[str]:
        """Supersede jobs of an old version, each by its new one where it has one, as one step.

        What is claimed meanwhile stays as it is. Backfills that are being planned go on with the new version. Gives the
        ids of the new jobs that are owed work.
        """
        at_ns = time.time_ns() if now_ns is None else now_ns
        why = storable(f"version {new} was offered in its place")
        ids = [id_bytes(job_id) for job_id in jobs]

        def operation(connection: Connection) -> list[str]:
            _SUPERSEDE.run(connection, ids, at_ns, why, at_ns)
            taken = {row[0].hex() for row in _TAKEN.rows(connection, ids, at_ns, why)}
            replaced = [(old_id, job) for old_id, job in jobs.items() if job is not None and old_id in taken]
            execute(connection, _BACKFILLS, storable(new), storable(project), storable(scorer_id), storable(old))
            owed = _plan(connection, storable(project), storable(app), [job for _, job in replaced], at_ns)
            batches = [
                (id_bytes(job.batch_id), id_bytes(old_id), id_bytes(job.job_id))
                for old_id, job in replaced
                if job.batch_id
            ]
            _OWN.run(connection, [(new_id, batch_id) for batch_id, _, new_id in batches])
            for batch_id, old_id, new_id in batches:
                execute(connection, _FOLLOW, new_id, batch_id, old_id)
            return owed

        return await self._database.write(operation)


def _plan(connection: Connection, project: str, app: str, jobs: Sequence[NewJob], now_ns: int) -> list[str]:
    return Plan(project, app, jobs, cursor_seq=None, counts=(), retired=(), now_ns=now_ns)(connection)
