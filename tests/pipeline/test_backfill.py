from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest

from tests.pipeline.stored import PROJECT, all_scores, make_run, pumping, put_jobs, put_runs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.errors import InputError
from tracescore.model import AgentRun
from tracescore.pipeline.backfill import Backfilling, create_backfill
from tracescore.pipeline.missed import Missed, missed_runs
from tracescore.pipeline.offers import offer_records
from tracescore.pipeline.rules import Rule, sample_number
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.targets import UnknownScorer
from tracescore.scorers import not_scorable, scorer
from tracescore.store import Backfill, BackfillSpec, BackfillStatus, Store


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    if run.output.text == "answer 0":
        not_scorable("nought")
    return 1 / (len(run.output.text) - 8)  # ten to a hundred: all but the first ten


APP = TraceScore([length], rules=[])


async def offer(store: Store, app: TraceScore = APP, *, worker: str = "w") -> None:
    await store.control.register_offers(worker, app.name, PROJECT, offer_records(app), now_ns=time.time_ns())


def backfilling(store: Store, *, told: list[str], worker_id: str = "w", app: TraceScore = APP) -> Backfilling:
    return Backfilling(store, app, project=PROJECT, worker_id=worker_id, on_jobs=lambda ids, _: told.extend(ids))


async def begin(store: Store, app: TraceScore = APP, **spec: Any) -> Backfill:
    await offer(store, app)
    return await create_backfill(store, PROJECT, "length", BackfillSpec(**spec))


async def planned(store: Store, app: TraceScore = APP, **spec: Any) -> tuple[BackfillStatus, list[str]]:
    backfill, told = await begin(store, app, **spec), list[str]()
    plan = backfilling(store, told=told, app=app)
    while await plan.step():
        pass
    status = await store.backfills.status(PROJECT, backfill.batch_id)
    assert status is not None
    assert len(told) == status.backfill.planned
    return status, told


async def runs_of(store: Store, told: list[str], numbers: range) -> set[int]:
    jobs = await store.jobs.for_runs(PROJECT, [make_run(n).run_id for n in numbers])
    by_run = {make_run(n).run_id: n for n in numbers}
    return {by_run[job.run_id] for job in jobs if job.job_id in told}


def test_runs_that_came_before_the_rules_are_missed_until_a_backfill_is_asked_for(store: Store) -> None:
    async def scenario() -> None:
        app = TraceScore([length], rules=[Rule(length, where={"agent": ["helper", "other"]}, nested=True)])
        await put_runs(store, [make_run(n) for n in range(3)])
        before = await missed_runs(store, PROJECT, app=app)
        await begin(store)

        assert before == [Missed(scorer_id="length", runs=3)]
        assert await missed_runs(store, PROJECT, app=app) == []

    run_sync(scenario())


def test_stored_runs_are_scored_once_as_a_backfill(store: Store) -> None:
    async def scenario() -> None:
        await put_runs(store, [make_run(n) for n in range(600)])
        status, _ = await planned(store)
        async with pumping(store, APP) as pump:
            await until(lambda: _is_idle(pump), description="all scored")
        again = await store.backfills.status(PROJECT, status.backfill.batch_id)
        scores = await all_scores(store)

        assert again is not None
        assert dict(again.jobs) == {"done": 590, "failed": 9, "not_scorable": 1}
        assert (again.done, again.ended, again.backfill.seen, again.backfill.total) == (True, 600, 600, 600)
        assert {score.source for score in scores} == {"backfill"}
        assert len({score.run_id for score in scores}) == len(scores) == 600
        rerun, told = await planned(store)
        assert (told, rerun.backfill.skipped, rerun.done) == ([], 600, True)

    run_sync(scenario())


async def _is_idle(pump: Any) -> bool:
    pump.wake()
    return bool(pump.idle)


def test_where_since_and_sampling_choose_as_a_rule_does(store: Store) -> None:
    async def scenario() -> None:
        writers = [make_run(n, agent="writer") for n in range(100)]
        others = [dataclasses.replace(make_run(n), tags=("beta",)) for n in range(100, 150)]
        nested = [dataclasses.replace(make_run(n), outermost=False, parent_run_id="0" * 32) for n in range(150, 160)]
        await put_runs(store, [*writers, *others, *nested])

        _, told = await planned(store, where={"agent": "writer"}, sample_rate=0.3)
        expected = {n for n in range(100) if sample_number(writers[n]) < 0.3}
        assert await runs_of(store, told, range(160)) == expected
        _, told = await planned(store, where={"tags": "beta"}, since_ns=1_000 + 120, until_ns=1_000 + 130)
        assert await runs_of(store, told, range(160)) == set(range(120, 130))
        status, told = await planned(store)
        assert await runs_of(store, told, range(160)) == set(range(150)) - expected - set(range(120, 130))
        assert status.backfill.total == 150

    run_sync(scenario())


def test_a_limit_takes_the_newest_and_the_next_backfill_goes_on(store: Store) -> None:
    async def scenario() -> None:
        for number in range(5):
            await put_runs(store, [make_run(number)])
        _, first = await planned(store, limit=2)
        _, second = await planned(store, limit=2)
        _, third = await planned(store, limit=2)

        taken = [await runs_of(store, told, range(5)) for told in (first, second, third)]
        assert taken == [{4, 3}, {2, 1}, {0}]

    run_sync(scenario())


def test_two_workers_plan_a_backfill_together_what_one_would(store: Store) -> None:
    async def scenario() -> None:
        told = list[str]()
        await put_runs(store, [make_run(n) for n in range(700)])
        backfill = await begin(store)
        first = backfilling(store, told=told, worker_id="a")
        second = backfilling(store, told=told, worker_id="b")
        await first.step()
        # Another's chunk that comes late from the same mark writes nothing.
        stale = await store.backfills.plan(
            backfill, [], app="a", mark=backfill.mark, seen=9, skipped=0, left_out=0, last=True
        )
        while await first.step() or await second.step():
            pass
        status = await store.backfills.status(PROJECT, backfill.batch_id)

        assert (stale, len(told), len(set(told))) == (None, 700, 700)
        assert status is not None
        assert (status.backfill.seen, status.backfill.planned, status.backfill.state) == (700, 700, "planned")

    run_sync(scenario())


def test_a_cancelled_backfill_plans_no_more_and_another_takes_up_what_it_left(store: Store) -> None:
    async def scenario() -> None:
        told = list[str]()
        await put_runs(store, [make_run(n) for n in range(300)])
        backfill = await begin(store)
        plan = backfilling(store, told=told)
        await plan.step()

        assert await store.backfills.cancel(PROJECT, backfill.batch_id) == 256
        assert not await plan.step()
        status = await store.backfills.status(PROJECT, backfill.batch_id)
        assert status is not None
        assert (status.done, dict(status.jobs)) == (True, {"cancelled": 256})
        again, _ = await planned(store)
        assert dict(again.jobs) == {"pending": 300}

    run_sync(scenario())


def test_live_jobs_are_claimed_before_a_backfills(store: Store) -> None:
    async def scenario() -> None:
        await put_runs(store, [make_run(n) for n in range(20)])
        await planned(store)
        live = await put_jobs(store, APP, [make_run(n) for n in range(20, 25)])
        claimed = await store.jobs.claim(
            [*_offers()], worker="w", now_ns=time.time_ns(), lease_ns=10**9, limit=10, prefer=()
        )

        assert {job.job_id for job in claimed[:5]} == set(live)
        assert {job.source for job in claimed[5:]} == {"backfill"}

    run_sync(scenario())


def _offers() -> Any:
    from tests.pipeline.stored import offers_of

    return offers_of(APP)


def test_a_backfill_may_be_of_another_kind(store: Store) -> None:
    async def scenario() -> None:
        agents = [make_run(n) for n in range(12)]
        inside = [
            dataclasses.replace(
                run, run_id=f"{n + 1:032x}", kind="llm", outermost=False, model="small" if n % 2 else "large"
            )
            for n, run in enumerate(agents)
        ]
        for run, part in zip(agents, inside, strict=True):
            records = [run_record(one, first_arrival_ns=1) for one in (run, part)]
            await store.runs.replace_runs(PROJECT, str(run.trace_id), 1, records)
        everything, told = await planned(store, kind="llm")
        small, fewer = await planned(store, kind="llm", where={"model": "small"}, limit=50)

        assert (everything.backfill.total, len(told)) == (12, 12)
        assert (small.backfill.total, len(fewer), small.backfill.skipped) == (12, 0, 6)

    run_sync(scenario())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (BackfillSpec(where={"agnt": "x"}), "backfill with 'length': where key 'agnt' is unknown; did you mean"),
        (BackfillSpec(kind="sesion"), "kind 'sesion' is unknown; did you mean 'session'"),
        (BackfillSpec(kind="llm", where={"tool": "x"}), "where key 'tool' is none of kind 'llm'"),
        (BackfillSpec(sample_rate=2.0), "sample_rate 2.0 is not between 0 and 1"),
        (BackfillSpec(limit=0), "limit 0 is none"),
    ],
)
def test_what_cannot_be_is_refused(store: Store, spec: BackfillSpec, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_sync(create_backfill(store, PROJECT, "length", spec))


def test_a_scorer_that_nobody_offers_is_refused(store: Store) -> None:
    with pytest.raises(UnknownScorer, match="no live worker offers scorer 'length'"):
        run_sync(create_backfill(store, PROJECT, "length", BackfillSpec()))
