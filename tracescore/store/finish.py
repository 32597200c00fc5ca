"""Finish jobs: the operation behind ``Jobs.finish``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from tracescore.store import schema, standing
from tracescore.store.bulk import BulkInsert, BulkUpdate, ByIds
from tracescore.store.encoding import evidence_digest, id_bytes, is_id, new_id, storable
from tracescore.store.postgres_sql import LOCK, LOCK_JOB
from tracescore.store.records import FinishedJob, JobState, OutcomeName
from tracescore.store.score_rows import HeldJob, Judged, judged, score_rows

_Pair = tuple[str, bytes, str]
_Row = tuple[Any, ...]

STATES: dict[OutcomeName, JobState] = {"score": "done", "not_scorable": "not_scorable", "failure": "failed"}

_INSERT_SCORES = BulkInsert.into(schema.scores)
_INSERT_EVIDENCE = BulkInsert.into(schema.evidence)
_INSERT_OUTBOX = BulkInsert.into(schema.outbox, leave_out=("id", "attempts", "error"))
# A run's row is the lock of all that hangs on it: its jobs' ends, its outcomes, and which of them is current.
_RUNS = ByIds(
    sql=f"""SELECT run_id FROM runs WHERE (project, run_id) IN (
        SELECT project, run_id FROM jobs WHERE job_id IN ({{ids}})) ORDER BY project, run_id {LOCK}"""
)
_HELD = ByIds(
    sql=f"""SELECT j.job_id, j.token, j.project, j.run_id, j.revision, j.scorer_id, j.scorer_version, j.generation,
        j.probability, j.rule_set, j.source, r.trace_id, r.span_id, r.withdrawn, s.standing_revision
    FROM jobs AS j LEFT JOIN runs AS r ON r.project = j.project AND r.run_id = j.run_id
    LEFT JOIN scores AS s ON s.project = j.project AND s.run_id = j.run_id AND s.scorer_id = j.scorer_id
        AND s.parent_id IS NULL AND s.current_flag = 1
    WHERE j.state || '' = 'leased' AND j.job_id IN ({{ids}}) ORDER BY j.job_id {LOCK_JOB}"""
)
_REFERRED = ByIds(
    sql="""SELECT score_id, project, run_id, scorer_id, scorer_version, outcome, current_flag FROM scores
    WHERE parent_id IS NULL AND score_id IN ({ids})"""
)
_END = BulkUpdate(
    table="jobs",
    keys=("job_id", "token"),
    values=("state", "score_id", "finished_ns", "error"),
    assign="state = v.state, score_id = v.score_id, finished_ns = v.finished_ns, error = v.error, "
    "attempts = attempts + 1, leased_by = NULL",
)
_GIVE_BACK = BulkUpdate(
    table="jobs",
    keys=("job_id", "token"),
    values=("due_at_ns",),
    assign="state = 'pending', due_at_ns = v.due_at_ns, leased_by = NULL, leases_taken = leases_taken - 1, "
    "error = 'what it referred to is no longer there'",
)
_DROP_REPLIES = ByIds(sql="DELETE FROM replies WHERE job_id IN ({ids})")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One finished job with what is written for it, made ready before the transaction."""

    job_id: bytes
    finished: FinishedJob
    judged: Judged | None
    score_id: bytes
    """The new outcome's row id, or the one that is referred to."""


@dataclass(frozen=True, slots=True)
class _Referred:
    """A stored outcome that a job is done by reference to."""

    project: str
    run_id: bytes
    scorer_id: str
    scorer_version: str
    outcome: OutcomeName
    current: int


@dataclass(slots=True)
class _Decided:
    """What is to be written, and which outcome each run and scorer is left with."""

    ended: list[tuple[_Outcome, HeldJob]] = field(default_factory=list)
    given_back: list[_Outcome] = field(default_factory=list)
    current: dict[_Pair, _Outcome] = field(default_factory=dict)
    standing: dict[_Pair, int] = field(default_factory=dict)

    def end(self, outcome: _Outcome, held: HeldJob) -> None:
        """Note an end; its outcome is the current one unless one of a newer revision stands; of equals the last."""
        self.ended.append((outcome, held))
        stands = self.standing.get(held.pair, held.standing_revision)
        if held.withdrawn == 0 and (stands is None or stands <= held.revision):
            self.standing[held.pair] = held.revision
            self.current[held.pair] = outcome


class Finish:
    """End jobs, each with its scores, what its sinks are owed, and the current outcome flipped."""

    def __init__(self, finished: Sequence[FinishedJob]) -> None:
        # The last word on a job that is given twice; ids that are none were never claimed.
        unique = {id_bytes(job.job_id): job for job in finished if is_id(job.job_id)}
        self._outcomes = {key: _ready(key, job) for key, job in unique.items()}

    def __call__(self, connection: Connection) -> set[str]:
        """Run within a transaction."""
        _RUNS.lock(connection, list(self._outcomes))
        held = {row[0]: HeldJob(*row) for row in _HELD.rows(connection, list(self._outcomes))}
        referred = self._referred(connection)
        decided = _Decided()
        for key, outcome in self._outcomes.items():
            job = held.get(key)
            if job is None or job.token != outcome.finished.token or job.project != storable(outcome.finished.project):
                continue
            if outcome.judged is None and not _stands_for(referred.get(outcome.score_id), job):
                decided.given_back.append(outcome)
            else:
                decided.end(outcome, job)
        self._write(connection, decided, referred)
        return {outcome.finished.job_id for outcome, _ in decided.ended}

    def _referred(self, connection: Connection) -> dict[bytes, _Referred]:
        ids = [outcome.score_id for outcome in self._outcomes.values() if outcome.judged is None]
        return {row[0]: _Referred(*row[1:]) for row in _REFERRED.rows(connection, ids)}

    def _write(self, connection: Connection, decided: _Decided, referred: dict[bytes, _Referred]) -> None:
        _END.run(
            connection,
            [
                (
                    outcome.job_id,
                    outcome.finished.token,
                    STATES[outcome.judged.outcome if outcome.judged else referred[outcome.score_id].outcome],
                    outcome.score_id,
                    outcome.finished.finished_ns,
                    outcome.judged.error if outcome.judged else None,
                )
                for outcome, _ in decided.ended
            ],
        )
        _GIVE_BACK.run(
            connection,
            [(outcome.job_id, outcome.finished.token, outcome.finished.finished_ns) for outcome in decided.given_back],
        )
        self._write_scores(connection, decided)
        self._write_outbox(connection, decided, referred)
        _DROP_REPLIES.run(
            connection,
            [o.job_id for o, _ in decided.ended if o.judged is None or o.judged.outcome != "failure"],
        )

    def _write_scores(self, connection: Connection, decided: _Decided) -> None:
        for project, pairs in _by_project(pair for pair, o in decided.current.items() if o.judged).items():
            standing.end_scorers(connection, project, pairs)
        rows: list[_Row] = []
        evidence: list[_Row] = []
        for outcome, held in decided.ended:
            if outcome.judged is not None:
                current = decided.current.get(held.pair) is outcome
                rows += score_rows(held, outcome.judged, outcome.score_id, outcome.finished.finished_ns, current)
                body = outcome.judged.evidence
                evidence.append((held.project, outcome.score_id, body, evidence_digest(body)))
        _INSERT_SCORES.run(connection, rows)
        _INSERT_EVIDENCE.run(connection, evidence)
        for (project, run_id, scorer_id), outcome in decided.current.items():
            if outcome.judged is None:
                revision = decided.standing[project, run_id, scorer_id]
                standing.stand(connection, project, [(run_id, scorer_id, outcome.score_id, revision)])

    def _write_outbox(self, connection: Connection, decided: _Decided, referred: dict[bytes, _Referred]) -> None:
        # Sinks are owed what they do not have: a new outcome, or an older one that stands again.
        rows: list[_Row] = []
        for pair, outcome in decided.current.items():
            if outcome.judged is None and referred[outcome.score_id].current:
                continue
            now_ns = outcome.finished.finished_ns
            rows += [(pair[0], storable(sink), outcome.score_id, now_ns, now_ns) for sink in outcome.finished.sinks]
        _INSERT_OUTBOX.run(connection, rows)


def _ready(key: bytes, job: FinishedJob) -> _Outcome:
    if job.outcome is not None:
        return _Outcome(key, job, judged(job.outcome), id_bytes(new_id()))
    if job.by_reference is None:
        raise ValueError(f"job {job.job_id} is finished with neither an outcome nor a reference")
    return _Outcome(key, job, None, id_bytes(job.by_reference))


def _stands_for(referred: _Referred | None, held: HeldJob) -> bool:
    if referred is None:
        return False
    pair = (referred.project, referred.run_id, referred.scorer_id)
    return pair == held.pair and referred.scorer_version == held.scorer_version


def _by_project(pairs: Iterable[_Pair]) -> dict[str, list[tuple[bytes, str]]]:
    grouped: dict[str, list[tuple[bytes, str]]] = {}
    for project, run_id, scorer_id in pairs:
        grouped.setdefault(project, []).append((run_id, scorer_id))
    return grouped
