"""Runs, jobs and pumps for tests: what is planned goes into a real store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from tracescore.app import TraceScore
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Messages,
    Target,
    content_hash,
    text_message,
)
from tracescore.model.ids import job_id, run_id
from tracescore.pipeline.pump import Pump
from tracescore.pipeline.run_records import run_record
from tracescore.redaction import Redaction
from tracescore.store import NewJob, Offered, Queue, RunFilters, ScoreRow, Store

PROJECT = "default"


def make_run(number: int, *, text: str | None = None, agent: str = "helper") -> AgentRun:
    trace_id, span_id = f"{number + 1:032x}", f"{number + 1:016x}"
    return AgentRun(
        run_id=run_id(project=PROJECT, kind="agent", trace_id=trace_id, span_id=span_id),
        target=Target(trace_id=trace_id, span_id=span_id),
        agent_name=agent,
        input=AgentInput(input_messages=Messages([text_message("user", f"question {number}")])),
        output=AgentOutput([text_message("assistant", text if text is not None else f"answer {number}")]),
        start_ns=1_000 + number,
        end_ns=2_000 + number,
    )


async def put_runs(store: Store, runs: Sequence[AgentRun], *, version: int = 1) -> None:
    now_ns = time.time_ns()
    await asyncio.gather(
        *(
            store.runs.replace_runs(
                PROJECT, str(run.trace_id), version, [run_record(run, first_arrival_ns=now_ns)], now_ns=now_ns
            )
            for run in runs
        )
    )


def new_job(
    run: AgentRun,
    *,
    scorer_id: str,
    version: str,
    queue: Queue = "live",
    revision: int = 1,
    generation: int = 0,
    due_at_ns: int = 0,
) -> NewJob:
    planned_hash = content_hash(run)
    return NewJob(
        job_id=job_id(
            run_id=run.run_id,
            planned_hash=planned_hash,
            scorer_id=scorer_id,
            scorer_version=version,
            generation=generation,
        ),
        run_id=run.run_id,
        revision=revision,
        scorer_id=scorer_id,
        scorer_version=version,
        generation=generation,
        planned_hash=planned_hash,
        source="live" if queue == "live" else "backfill",
        queue=queue,
        due_at_ns=due_at_ns,
    )


async def put_jobs(store: Store, app: TraceScore, runs: Sequence[AgentRun], *, queue: Queue = "live") -> list[str]:
    """Store runs and plan every scorer of an app for each."""
    await put_runs(store, runs)
    jobs = [
        new_job(run, scorer_id=scorer.id, version=scorer.version, queue=queue)
        for run in runs
        for scorer in app.scorers.values()
    ]
    return await store.jobs.plan(PROJECT, app.name, jobs, now_ns=time.time_ns())


async def all_scores(store: Store, *, current: bool | None = None) -> list[ScoreRow]:
    rows: list[ScoreRow] = []
    after: str | None = None
    while True:
        page = await store.scores.list(PROJECT, current=current, limit=500, after=after)
        rows += page.items
        if (after := page.next) is None:
            return rows


async def until(condition: Callable[[], Awaitable[object]], *, description: str, within: float = 20.0) -> None:
    """Wait for an async predicate, without stopping the loop that it waits for."""
    deadline = time.monotonic() + within
    while not await condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within} s in vain for {description}")
        await asyncio.sleep(0.01)


@asynccontextmanager
async def pumping(
    store: Store,
    app: TraceScore,
    *,
    slots: int = 8,
    lease: float = 60.0,
    worker_id: str = "worker",
    sinks: Sequence[str] = (),
    grace: float = 10.0,
    redaction: Redaction | None = None,
) -> AsyncGenerator[Pump, None]:
    """Run a pump, woken once; drained at the end."""
    pump = Pump(
        store,
        app,
        projects=[PROJECT],
        worker_id=worker_id,
        slots=slots,
        lease=lease,
        sinks=sinks,
        redaction=redaction,
    )
    task = asyncio.create_task(pump.run())
    try:
        yield pump
        await pump.drain(grace)
    except BaseException:
        task.cancel()
        raise
    await task


def offers_of(app: TraceScore) -> list[Offered]:
    return [
        Offered(project=PROJECT, scorer_id=scorer.id, scorer_version=scorer.version) for scorer in app.scorers.values()
    ]


async def run_count(store: Store) -> int:
    return len((await store.runs.list(PROJECT, filters=RunFilters(), limit=500)).items)
