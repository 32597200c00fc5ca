"""What the tests put into a store."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from tracescore.bridge import run_sync
from tracescore.model import Evidence, NotScorable, Score, ScoreFailure
from tracescore.model.ids import job_id, run_id
from tracescore.otel.records import LogRow, SpanRow
from tracescore.store import ClaimedJob, FinishedJob, NewJob, Offered, RunRecord, Store

NOW = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
LEASE = 60 * SECOND
TRACE = "11" * 16
OFFER = Offered(project="default", scorer_id="brevity", scorer_version="1")


def digest(text: str, size: int) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:size]


def span_row(
    name: str = "a", *, trace_id: str = TRACE, copy: str = "", complete: bool = False, body: bytes = b"{}"
) -> SpanRow:
    return SpanRow(
        trace_id=bytes.fromhex(trace_id),
        span_id=digest(name, 8),
        copy_hash=digest(name + copy, 16),
        parent_span_id=None,
        start_ns=NOW,
        end_ns=NOW + SECOND,
        flags=256,
        complete=complete,
        body=body,
    )


def log_row(name: str = "a", *, trace_id: str = TRACE, copy: str = "") -> LogRow:
    return LogRow(bytes.fromhex(trace_id), digest(name, 8), digest("log" + name + copy, 16), NOW, b"[]")


def run_record(
    name: str = "a", *, trace_id: str = TRACE, content: str = "c", plan: str = "p", **changes: Any
) -> RunRecord:
    span_id = digest(name, 8).hex()
    record = RunRecord(
        run_id=run_id(kind="agent", trace_id=trace_id, span_id=span_id),
        kind="agent",
        trace_id=trace_id,
        span_id=span_id,
        parent_run_id=None,
        session_id=None,
        agent_name=name,
        service="shop",
        environment="test",
        status="ok",
        started_ns=NOW,
        ended_ns=NOW + SECOND,
        first_arrival_ns=NOW,
        outermost=True,
        content_hash=content,
        plan_hash=plan,
        body=f"{name} {content}".encode(),
    )
    return replace(record, **changes)


def new_job(
    run: RunRecord, *, revision: int = 1, scorer_id: str = "brevity", version: str = "1", **changes: Any
) -> NewJob:
    planned_hash = changes.pop("planned_hash", run.content_hash)
    generation = changes.pop("generation", 0)
    changes.setdefault("due_at_ns", NOW)
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
        **changes,
    )


def score_of(job: ClaimedJob, value: float = 0.5, **changes: Any) -> Score:
    score = Score(
        run_id=job.run_id,
        scorer_id=job.scorer_id,
        scorer_version=job.scorer_version,
        score=value,
        reason="since",
        evidence=Evidence(judged_hash=f"judged {job.revision}"),
    )
    return replace(score, **changes)


def failure_of(job: ClaimedJob) -> ScoreFailure:
    return ScoreFailure(
        run_id=job.run_id,
        scorer_id=job.scorer_id,
        scorer_version=job.scorer_version,
        failed_step="analyze",
        error_type="ValueError",
        message="broken",
    )


def not_scorable_of(job: ClaimedJob) -> NotScorable:
    return NotScorable(
        run_id=job.run_id, scorer_id=job.scorer_id, scorer_version=job.scorer_version, reason="nothing said"
    )


def finished(job: ClaimedJob, outcome: Any = None, **changes: Any) -> FinishedJob:
    changes.setdefault("finished_ns", NOW + SECOND)
    return FinishedJob(
        project=job.project,
        job_id=job.job_id,
        token=job.token,
        outcome=score_of(job) if outcome is None and "by_reference" not in changes else outcome,
        **changes,
    )


def replace_runs(store: Store, *runs: RunRecord, version: int = 1, trace_id: str = TRACE) -> Any:
    return run_sync(store.runs.replace_runs("default", trace_id, version, runs, now_ns=NOW))


def plan(store: Store, *jobs: NewJob, **options: Any) -> list[str]:
    return run_sync(store.jobs.plan("default", "app", jobs, now_ns=NOW, **options))


def claim(
    store: Store, *, now_ns: int = NOW, limit: int = 10, worker: str = "w", offers: Any = (OFFER,), **options: Any
) -> list[ClaimedJob]:
    return run_sync(store.jobs.claim(offers, worker=worker, now_ns=now_ns, lease_ns=LEASE, limit=limit, **options))


def finish(store: Store, *jobs: FinishedJob) -> set[str]:
    return run_sync(store.jobs.finish(jobs))


def score_run(store: Store, run: RunRecord, value: float = 0.5, **job: Any) -> str:
    """Plan, claim and finish one job; give the id of its score."""
    plan(store, new_job(run, **job))
    (claimed,) = claim(store)
    finish(store, finished(claimed, score_of(claimed, value)))
    jobs = run_sync(store.jobs.for_runs("default", [run.run_id]))
    return next(str(job.score_id) for job in jobs if job.job_id == claimed.job_id)
