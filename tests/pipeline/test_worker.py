from __future__ import annotations

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.pipeline.exports import REMOTE, agent_span, receive
from tests.pipeline.judges import FaultyStore, LatencyJudge, judged_scorer
from tests.pipeline.stored import PROJECT, all_scores, make_run, put_jobs, until
from tests.waiting import wait_until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.errors import StoreError
from tracescore.model import AgentRun
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.offers import offer_records
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.scheduler import Scheduler
from tracescore.pipeline.wake import MemoryWake, NoWake, Wake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.scorers import create_scorer, scorer
from tracescore.scorers.described import load_facts
from tracescore.sinks import MemorySink, Sink
from tracescore.store import Store

QUIET_NS = 200_000_000
OPTIONS = WorkerOptions(times=SettleTimes(quiet_ns=QUIET_NS, orphan_ns=QUIET_NS, max_ns=60_000_000_000))


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return min(len(run.output.text) / 100, 1.0)


@contextmanager
def working(
    store: Store,
    app: TraceScore,
    *,
    wake: Wake | None = None,
    options: WorkerOptions = OPTIONS,
    sinks: Sequence[Sink] = (),
) -> Generator[Worker]:
    worker = Worker(store, app, wake=wake or NoWake(), options=options, sinks=sinks)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(grace=10)


def done(store: Store) -> int:
    return run_sync(store.jobs.counts(PROJECT))["done"]


def test_spans_become_scores_without_any_broker(store: Store) -> None:
    judge, sink = LatencyJudge([0.0]), MemorySink()
    app = TraceScore([length, judged_scorer(judge)])
    with working(store, app, sinks=[sink]):
        run_sync(receive(store, [agent_span(trace, 1) for trace in range(1, 21)], quiet_ns=QUIET_NS))
        wait_until(lambda: len(sink.items) == 40, description="40 scores written back")
        scores = run_sync(all_scores(store))

    assert Counter(row.scorer_id for row in scores) == {"length": 20, "judged": 20}
    assert {row.source for row in scores} == {"live"}
    assert len(judge.prompts) == 20


def test_a_conversation_becomes_a_score_when_it_is_idle(store: Store) -> None:
    whole = create_scorer(id="whole", type="agent", version="1", score_range=None).generate_score(
        lambda ctx: len(ctx.run.conversation)
    )
    app = TraceScore([whole], rules=[Rule(whole, kind="session")])
    times = SettleTimes(quiet_ns=QUIET_NS, orphan_ns=QUIET_NS, max_ns=60_000_000_000, session_idle_ns=2 * QUIET_NS)
    with working(store, app, options=WorkerOptions(times=times)):
        said = {"gen_ai.conversation.id": "talk"}
        turns = [agent_span(trace, trace, attributes=said) for trace in (1, 2, 3)]
        run_sync(receive(store, turns, quiet_ns=QUIET_NS))
        wait_until(lambda: done(store) == 1, description="the session's score")
        (row,) = run_sync(all_scores(store))

    assert (row.score, row.trace_id, row.source) == (6.0, None, "live")


def test_the_same_export_twice_is_judged_once(store: Store) -> None:
    judge = LatencyJudge([0.0])
    app = TraceScore([judged_scorer(judge)])
    spans = [agent_span(1, 1), agent_span(1, 2, parent=1, attributes={"gen_ai.agent.name": "inner"})]
    with working(store, app):
        run_sync(receive(store, spans, quiet_ns=QUIET_NS))
        wait_until(lambda: done(store) == 1, description="the score")
        for span in reversed(spans):
            run_sync(receive(store, [span], quiet_ns=QUIET_NS))
        wait_until(lambda: run_sync(store.spans.trace_counts(PROJECT)).settling == 0, description="settled again")
        scores = run_sync(all_scores(store))

    assert len(scores) == len(judge.prompts) == 1


def test_a_parent_that_comes_late_has_nothing_judged_again(store: Store) -> None:
    judge = LatencyJudge([0.0])
    app = TraceScore([judged_scorer(judge)])
    with working(store, app):
        run_sync(receive(store, [agent_span(1, 2, parent=1, flags=REMOTE)], quiet_ns=QUIET_NS))
        wait_until(lambda: done(store) == 1, description="the score")
        gateway = agent_span(1, 1) | {"name": "POST /chat", "attributes": []}
        run_sync(receive(store, [gateway], quiet_ns=QUIET_NS))
        wait_until(lambda: run_sync(store.spans.trace_counts(PROJECT)).settling == 0, description="settled again")
        scores = run_sync(all_scores(store))

    assert len(judge.prompts) == 1
    assert [row.current for row in scores] == [True]


def test_with_a_broker_jobs_come_by_wakes(store: Store) -> None:
    app, wake = TraceScore([length]), MemoryWake()
    options = WorkerOptions(times=OPTIONS.times, has_broker=True)
    with working(store, app, wake=wake, options=options) as worker:
        wake.listen(worker.wake)
        worker.broker_is_up(True)
        run_sync(receive(store, [agent_span(1, 1)], quiet_ns=QUIET_NS))
        wait_until(lambda: done(store) == 1, description="the score")
        jobs = run_sync(store.jobs.for_runs(PROJECT, [run_sync(all_scores(store))[0].run_id]))

    assert wake.sent[0] == ("live", (jobs[0].job_id,))


def test_wakes_that_were_lost_are_sent_again(store: Store) -> None:
    app, sent = TraceScore([length], rules=[]), list[tuple[str, tuple[str, ...]]]()

    async def told() -> bool:
        return bool(sent)

    async def scenario() -> str:
        # Without a pump: one beside it may find the job by polling before the wake is due.
        scheduler = Scheduler(
            store,
            app,
            worker_id="w",
            projects=[PROJECT],
            wake=lambda job_ids, queue: sent.append((queue, tuple(job_ids))),
            times=OPTIONS.times,
        )
        await store.control.register_offers("w", app.name, PROJECT, offer_records(app), now_ns=time.time_ns())
        (job_id,) = await put_jobs(store, app, [make_run(0)])
        running = asyncio.create_task(scheduler.run())
        await until(told, description="the reconciler's wake")
        running.cancel()
        await asyncio.wait([running])
        return job_id

    job_id = run_sync(scenario())

    assert sent[0] == ("live", (job_id,))


def test_a_worker_that_breaks_says_so_to_whoever_runs_it(store: Store) -> None:
    faulty, failures = FaultyStore(store), list[BaseException]()
    app = TraceScore([length], rules=[])
    worker = Worker(cast("Any", faulty), app, wake=NoWake(), options=OPTIONS, on_failure=failures.append)
    worker.start()
    faulty.jobs.claims_break = True
    worker.wake()
    wait_until(lambda: failures, description="the failure")
    worker.stop(grace=1)

    assert "a defect" in "".join(traceback.format_exception(failures[0]))


def test_a_worker_that_cannot_start_raises(tmp_path: Path) -> None:
    closed = Store.open(tmp_path / "closed")
    closed.close()
    worker = Worker(closed, TraceScore([length], rules=[]), wake=NoWake(), options=OPTIONS)

    with pytest.raises(StoreError):
        worker.start()


def test_a_worker_tells_what_it_offers_and_is_forgotten_when_it_stops(store: Store) -> None:
    app = TraceScore([length, judged_scorer(LatencyJudge([0.0]))], name="mine")
    with working(store, app) as worker:
        offers = run_sync(store.control.offers(PROJECT))
        (row,) = run_sync(store.control.workers())

        assert sorted((offer.offer.scorer_id, offer.offer.needs_judge, offer.app) for offer in offers) == [
            ("judged", True, "mine"),
            ("length", False, "mine"),
        ]
        assert row.worker == worker.id
        assert row.info["broker"] == "none"
    assert run_sync(store.control.workers()) == []
    assert run_sync(store.control.offers(PROJECT)) == []


def test_a_worker_keeps_what_the_versions_that_it_offers_are_made_of(store: Store) -> None:
    with working(store, TraceScore([length])):
        (described,) = run_sync(store.offered.described(PROJECT, "length"))

    assert (described.version, described.seen_ns > 0) == ("1", True)
    assert "generate_score, function" in [fact.label for fact in load_facts(described.body)]
