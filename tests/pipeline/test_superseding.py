"""Several apps and versions on one store: each job is done by a worker that offers it, and none is left for good."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from tests.pipeline.stored import PROJECT, all_scores, make_run, put_jobs, put_runs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.cli.checks import check_all
from tracescore.model import AgentRun
from tracescore.pipeline.backfill import create_backfill
from tracescore.pipeline.offers import offer_records
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.stranded import stranded
from tracescore.pipeline.superseding import Superseding
from tracescore.pipeline.wake import NoWake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.scorers import Scorer, scorer
from tracescore.settings import Settings
from tracescore.store import BackfillSpec, BatchItem, Store
from tracescore.store.bulk import execute

NS = 10**9
MINUTE = 60 * NS


def length(version: str, *, id: str = "length") -> Scorer[Any, Any, Any]:
    @scorer(id=id, version=version)
    def made(run: AgentRun) -> float:
        return 0.5

    return made


OLD, NEW = TraceScore([length("1")]), TraceScore([length("2")])


@contextmanager
def working(store: Store, *apps: TraceScore, supersede: float = 600.0) -> Any:
    options = WorkerOptions(offer_supersede=supersede)
    workers = [Worker(store, app, wake=NoWake(), options=options) for app in apps]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop(grace=5)


async def offer(store: Store, app: TraceScore, *, at_ns: int, worker: str) -> None:
    await store.control.register_offers(worker, app.name, PROJECT, offer_records(app), now_ns=at_ns)


def superseding(store: Store, app: TraceScore, told: list[str]) -> Superseding:
    return Superseding(store, app, project=PROJECT, worker_id="w", after=600, on_jobs=lambda ids, _: told.extend(ids))


async def states(store: Store, runs: Sequence[AgentRun]) -> Counter[tuple[str, str]]:
    jobs = await store.jobs.for_runs(PROJECT, [run.run_id for run in runs])
    return Counter((job.scorer_version, job.state) for job in jobs)


def test_two_apps_with_different_scorers_share_a_store(store: Store) -> None:
    first = TraceScore([length("1", id="first")], name="a")
    second = TraceScore([length("1", id="second")], name="b")
    runs = [make_run(n) for n in range(20)]
    with working(store, first, second):
        run_sync(put_runs(store, runs))

        async def all_done() -> bool:
            return (await store.jobs.counts(PROJECT))["done"] == 40

        run_sync(until(all_done, description="both scorers' jobs"))
    scores = run_sync(all_scores(store))

    assert Counter(score.scorer_id for score in scores) == {"first": 20, "second": 20}
    assert run_sync(store.jobs.counts(PROJECT))["failed"] == 0


def test_two_versions_rolled_over_each_other_each_do_their_own(store: Store) -> None:
    run_sync(put_jobs(store, OLD, [make_run(n) for n in range(20)]))
    run_sync(put_jobs(store, NEW, [make_run(n) for n in range(20, 40)]))
    with working(store, OLD, NEW):

        async def all_done() -> bool:
            return (await store.jobs.counts(PROJECT))["done"] == 40

        run_sync(until(all_done, description="both versions' jobs"))
    scores = run_sync(all_scores(store))

    assert Counter(score.scorer_version for score in scores) == {"1": 20, "2": 20}


def test_what_an_old_version_left_is_stranded_then_done_by_the_new_one(store: Store) -> None:
    runs = [make_run(n) for n in range(10)]
    run_sync(put_jobs(store, OLD, runs))
    with working(store, NEW, supersede=1.0):
        waiting = run_sync(stranded(store, PROJECT, now_ns=time.time_ns(), supersede_ns=10**9))
        assert [(left.version, left.jobs, left.offered_instead) for left in waiting] == [("1", 10, "2")]

        async def all_done() -> bool:
            return (await store.jobs.counts(PROJECT))["done"] == 10

        run_sync(until(all_done, description="the new version's jobs"))

    assert run_sync(states(store, runs)) == {("1", "superseded"): 10, ("2", "done"): 10}


def test_a_version_takes_over_only_after_ten_minutes_of_its_own(store: Store) -> None:
    async def scenario() -> None:
        now_ns, told = time.time_ns(), list[str]()
        runs = [make_run(0)]
        await put_jobs(store, OLD, runs)

        async def reason() -> str:
            (left,) = await stranded(store, PROJECT, now_ns=now_ns, supersede_ns=10 * MINUTE)
            return left.reason(now_ns=now_ns)

        assert await reason() == "no live worker offers scorer 'length'"
        await offer(store, OLD, at_ns=now_ns - 4 * MINUTE, worker="old")
        for minutes in (20.0, 12.0, *(step / 4 for step in range(44, -1, -1))):
            await offer(store, NEW, at_ns=now_ns - int(minutes * MINUTE), worker="new")
        assert await reason() == (
            "no live worker offers version 1 of 'length'; 2 is offered and takes them over in 6 min"
        )
        assert not await superseding(store, NEW, told).step()
        assert (told, await states(store, runs)) == ([], {("1", "pending"): 1})

    run_sync(scenario())


def test_a_gap_in_its_offers_sets_the_new_version_back(store: Store) -> None:
    async def scenario() -> None:
        now_ns = time.time_ns()
        await put_jobs(store, OLD, [make_run(0)])
        for seconds in (3600, 3590, 100, 80, 60, 40, 20, 0):
            await offer(store, NEW, at_ns=now_ns - seconds * NS, worker="new")
        (left,) = await stranded(store, PROJECT, now_ns=now_ns, supersede_ns=10 * MINUTE)

        assert left.takes_over_ns == now_ns - 100 * NS + 10 * MINUTE

    run_sync(scenario())


async def long_offered(store: Store, app: TraceScore) -> None:
    now_ns = time.time_ns()
    for step in range(45, -1, -1):
        await offer(store, app, at_ns=now_ns - step * 15 * NS, worker="new")


def test_batches_and_backfills_follow_their_jobs_to_the_new_version(store: Store) -> None:
    async def scenario() -> None:
        told = list[str]()
        runs = [make_run(n) for n in range(3)]
        (job_id, *_) = await put_jobs(store, OLD, runs, queue="backfill")
        items = [BatchItem(run_id=runs[0].run_id, job_id=job_id)]
        batch_id = await store.control.create_batch(PROJECT, "score", items)
        await store.backfills._database.write(
            lambda connection: execute(
                connection,
                "UPDATE jobs SET batch_id = ? WHERE job_id = ?",
                bytes.fromhex(batch_id),
                bytes.fromhex(job_id),
            )
        )
        await offer(store, OLD, at_ns=time.time_ns(), worker="old")
        backfill = await create_backfill(store, PROJECT, "length", BackfillSpec())
        await store.control.forget_worker("old")
        await store.backfills._database.write(
            lambda connection: execute(connection, "UPDATE offered_versions SET seen_ns = 0")
        )
        await long_offered(store, NEW)
        await superseding(store, NEW, told).step()
        batch = await store.control.batch(PROJECT, batch_id)
        moved = await store.backfills.get(PROJECT, backfill.batch_id)

        assert await states(store, runs) == {("1", "superseded"): 3, ("2", "pending"): 3}
        assert len(told) == 3
        assert batch is not None
        assert [item.outcome for item in batch.items] == ["pending"]
        assert moved is not None
        assert moved.scorer_version == "2"

    run_sync(scenario())


def test_a_live_job_that_is_no_rules_of_the_new_app_has_no_successor(store: Store) -> None:
    async def scenario() -> None:
        told = list[str]()
        runs = [make_run(0), make_run(1, agent="writer")]
        await put_jobs(store, OLD, runs)
        scorer_ = length("2")
        app = TraceScore([scorer_], rules=[Rule(scorer_, where={"agent": "writer"})])
        await long_offered(store, app)
        await superseding(store, app, told).step()

        assert await states(store, runs) == {("1", "superseded"): 2, ("2", "pending"): 1}
        jobs = await store.jobs.for_runs(PROJECT, [runs[1].run_id])
        assert [job.scorer_version for job in jobs if job.job_id in told] == ["2"]

    run_sync(scenario())


def test_doctor_says_what_is_stranded(store: Store, location: str) -> None:
    run_sync(put_jobs(store, OLD, [make_run(n) for n in range(3)]))
    checks = run_sync(check_all(Settings(store=location, broker="none"), {}))
    (jobs,) = [check for check in checks if check.name == "jobs"]

    assert (jobs.state, jobs.message) == ("warn", "3 pending; 3 wait: no live worker offers scorer 'length'")
