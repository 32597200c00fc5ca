from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Sequence
from typing import Any, cast

import pytest

from tests.pipeline.judges import FaultyStore, GateJudge, LatencyJudge, judged_scorer
from tests.pipeline.stored import (
    PROJECT,
    all_scores,
    make_run,
    new_job,
    pumping,
    put_jobs,
    put_runs,
    until,
)
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.judge import Judge
from tracescore.model import AgentRun
from tracescore.pipeline.run_records import run_record
from tracescore.scorers import create_scorer, filter_run, scorer
from tracescore.store import FinishedJob, Store


def test_a_worker_that_lost_its_lease_writes_nothing(store: Store) -> None:
    stalled_judge, judge = GateJudge(), LatencyJudge([0.0])
    cut_off = FaultyStore(store)
    cut_off.jobs.renewals_fail = True

    async def scenario() -> None:
        first = TraceScore([judged_scorer(stalled_judge)], rules=[])
        second = TraceScore([judged_scorer(judge)], rules=[])
        await put_jobs(store, first, [make_run(0)])
        async with pumping(cast("Any", cut_off), first, worker_id="stalled", lease=0.2) as stalled:
            await until(lambda: _is(stalled_judge.asked == 1), description="a call in flight")
            async with pumping(store, second, worker_id="healthy", lease=5) as healthy:
                await until(lambda: _polled(healthy, store), description="the job taken over")
                stalled_judge.open()
                await until(lambda: _is(stalled.fenced == 1), description="a result that is refused")
        scores = await all_scores(store)

        assert [(row.score, row.current) for row in scores] == [(0.5, True)]
        assert stalled.written == 0

    run_sync(scenario())


def test_a_call_whose_lease_is_lost_is_stopped(store: Store) -> None:
    stalled_judge, judge = GateJudge(), LatencyJudge([0.0])
    cut_off = FaultyStore(store)
    cut_off.jobs.renewals_fail = True

    async def scenario() -> None:
        first = TraceScore([judged_scorer(stalled_judge)], rules=[])
        second = TraceScore([judged_scorer(judge)], rules=[])
        await put_jobs(store, first, [make_run(0)])
        async with pumping(cast("Any", cut_off), first, worker_id="stalled", lease=0.2) as stalled:
            await until(lambda: _is(stalled_judge.asked == 1), description="a call in flight")
            async with pumping(store, second, worker_id="healthy", lease=5) as healthy:
                await until(lambda: _polled(healthy, store), description="the job taken over")
            cut_off.jobs.renewals_fail = False
            await until(lambda: _is(stalled_judge.cancelled == 1), description="the call stopped")

            assert stalled.held == 0

    run_sync(scenario())


def test_a_lease_is_renewed_while_the_loop_is_busy(store: Store) -> None:
    judge = GateJudge()
    app = TraceScore([judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(0)])
        async with pumping(store, app, lease=0.3) as pump:
            await until(lambda: _is(judge.asked == 1), description="a call in flight")
            _hold_the_loop(1.0)
            judge.open()
            await until(lambda: _done(store, 1), description="the job")

            assert (pump.written, pump.fenced) == (1, 0)
        (job,) = await store.jobs.for_runs(PROJECT, [make_run(0).run_id])
        assert job.leases_taken == 1

    run_sync(scenario())


def test_results_wait_for_a_store_that_is_locked(store: Store) -> None:
    judge = LatencyJudge([0.0])
    app = TraceScore([judged_scorer(judge)], rules=[])
    faulty = FaultyStore(store)
    faulty.jobs.writes_to_fail = 1

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(4)])
        async with pumping(cast("Any", faulty), app):
            await until(lambda: _done(store, 4), description="the results written after all")

        assert len(judge.prompts) == 4

    run_sync(scenario())


def test_a_result_that_is_being_written_is_no_lost_lease(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = TraceScore([judged_scorer(LatencyJudge([0.0]))], rules=[])
    finish, renew = store.jobs.finish, store.jobs.renew
    told, renewals = asyncio.Event(), list[float]()

    async def finish_and_answer_late(finished: Sequence[FinishedJob]) -> set[str]:
        written = await finish(finished)
        await told.wait()
        return written

    async def renew_and_count(*arguments: Any, **options: Any) -> set[str]:
        kept = await renew(*arguments, **options)
        renewals.append(time.monotonic())
        return kept

    monkeypatch.setattr(store.jobs, "finish", finish_and_answer_late)
    monkeypatch.setattr(store.jobs, "renew", renew_and_count)

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(0)])
        async with pumping(store, app, lease=0.1) as pump:
            await until(lambda: _done(store, 1), description="a result in the store")
            before = len(renewals)
            await until(lambda: _is(len(renewals) >= before + 2), description="renewals of what is written")
            told.set()
            await until(lambda: _is(pump.written == 1), description="the worker to know")

        assert "leases were lost" not in caplog.text

    run_sync(scenario())


def test_what_the_steps_see_unchanged_is_not_judged_again(store: Store) -> None:
    judge = LatencyJudge([0.0])
    judged = judged_scorer(judge, prepare_run=filter_run(max_remembered_messages=0, drop_ground_truth=True))
    app = TraceScore([judged], rules=[])

    async def scenario() -> None:
        run = make_run(0)
        await put_jobs(store, app, [run])
        async with pumping(store, app) as pump:
            await until(lambda: _done(store, 1), description="the first job")
            (first,) = await all_scores(store)

            revised = dataclasses.replace(run, ground_truth="known now")
            await put_runs(store, [revised], version=2)
            await store.jobs.plan(
                PROJECT, app.name, [new_job(revised, scorer_id=judged.id, version=judged.version, revision=2)]
            )
            pump.wake()
            await until(lambda: _done(store, 2), description="the second job")
        scores = await all_scores(store)

        assert [(row.score_id, row.current) for row in scores] == [(first.score_id, True)]
        assert len(judge.prompts) == 1

    run_sync(scenario())


def test_a_new_generation_is_judged_again(store: Store) -> None:
    judge = LatencyJudge([0.0])
    judged = judged_scorer(judge)
    app = TraceScore([judged], rules=[])

    async def scenario() -> None:
        run = make_run(0)
        await put_jobs(store, app, [run])
        async with pumping(store, app) as pump:
            await until(lambda: _done(store, 1), description="the first job")
            again = new_job(run, scorer_id=judged.id, version=judged.version, generation=1)
            await store.jobs.plan(PROJECT, app.name, [again])
            pump.wake([again.job_id])
            await until(lambda: _done(store, 2), description="the second job")
        scores = await all_scores(store)

        assert sorted((row.generation, row.current) for row in scores) == [(0, False), (1, True)]
        assert len(judge.prompts) == 2

    run_sync(scenario())


def test_a_reply_that_was_paid_for_is_not_asked_for_again(store: Store) -> None:
    judge, gate = LatencyJudge([0.0]), GateJudge()
    scored = (
        create_scorer(id="two", type="agent", version="1")
        .analyze(
            description="look",
            create_prompt=lambda ctx: "look",
            output_schema={"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]},
            judge=Judge(model=judge, instructions="Look."),
        )
        .generate_score(
            description="judge", create_prompt=lambda ctx: "judge", judge=Judge(model=gate, instructions="Judge.")
        )
    )
    app = TraceScore([scored], rules=[])
    faulty = FaultyStore(store)
    faulty.jobs.reads_to_fail = 1  # an outage is no reason to pay again, nor for the job to fail

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(0)])
        async with pumping(store, app, grace=0.0):
            await until(lambda: _is(gate.asked == 1), description="the second call in flight")
        gate.open()
        async with pumping(cast("Any", faulty), app, worker_id="next"):
            await until(lambda: _done(store, 1), description="the job")
        (score,) = await all_scores(store)
        kept = await store.scores.get(score.score_id)

        assert (len(judge.prompts), gate.asked) == (1, 2)
        assert kept is not None
        assert kept.evidence is not None
        assert [call["reused"] for call in kept.evidence["judge_calls"]] == [True, False]

    run_sync(scenario())


def test_a_stored_run_that_cannot_be_read_fails_its_job(store: Store) -> None:
    @scorer(id="any", version="1")
    def any_scorer(run: AgentRun) -> float:
        return 1.0

    app = TraceScore([any_scorer], rules=[])

    async def scenario() -> None:
        run = make_run(0)
        record = dataclasses.replace(run_record(run, first_arrival_ns=1), body=b"{broken")
        await store.runs.replace_runs(PROJECT, str(run.trace_id), 1, [record], now_ns=time.time_ns())
        await store.jobs.plan(PROJECT, app.name, [new_job(run, scorer_id="any", version="1")])
        async with pumping(store, app):
            await until(lambda: _done(store, 1), description="the job")
        (score,) = await all_scores(store)

        assert (score.outcome, score.error_type) == ("failure", "JSONDecodeError")

    run_sync(scenario())


def _hold_the_loop(seconds: float) -> None:
    time.sleep(seconds)


async def _polled(pump: Any, store: Store) -> bool:
    await pump.poll()
    return await _done(store, 1)


async def _done(store: Store, count: int) -> bool:
    counts = await store.jobs.counts(PROJECT)
    return counts["done"] + counts["failed"] + counts["not_scorable"] == count


async def _is(value: bool) -> bool:
    return value
