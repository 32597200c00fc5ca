"""Whatever happens in whatever order, in the end each run has one current score, of what the run is now."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.store.rows import LEASE, NOW, TRACE, claim, failure_of, finish, finished, new_job, run_record, score_of
from tests.store.rows import replace_runs as replace_set
from tracescore.bridge import run_sync
from tracescore.model import Evidence
from tracescore.store import ClaimedJob, FinishedJob, RunRecord, Store


class World:
    """A trace whose runs come, change and go while a planner and two workers are at it."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.now = NOW
        self.version = 0
        self.runs: dict[str, RunRecord] = {}
        self.held: list[ClaimedJob] = []
        self.asked = 0

    def change_runs(self) -> None:
        """Assemble the trace anew: some runs are gone, some differ, some are what they were once."""
        self.version += 1
        names = [name for name in "abc" if self.random.random() < 0.8]
        self.runs = {name: run_record(name, content=self.random.choice("xyz")) for name in names}
        replace_set(self.store, *self.runs.values(), version=self.version)

    def plan(self) -> None:
        """Plan what changed, as a planner does: by its cursor."""
        cursor = run_sync(self.store.jobs.cursor("default", "app"))
        seen = run_sync(self.store.runs.runs_after("default", cursor, 2))
        jobs = []
        for stored in (stored for stored in seen if not stored.withdrawn):
            name, content = stored.body.decode().split()
            jobs.append(new_job(run_record(name, content=content), revision=stored.revision))
        last = seen[-1].seq if seen else None
        run_sync(self.store.jobs.plan("default", "app", jobs, cursor_seq=last, now_ns=self.now))

    def ask(self) -> None:
        """Ask for a run by a backfill, or by hand as a new generation, perhaps by what it was a moment ago."""
        runs = run_sync(self.store.runs.list("default")).items
        if self.random.random() < 0.5:
            self.change_runs()
        for run in runs[:1]:
            name, content = run.body.decode().split()
            self.asked += 1
            by_hand = self.random.random() < 0.5
            job = new_job(
                run_record(name, content=content),
                revision=run.revision,
                source="manual" if by_hand else "backfill",
                queue="live" if by_hand else "backfill",
                generation=self.asked if by_hand else 0,
            )
            run_sync(self.store.jobs.plan("default", "app", [job], now_ns=self.now))

    def claim(self) -> None:
        """Take jobs; some that another worker still believes to hold."""
        self.now += self.random.choice((1, LEASE // 2, LEASE))
        self.held += claim(self.store, now_ns=self.now, limit=self.random.randint(1, 3))

    def end_some(self) -> None:
        """Finish or give back what is held, in any order, stale leases too."""
        self.random.shuffle(self.held)
        count = self.random.randint(0, len(self.held))
        ending, self.held = self.held[:count], self.held[count:]
        if ending and self.random.random() < 0.2:
            job = ending.pop()
            run_sync(self.store.jobs.release([(job.job_id, job.token)], due_at_ns=self.now))
        finish(self.store, *map(self.end, ending))

    def end(self, job: ClaimedJob, *, may_fail: bool = True) -> FinishedJob:
        """Judge what the run was at the claim, by reference where that was judged before."""
        content = job.run_body.decode()
        current = job.current
        if current is not None and current.outcome == "score" and current.judged_hash == content:
            return finished(job, by_reference=current.score_id, finished_ns=self.now)
        if may_fail and self.random.random() < 0.1:
            return finished(job, failure_of(job), finished_ns=self.now)
        score = replace(score_of(job), evidence=Evidence(judged_hash=content))
        return finished(job, score, finished_ns=self.now)

    def step(self) -> None:
        """Let anything happen."""
        steps = (self.change_runs, self.plan, self.plan, self.claim, self.claim, self.end_some, self.ask)
        self.random.choice(steps)()

    def drain(self) -> None:
        """Let planner and worker come to rest."""
        for _ in range(20):
            self.plan()
        while True:
            self.now += 2 * LEASE
            jobs = claim(self.store, now_ns=self.now)
            if not jobs:
                return
            finish(self.store, *(self.end(job, may_fail=False) for job in jobs))


@pytest.mark.parametrize("seed", range(12))
def test_in_the_end_each_run_has_one_current_score_of_what_it_is(store: Store, seed: int) -> None:
    world = World(store, seed)
    for _ in range(60):
        world.step()
    world.drain()

    rows = run_sync(store.scores.list("default", trace_id=TRACE)).items
    judged = {row.run_id: row.judged_hash for row in rows if row.outcome == "score"}
    failed = {row.run_id for row in rows if row.outcome == "failure"}
    assert len(rows) == len({row.run_id for row in rows})
    assert judged.keys() | failed == {run.run_id for run in world.runs.values()}
    assert judged == {run.run_id: run.body.decode() for run in world.runs.values() if run.run_id not in failed}
    counts = run_sync(store.jobs.counts())
    assert counts["pending"] == counts["leased"] == 0
    assert run_sync(store.jobs.cursor("default", "app")) > 0
