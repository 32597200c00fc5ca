"""Claim jobs: the operation behind ``Jobs.claim``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from tracescore.store.bulk import BulkUpdate, ByIds, query
from tracescore.store.encoding import id_bytes, is_id, storable
from tracescore.store.plan import QUEUES
from tracescore.store.postgres_sql import SKIP_LOCKED
from tracescore.store.records import ClaimedJob, CurrentOutcome, Offered
from tracescore.store.schema import STATE

_ARMS = 100
"""Offers in one statement; SQLite takes 500 parts of a UNION."""

_Key = tuple[str, str, str]

# One part for each offer: its jobs in the order of the index, so that none reads more than it may give, however many
# jobs of other scorers nobody offers.
_ARM = f"""SELECT job_id, queue, due_at_ns FROM (SELECT job_id, queue, due_at_ns FROM jobs
    WHERE state IN ('pending', 'leased') AND project = ? AND scorer_id = ? AND scorer_version = ? AND queue = ?
    AND due_at_ns <= ? ORDER BY due_at_ns, job_id LIMIT ? {SKIP_LOCKED}) AS part"""
_PREFERRED = ByIds(
    sql=f"""SELECT job_id, project, scorer_id, scorer_version, queue, due_at_ns FROM jobs
    WHERE {STATE} IN ('pending', 'leased') AND queue = ? AND due_at_ns <= ? AND job_id IN ({{ids}}) {SKIP_LOCKED}"""
)
_TAKE = ByIds(
    sql="""UPDATE jobs SET state = 'leased', leased_by = ?, due_at_ns = ?, token = token + 1,
    leases_taken = leases_taken + 1, error = NULL WHERE job_id IN ({ids})"""
)
_READ = ByIds(
    sql="""SELECT j.project, j.job_id, j.token, j.run_id, j.revision, j.scorer_id, j.scorer_version, j.source, j.queue,
        j.probability, j.rule_set, j.generation, j.batch_id, j.leases_taken, j.attempts, r.body, r.withdrawn,
        s.score_id, s.outcome, s.judged_hash, r.revision, j.planned_hash, p.body
    FROM jobs AS j LEFT JOIN runs AS r ON r.project = j.project AND r.run_id = j.run_id
    LEFT JOIN scores AS s ON s.project = j.project AND s.run_id = j.run_id AND s.scorer_id = j.scorer_id
        AND s.parent_id IS NULL AND s.current_flag = 1 AND s.scorer_version = j.scorer_version
    LEFT JOIN prepared_runs AS p ON p.project = j.project AND p.run_id = j.run_id AND p.planned_hash = j.planned_hash
    WHERE j.job_id IN ({ids})"""
)
_PASS_OVER = ByIds(
    sql="UPDATE jobs SET state = 'superseded', finished_ns = ?, leased_by = NULL, leases_taken = leases_taken - 1, "
    "error = 'the run was revised or withdrawn' WHERE job_id IN ({ids})"
)
_MOVE_ON = BulkUpdate(
    table="jobs", keys=("job_id",), values=("revision",), assign="revision = v.revision, planned_hash = ''"
)


class Claim:
    """Take due jobs that are offered: live before backfill, preferred ids first, then by due time."""

    def __init__(
        self,
        offers: Sequence[Offered],
        *,
        worker: str,
        now_ns: int,
        lease_ns: int,
        limit: int,
        prefer: Sequence[str],
    ) -> None:
        self._offers = offer_keys(offers)
        self._worker = worker
        self._now_ns = now_ns
        self._lease_ns = lease_ns
        self._limit = limit
        self._prefer = list(dict.fromkeys(id_bytes(job_id) for job_id in prefer if is_id(job_id)))

    def __call__(self, connection: Connection) -> list[ClaimedJob]:
        """Run within a transaction."""
        chosen: list[bytes] = []
        for queue in range(len(QUEUES)):
            chosen += self._preferred(connection, queue, self._limit - len(chosen))
            if len(chosen) < self._limit:
                taken = set(chosen)
                room = self._limit - len(chosen)
                # What was preferred comes up here again, so that many more are asked for.
                wanted = room + len(taken)
                found = choose(connection, self._offers, queue=queue, now_ns=self._now_ns, limit=wanted, take=True)
                chosen += [job_id for job_id in found if job_id not in taken][:room]
        return self._take(connection, chosen) if chosen else []

    def _preferred(self, connection: Connection, queue: int, room: int) -> list[bytes]:
        if not self._prefer or room <= 0:
            return []
        offered = set(self._offers)
        rows = _PREFERRED.rows(connection, self._prefer, queue, self._now_ns)
        rows = sorted((row for row in rows if row[1:4] in offered), key=lambda row: (row[5], row[0]))
        return [row[0] for row in rows[:room]]

    def _take(self, connection: Connection, chosen: Sequence[bytes]) -> list[ClaimedJob]:
        _TAKE.run(connection, chosen, self._worker, self._now_ns + self._lease_ns)
        rows = {row[1]: row for row in _READ.rows(connection, chosen)}
        # A live job stands for what was planned, and its run's newer state has a job of its own. What was asked for
        # judges the run as it is now, and says by an empty hash that it no longer stands for what was planned.
        over = {job_id for job_id, row in rows.items() if row[15] is None or row[16] or _is_stale(row)}
        moved = [job_id for job_id, row in rows.items() if job_id not in over and row[20] != row[4]]
        _PASS_OVER.run(connection, list(over), self._now_ns)
        _MOVE_ON.run(connection, [(job_id, rows[job_id][20]) for job_id in moved])
        return [_claimed(rows[job_id]) for job_id in chosen if job_id not in over]


def _is_stale(row: tuple[Any, ...]) -> bool:
    return row[7] == "live" and row[20] != row[4]


def offer_keys(offers: Sequence[Offered]) -> list[_Key]:
    """Give offers as their columns hold them, each once."""
    return list(dict.fromkeys((storable(o.project), storable(o.scorer_id), storable(o.scorer_version)) for o in offers))


def choose(
    connection: Connection, offers: Sequence[_Key], *, queue: int, now_ns: int, limit: int, take: bool = False
) -> list[bytes]:
    """Choose jobs of one queue that are due and offered, by due time; to ``take`` them, such as nobody else takes."""
    found: list[tuple[int, bytes]] = []
    for start in range(0, len(offers), _ARMS):
        arms = offers[start : start + _ARMS]
        values = [value for offer in arms for value in (*offer, queue, now_ns, limit)]
        found += [(row[2], row[0]) for row in query(connection, _choose_sql(len(arms), take), *values, limit)]
    return [job_id for _, job_id in sorted(found)[:limit]]


@lru_cache(maxsize=2 * _ARMS)
def _choose_sql(arms: int, take: bool) -> str:
    arm = _ARM if take else _ARM.replace(SKIP_LOCKED, "")
    return " UNION ALL ".join([arm] * arms) + " ORDER BY 3, 1 LIMIT ?"


def _claimed(row: tuple[Any, ...]) -> ClaimedJob:
    batch_id, score_id = row[12], row[17]
    # What was planned of an older state says nothing of this one.
    as_planned = row[20] == row[4] and row[21] != ""
    current = None
    if score_id is not None:
        current = CurrentOutcome(score_id=score_id.hex(), outcome=row[18], judged_hash=row[19])
    return ClaimedJob(
        project=row[0],
        job_id=row[1].hex(),
        token=row[2],
        run_id=row[3].hex(),
        revision=row[20],
        scorer_id=row[5],
        scorer_version=row[6],
        source=row[7],
        queue=QUEUES[row[8]],
        probability=row[9],
        rule_set=row[10],
        generation=row[11],
        batch_id=None if batch_id is None else batch_id.hex(),
        leases_taken=row[13],
        attempts=row[14],
        run_body=row[22] if as_planned and row[22] is not None else row[15],
        as_planned=as_planned,
        current=current,
    )
