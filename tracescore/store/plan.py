"""Plan jobs: the operation behind ``Jobs.plan``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from tracescore.store import schema, standing
from tracescore.store.bulk import BulkInsert, BulkUpdate, ByIds, execute
from tracescore.store.encoding import clamp, id_bytes, maybe_id_bytes, maybe_storable, storable
from tracescore.store.postgres_sql import LOCK
from tracescore.store.records import DecisionCount, JobState, NewJob, Queue, Retired

QUEUES: tuple[Queue, Queue] = ("live", "backfill")
"""By the number that stands for each: the order in which they go."""

_ENDED = ("done", "not_scorable", "failed")

_INSERT = BulkInsert.into(
    schema.jobs,
    on_conflict="DO NOTHING",
    leave_out=(
        *("leased_by", "token", "leases_taken", "lone_deaths", "attempts", "deferrals", "reserved_cost"),
        *("error", "score_id", "finished_ns"),
    ),
)
_REVIVE = BulkUpdate(
    table="jobs",
    keys=("job_id",),
    values=("revision", "planned_hash", "due_at_ns", "source", "queue", "probability", "rule_set"),
    assign="state = 'pending', revision = v.revision, planned_hash = v.planned_hash, due_at_ns = v.due_at_ns, "
    "source = v.source, queue = v.queue, probability = v.probability, rule_set = v.rule_set, "
    "token = token + 1, leased_by = NULL, error = NULL, score_id = NULL, finished_ns = NULL",
)
_AGREE = BulkUpdate(table="jobs", keys=("job_id",), values=("revision",), assign="revision = v.revision")
_SUPERSEDE = BulkUpdate(
    table="jobs",
    keys=("project", "run_id", "scorer_id"),
    values=("revision", "finished_ns"),
    assign="state = 'superseded', finished_ns = v.finished_ns, error = 'a newer revision was planned'",
    where="jobs.state = 'pending' AND jobs.source = 'live' AND jobs.revision < v.revision",
)
_RETIRE = BulkUpdate(
    table="jobs",
    keys=("project", "run_id", "scorer_id"),
    values=("finished_ns",),
    assign="state = 'superseded', finished_ns = v.finished_ns, error = 'no rule matches the run any more'",
    where="jobs.state = 'pending' AND jobs.source = 'live'",
)
_INSERT_OUTBOX = BulkInsert.into(schema.outbox, leave_out=("id", "attempts", "error"))
_PREPARED = BulkInsert.into(schema.prepared_runs, on_conflict="DO NOTHING")
_COUNT = BulkInsert.into(
    schema.decision_counts,
    on_conflict="(project, rule_set, scorer_id, hour, outcome) DO UPDATE "
    "SET count = decision_counts.count + excluded.count, "
    "example = COALESCE(excluded.example, decision_counts.example)",
)
_ADVANCE = """INSERT INTO cursors (project, app, seq) VALUES (?, ?, ?)
    ON CONFLICT (project, app) DO UPDATE SET seq = excluded.seq WHERE cursors.seq < excluded.seq"""
_RUNS = ByIds(
    sql=f"SELECT run_id, revision, withdrawn FROM runs WHERE project = ? AND run_id IN ({{ids}}) ORDER BY run_id {LOCK}"
)
_KNOWN = ByIds(sql="SELECT job_id, state, score_id, planned_hash FROM jobs WHERE job_id IN ({ids})")
_STANDING = ByIds(
    sql="SELECT run_id, scorer_id, standing_revision, score_id FROM scores "
    "WHERE project = ? AND current_flag = 1 AND name = '' AND run_id IN ({ids})"
)


@dataclass(frozen=True, slots=True)
class _Known:
    """A job that was planned before."""

    state: JobState
    score_id: bytes | None
    planned_hash: str

    def is_to_be_done(self, job: NewJob) -> bool:
        """Tell whether it is owed work again: it was superseded, or it judged or judges another content (see claim)."""
        if self.state == "cancelled":  # a decision that only somebody who asks for it again takes back
            return job.source != "live"
        return self.state == "superseded" or self.planned_hash != job.planned_hash


class Plan:
    """Insert jobs, supersede what they replace, and move the app's cursor."""

    def __init__(
        self,
        project: str,
        app: str,
        jobs: Sequence[NewJob],
        *,
        cursor_seq: int | None,
        counts: Sequence[DecisionCount],
        retired: Sequence[Retired],
        sinks: Sequence[str] = (),
        now_ns: int,
    ) -> None:
        self._project = project
        self._app = app
        self._jobs = {id_bytes(job.job_id): job for job in jobs}
        self._cursor_seq = cursor_seq
        self._counts = _merged(counts)
        self._retired = [(id_bytes(pair.run_id), storable(pair.scorer_id)) for pair in retired]
        self._sinks = [storable(sink) for sink in sinks]
        self._now_ns = now_ns

    def __call__(self, connection: Connection) -> list[str]:
        """Run within a transaction."""
        run_ids = {id_bytes(job.run_id) for job in self._jobs.values()} | {run_id for run_id, _ in self._retired}
        runs = {row[0].hex(): (row[1], bool(row[2])) for row in _RUNS.rows(connection, sorted(run_ids), self._project)}
        owed = self._plan(connection, runs) if self._jobs else []
        if self._retired:
            _RETIRE.run(connection, [(self._project, *pair, self._now_ns) for pair in self._retired])
            standing.end_scorers(connection, self._project, self._retired, live_only=True)
        _COUNT.run(connection, [(self._project, *row) for row in self._counts])
        if self._cursor_seq is not None:
            execute(connection, _ADVANCE, self._project, self._app, self._cursor_seq)
        return owed

    def _plan(self, connection: Connection, runs: dict[str, tuple[int, bool]]) -> list[str]:
        run_ids = sorted({id_bytes(job.run_id) for job in self._jobs.values()})
        planned = {key: job for key, job in self._jobs.items() if _is_timely(job, runs.get(job.run_id))}
        known = {row[0]: _Known(*row[1:]) for row in _KNOWN.rows(connection, list(planned))}
        _SUPERSEDE.run(
            connection,
            [(self._project, *_pair(job), job.revision, self._now_ns) for job in planned.values()],
        )
        new = [(key, job) for key, job in planned.items() if key not in known]
        _INSERT.run(connection, [self._row(key, job) for key, job in new])
        _PREPARED.run(
            connection,
            [
                (self._project, *prepared, self._now_ns, body)
                for prepared, body in {
                    (id_bytes(job.run_id), job.planned_hash): job.prepared for job in planned.values() if job.prepared
                }.items()
            ],
        )
        again = [(key, job) for key, job in planned.items() if key in known and known[key].is_to_be_done(job)]
        _REVIVE.run(connection, [_revived(key, job) for key, job in again])
        same = {key: known[key] for key, job in planned.items() if key in known and not known[key].is_to_be_done(job)}
        self._agree(connection, planned, same, run_ids)
        return [job.job_id for _, job in (*new, *again)]

    def _agree(
        self, connection: Connection, planned: dict[bytes, NewJob], same: dict[bytes, _Known], run_ids: Sequence[bytes]
    ) -> None:
        # The run is what it was when these were planned first. What has ended stands again, without a call; what is
        # being judged is judged for this revision.
        ended = [(key, known.score_id) for key, known in same.items() if known.state in _ENDED]
        current: dict[tuple[bytes, str], tuple[int, bytes | None]] = {}
        if ended:
            current = {(row[0], row[1]): (row[2], row[3]) for row in _STANDING.rows(connection, run_ids, self._project)}
        again: list[standing.Standing] = []
        owed: list[tuple[Any, ...]] = []
        for key, score_id in ended:
            job = planned[key]
            revision, stands = current.get(_pair(job), (-1, None))
            if score_id is not None and revision < job.revision:
                again.append((*_pair(job), score_id, job.revision))
                if stands != score_id:  # sinks have the other one
                    owed += [(self._project, sink, score_id, self._now_ns, self._now_ns) for sink in self._sinks]
        standing.stand(connection, self._project, again)
        _INSERT_OUTBOX.run(connection, owed)
        _AGREE.run(connection, [(key, planned[key].revision) for key in same])

    def _row(self, key: bytes, job: NewJob) -> tuple[Any, ...]:
        return (
            self._project,
            key,
            self._app,
            id_bytes(job.run_id),
            job.revision,
            storable(job.scorer_id),
            storable(job.scorer_version),
            job.generation,
            job.planned_hash,
            job.probability,
            job.rule_set,
            job.source,
            QUEUES.index(job.queue),
            "pending",
            clamp(job.due_at_ns),
            maybe_id_bytes(job.batch_id),
            self._now_ns,
        )


def _merged(counts: Sequence[DecisionCount]) -> list[tuple[str, str, int, str, int, str | None]]:
    # Each key once, since PostgreSQL updates a row once a statement, and in one order for all who count.
    merged: dict[tuple[str, str, int, str], tuple[int, str | None]] = {}
    for one in counts:
        key = (one.rule_set, storable(one.scorer_id), one.hour, one.outcome)
        count, example = merged.get(key, (0, None))
        merged[key] = (count + one.count, maybe_storable(one.example) or example)
    return [(*key, *merged[key]) for key in sorted(merged)]


def _pair(job: NewJob) -> tuple[bytes, str]:
    return id_bytes(job.run_id), storable(job.scorer_id)


def _revived(key: bytes, job: NewJob) -> tuple[Any, ...]:
    queue = QUEUES.index(job.queue)
    return (
        *(key, job.revision, job.planned_hash, clamp(job.due_at_ns)),
        *(job.source, queue, job.probability, job.rule_set),
    )


def _is_timely(job: NewJob, run: tuple[int, bool] | None) -> bool:
    if run is None or run[1]:
        return False
    return job.source != "live" or job.revision == run[0]
