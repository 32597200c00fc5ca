from __future__ import annotations

import asyncio
import threading
from collections import Counter

from tests.pipeline.judges import GateJudge, LatencyJudge, OneSlowJudge, judged_scorer
from tests.pipeline.stored import PROJECT, all_scores, make_run, pumping, put_jobs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.judge import Judge
from tracescore.model import AgentRun
from tracescore.scorers import create_scorer, not_scorable, scorer
from tracescore.store import Store


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return min(len(run.output.text) / 100, 1.0)


def test_every_job_is_scored_once(store: Store) -> None:
    judge = LatencyJudge([0.0])
    app = TraceScore([length, judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(300)])
        async with pumping(store, app, slots=16):
            await until(lambda: _done(store, 600), description="600 jobs")
        scores = await all_scores(store)

        assert Counter(row.scorer_id for row in scores) == {"length": 300, "judged": 300}
        assert len({row.job_id for row in scores}) == 600
        assert {row.current for row in scores} == {True}
        assert len(judge.prompts) == 300

    run_sync(scenario())


def test_one_slow_call_holds_up_one_slot_and_no_batch(store: Store) -> None:
    judge = OneSlowJudge()
    app = TraceScore([judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(160)])
        async with pumping(store, app, slots=8):
            # Fixed batches would wait for their slowest member: all but the first batch would still be to do.
            await until(lambda: _done(store, 159), description="all jobs but the slow one")

            assert (judge.running, judge.most) == (1, 8)
            judge.open()
            await until(lambda: _done(store, 160), description="the slow job")

    run_sync(scenario())


def test_live_jobs_go_before_backfill(store: Store) -> None:
    judge = LatencyJudge([0.0])
    app = TraceScore([judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n, text=f"old {n}") for n in range(5)], queue="backfill")
        await put_jobs(store, app, [make_run(n, text=f"new {n}") for n in range(10, 15)], queue="live")
        async with pumping(store, app, slots=1):
            await until(lambda: _done(store, 10), description="10 jobs")

        assert [prompt.split()[0] for prompt in judge.prompts] == ["new"] * 5 + ["old"] * 5

    run_sync(scenario())


def test_jobs_that_nobody_was_told_of_are_found_by_polling(store: Store) -> None:
    app = TraceScore([length], rules=[])

    async def scenario() -> None:
        async with pumping(store, app) as pump:
            await until(lambda: _is(pump.idle), description="a pump that found nothing")
            await put_jobs(store, app, [make_run(0)])
            await pump.poll()
            await until(lambda: _done(store, 1), description="the job")

    run_sync(scenario())


def test_two_pumps_never_score_a_job_twice(store: Store) -> None:
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    @scorer(id="counted", version="1")
    def counted(run: AgentRun) -> float:
        with lock:
            calls[run.run_id] += 1
        return 1.0

    judge = LatencyJudge([0.001])
    app = TraceScore([counted, judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(400)])
        async with pumping(store, app, worker_id="a", slots=8) as a, pumping(store, app, worker_id="b", slots=8) as b:
            await until(lambda: _done(store, 800), description="800 jobs")
        # A pump counts what it wrote once it has heard of it: the store is ahead of that, until the pumps have stopped.
        assert a.written + b.written == 800
        assert min(a.written, b.written) > 0
        assert (len(calls), max(calls.values()), len(judge.prompts)) == (400, 1, 400)
        assert len(await all_scores(store)) == 800

    run_sync(scenario())


def test_a_scorer_that_raises_fails_its_job_and_no_other(store: Store) -> None:
    @scorer(id="picky", version="1")
    def picky(run: AgentRun) -> float:
        number = int(run.output.text.split()[1])
        if number % 3 == 0:
            raise RuntimeError(f"bad luck {number}")
        if number % 3 == 1:
            raise SystemExit(3)
        return not_scorable("nothing here") if number == 2 else 1.0

    app = TraceScore([picky], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(9)])
        async with pumping(store, app):
            await until(lambda: _done(store, 9), description="9 jobs")
        scores = await all_scores(store)

        assert Counter((row.outcome, row.error_type) for row in scores) == {
            ("failure", "RuntimeError"): 3,
            ("failure", "SystemExit"): 3,
            ("not_scorable", None): 1,
            ("score", None): 2,
        }

    run_sync(scenario())


def test_a_scorer_that_blocks_holds_up_no_other_job(store: Store) -> None:
    release = threading.Event()

    @scorer(id="blocking", version="1")
    def blocking(run: AgentRun) -> float:
        if run.output.text == "block":
            release.wait(20)
        return 1.0

    app = TraceScore([blocking], rules=[])

    async def scenario() -> None:
        runs = [make_run(n, text="block" if n in (3, 40) else "go") for n in range(200)]
        await put_jobs(store, app, runs)
        async with pumping(store, app):
            await until(lambda: _done(store, 198), description="all but the blocked jobs")
            release.set()
            await until(lambda: _done(store, 200), description="the blocked jobs")

    run_sync(scenario())


def test_a_step_of_a_judged_scorer_that_blocks_does_not_stall_the_loop(store: Store) -> None:
    release = threading.Event()
    judge = LatencyJudge([0.0])
    base = judged_scorer(judge)

    def wait_for_it(run: AgentRun) -> float:
        release.wait(20)
        return 1.0

    blocked = (
        create_scorer(id="blocked", type="agent", judge=Judge(model=judge, instructions="Wait."), version="1")
        .preprocess(lambda ctx: wait_for_it(ctx.run))
        .generate_score(description="judge it", create_prompt=lambda ctx: "blocked")
    )
    app = TraceScore([base, blocked], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(0), make_run(1)])
        async with pumping(store, app, slots=4):
            await until(lambda: _done(store, 2), description="the jobs of the other scorer")
            release.set()
            await until(lambda: _done(store, 4), description="all jobs")

    run_sync(scenario())


def test_a_drain_waits_for_jobs_in_flight_and_gives_back_the_rest(store: Store) -> None:
    judge = GateJudge()
    app = TraceScore([judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(12)])
        async with pumping(store, app, slots=4) as pump:
            await until(lambda: _is(judge.asked == 4), description="4 open calls")
            drain = asyncio.create_task(pump.drain(10))
            await until(lambda: _pending(store, 8), description="8 jobs given back")
            judge.open()
            await drain

            assert (judge.asked, pump.written, pump.held) == (4, 4, 0)
        jobs = await store.jobs.for_runs(PROJECT, [make_run(n).run_id for n in range(12)])
        assert Counter((job.state, job.leases_taken) for job in jobs) == {("done", 1): 4, ("pending", 0): 8}

    run_sync(scenario())


def test_what_is_not_done_within_the_grace_is_given_back(store: Store) -> None:
    judge = GateJudge()
    app = TraceScore([judged_scorer(judge)], rules=[])

    async def scenario() -> None:
        await put_jobs(store, app, [make_run(n) for n in range(6)])
        async with pumping(store, app, slots=4, grace=0.05):
            await until(lambda: _is(judge.asked == 4), description="4 open calls")
        assert await _pending(store, 6)
        assert (judge.cancelled, await all_scores(store)) == (4, [])

        judge.open()
        async with pumping(store, app, worker_id="next"):
            await until(lambda: _done(store, 6), description="the jobs that were given back")

    run_sync(scenario())


async def _done(store: Store, count: int) -> bool:
    counts = await store.jobs.counts(PROJECT)
    return counts["done"] + counts["failed"] + counts["not_scorable"] == count


async def _pending(store: Store, count: int) -> bool:
    return (await store.jobs.counts(PROJECT))["pending"] == count


async def _is(value: bool) -> bool:
    return value
