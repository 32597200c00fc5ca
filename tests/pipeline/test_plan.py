from __future__ import annotations

import dataclasses
import time

from tests.pipeline.judges import LatencyJudge, judged_scorer
from tests.pipeline.stored import PROJECT, make_run, new_job, put_runs
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import AgentRun, Usage
from tracescore.pipeline.plan import Planning, plan_runs
from tracescore.pipeline.rules import Rule, sample_number
from tracescore.pipeline.run_records import run_record
from tracescore.scorers import scorer
from tracescore.store import PlannableRun, Store


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return 1.0


@scorer(id="thrifty", version="1", reads=["usage"])
def thrifty(run: AgentRun) -> float:
    return 1.0


def planning(store: Store, app: TraceScore, *, told: list[str], worker_id: str = "worker") -> Planning:
    return Planning(store, app, project=PROJECT, worker_id=worker_id, on_jobs=lambda ids, _: told.extend(ids))


def test_each_run_is_planned_once_for_each_scorer(store: Store) -> None:
    app, told = TraceScore([length, thrifty]), list[str]()

    async def scenario() -> None:
        plan = planning(store, app, told=told)
        await plan.register()
        await put_runs(store, [make_run(n) for n in range(300)])
        while await plan.step():
            pass
        assert len(set(told)) == len(told) == 600
        assert (await store.jobs.counts(PROJECT))["pending"] == 600

        await plan.step()
        assert len(told) == 600

    run_sync(scenario())


def test_two_workers_of_an_app_plan_together_what_one_would(store: Store) -> None:
    app, told = TraceScore([length]), list[str]()

    async def scenario() -> None:
        first = planning(store, app, told=told, worker_id="a")
        second = planning(store, app, told=told, worker_id="b")
        await first.register()
        await second.register()
        await put_runs(store, [make_run(n) for n in range(600)])
        while await first.step() or await second.step():
            pass

        assert len(set(told)) == len(told) == 600

    run_sync(scenario())


def test_two_apps_plan_each_for_itself(store: Store) -> None:
    told_a, told_b = list[str](), list[str]()

    async def scenario() -> None:
        first = planning(store, TraceScore([length], name="a"), told=told_a)
        second = planning(store, TraceScore([thrifty], name="b"), told=told_b)
        await first.register()
        await second.register()
        await put_runs(store, [make_run(n) for n in range(3)])
        await first.step()
        await second.step()

        assert (len(told_a), len(told_b)) == (3, 3)

    run_sync(scenario())


def test_what_arrived_before_a_rule_was_known_is_not_live(store: Store) -> None:
    told = list[str]()

    async def scenario() -> None:
        before = planning(store, TraceScore([length]), told=[])
        await before.register()
        await put_runs(store, [make_run(0)])
        grown = planning(store, TraceScore([length, thrifty]), told=told)
        await grown.register()
        await put_runs(store, [make_run(1)])
        await grown.step()
        jobs = await store.jobs.for_runs(PROJECT, [make_run(0).run_id, make_run(1).run_id])

        assert sorted((job.run_id == make_run(0).run_id, job.scorer_id) for job in jobs) == [
            (False, "length"),
            (False, "thrifty"),
            (True, "length"),
        ]

    run_sync(scenario())


def test_a_change_that_a_scorer_reads_is_planned_again_and_any_other_is_not(store: Store) -> None:
    told = list[str]()

    async def scenario() -> None:
        plan = planning(store, TraceScore([length, thrifty]), told=told)
        await plan.register()
        run = make_run(0)
        await put_runs(store, [run])
        await plan.step()
        await put_runs(store, [dataclasses.replace(run, usage=Usage(input=10, output=5))], version=2)
        await plan.step()
        jobs = await store.jobs.for_runs(PROJECT, [run.run_id])

        assert sorted((job.scorer_id, job.state) for job in jobs) == [
            ("length", "pending"),
            ("thrifty", "pending"),
            ("thrifty", "superseded"),
        ]

    run_sync(scenario())


def test_a_run_that_proved_nested_loses_its_pending_job(store: Store) -> None:
    told = list[str]()

    async def scenario() -> None:
        plan = planning(store, TraceScore([length]), told=told)
        await plan.register()
        run = make_run(0)
        await put_runs(store, [run])
        await plan.step()
        await put_runs(store, [dataclasses.replace(run, outermost=False, parent_run_id="0" * 32)], version=2)
        await plan.step()
        jobs = await store.jobs.for_runs(PROJECT, [run.run_id])

        assert [job.state for job in jobs] == ["superseded"]

    run_sync(scenario())


def test_sampling_takes_the_same_runs_everywhere_and_counts_the_rest() -> None:
    judged = judged_scorer(LatencyJudge([0.0]))
    app = TraceScore([judged], rules=[Rule(judged, sample_rate=0.25)])
    runs = [make_run(n) for n in range(400)]
    plannable = [_plannable(run, seq) for seq, run in enumerate(runs)]
    plan = plan_runs(app, plannable, first_seen=dict.fromkeys(app.rule_set.rule_hashes, 0), now_ns=7_200_000_000_000)

    taken = [run.run_id for run in runs if sample_number(run) < 0.25]
    assert [job.run_id for job in plan.jobs] == taken
    assert {job.probability for job in plan.jobs} == {0.25}
    assert {(count.scorer_id, count.hour, count.outcome): count.count for count in plan.counts} == {
        ("judged", 2, "sampled_in"): len(taken),
        ("judged", 2, "sampled_out"): 400 - len(taken),
    }


def test_a_job_found_twice_is_the_same_job(store: Store) -> None:
    told = list[str]()

    async def scenario() -> None:
        plan = planning(store, TraceScore([length]), told=told)
        await plan.register()
        await put_runs(store, [make_run(0)])
        by_hand = new_job(make_run(0), scorer_id="length", version="1")
        await store.jobs.plan(PROJECT, "default", [by_hand], now_ns=time.time_ns())
        await plan.step()
        jobs = await store.jobs.for_runs(PROJECT, [make_run(0).run_id])

        assert [job.job_id for job in jobs] == [by_hand.job_id]

    run_sync(scenario())


def _plannable(run: AgentRun, seq: int) -> PlannableRun:
    record = run_record(run, first_arrival_ns=1)
    return PlannableRun(
        seq=seq, run_id=run.run_id, revision=1, first_arrival_ns=1, body=record.body, withdrawn=False, changed=False
    )
