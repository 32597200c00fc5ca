"""Runs, offers and outcomes that the API tests find in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tracescore.bridge import run_sync
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Messages,
    Score,
    ScoreOutcome,
    Target,
    text_message,
)
from tracescore.model.ids import run_id
from tracescore.pipeline.run_records import run_record
from tracescore.store import ClaimedJob, FinishedJob, NewJob, Offered, OfferRecord, Store

PROJECT = "default"
SECOND = 1_000_000_000
START = 1_796_045_057_000_000_000


def make_run(
    number: int = 1,
    *,
    span: int | None = None,
    agent: str = "Ada",
    session: str | None = None,
    outermost: bool = True,
    status: str = "ok",
) -> AgentRun:
    trace_id, span_id = f"{number:032x}", f"{span or number:016x}"
    return AgentRun(
        run_id=run_id(project=PROJECT, kind="agent", trace_id=trace_id, span_id=span_id),
        target=Target(trace_id=trace_id, span_id=span_id),
        agent_name=agent,
        session_id=session,
        service="shop",
        status="error" if status == "error" else "ok",
        outermost=outermost,
        input=AgentInput(input_messages=Messages([text_message("user", f"question {number}")])),
        output=AgentOutput([text_message("assistant", f"answer {number}")]),
        start_ns=START + number * SECOND,
        end_ns=START + number * SECOND + 5,
    )


def put_runs(store: Store, *runs: AgentRun) -> None:
    by_trace: dict[str, list[AgentRun]] = {}
    for run in runs:
        by_trace.setdefault(str(run.trace_id), []).append(run)
    for trace_id, of_trace in by_trace.items():
        records = [run_record(run, first_arrival_ns=START) for run in of_trace]
        run_sync(store.runs.replace_runs(PROJECT, trace_id, 1, records))


def offer(
    store: Store,
    *scorer_ids: str,
    version: str = "v1",
    worker: str = "w1",
    seen_ns: int | None = None,
    reads: tuple[str, ...] = (),
) -> None:
    offers = [
        OfferRecord(scorer_id=name, version=version, description=f"what {name} says", reads=reads)
        for name in scorer_ids
    ]
    run_sync(store.control.register_offers(worker, "app", PROJECT, offers, now_ns=seen_ns or time.time_ns()))


def plan(store: Store, *runs: AgentRun, scorer_id: str = "brevity") -> None:
    jobs = [
        NewJob(
            job_id=run_id(project="job", kind=scorer_id, trace_id=run.run_id),
            run_id=run.run_id,
            revision=1,
            scorer_id=scorer_id,
            scorer_version="v1",
            planned_hash="h",
        )
        for run in runs
    ]
    run_sync(store.jobs.plan(PROJECT, "app", jobs))


def brevity(job: ClaimedJob) -> ScoreOutcome:
    return Score(
        run_id=job.run_id, scorer_id=job.scorer_id, scorer_version=job.scorer_version, score=0.5, reason="short enough"
    )


def work(
    store: Store,
    *,
    scorer_id: str = "brevity",
    outcome: Callable[[ClaimedJob], ScoreOutcome] = brevity,
    now_ns: int | None = None,
) -> Sequence[ClaimedJob]:
    """Do every due job of a scorer, as a worker would."""
    now = now_ns or time.time_ns()
    offers = [Offered(project=PROJECT, scorer_id=scorer_id, scorer_version="v1")]
    claimed = run_sync(store.jobs.claim(offers, worker="w1", now_ns=now, lease_ns=60 * SECOND, limit=100))
    finished = [
        FinishedJob(project=PROJECT, job_id=job.job_id, token=job.token, outcome=outcome(job), finished_ns=now)
        for job in claimed
    ]
    assert len(run_sync(store.jobs.finish(finished))) == len(claimed)
    return claimed
