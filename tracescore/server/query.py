"""The query API: runs, outcomes, scorers, and scoring on demand."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query
from fastapi import Path as PathParameter

from tracescore.model import Target, load_any_run, run_to_json
from tracescore.pipeline.assembly import explain
from tracescore.pipeline.explaining import explanation_to_json, load_trace
from tracescore.pipeline.targets import live_scorers, score_targets
from tracescore.pipeline.wake import Wake
from tracescore.server.backfills import BackfillOut
from tracescore.server.project import Project
from tracescore.server.schemas import (
    BatchOut,
    BatchStatusOut,
    CompleteOut,
    HexId,
    OutcomeOut,
    OutcomeWithEvidenceOut,
    PageOut,
    RunOut,
    RunsQuery,
    ScorerOut,
    ScoresQuery,
    ScoreTargetsIn,
    TraceId,
    page_of,
)
from tracescore.store import RunFilters, Store

MAX_OUTCOMES_OF_A_RUN = 500


def query_routes(store: Store, wake: Wake) -> APIRouter:
    """Give everything under ``/api``."""
    router = APIRouter(prefix="/api")

    @router.get("/runs")
    async def runs(project: Project, query: Annotated[RunsQuery, Query()]) -> PageOut[RunOut]:
        filters = RunFilters(
            kind=query.kind,
            trace_id=query.trace_id,
            session_id=query.session,
            agent_name=query.agent,
            service=query.service,
            environment=query.environment,
            status=query.status,
            outermost=query.outermost,
            since_ns=query.since,
            until_ns=query.until,
        )
        page = await store.runs.list(project, filters=filters, limit=query.limit, after=query.after)
        return page_of(page, [RunOut.of(row) for row in page.items])

    @router.get("/runs/{run_id}")
    async def run(project: Project, run_id: Annotated[HexId, PathParameter()]) -> dict[str, Any]:
        row = await store.runs.get(project, run_id)
        if row is None:
            raise HTTPException(404, f"no run {run_id}")
        outcomes = await store.scores.list(project, run_id=run_id, limit=MAX_OUTCOMES_OF_A_RUN)
        jobs = await store.jobs.for_runs(project, [run_id])
        return {
            **run_to_json(load_any_run(row.body)),
            "revision": row.revision,
            "withdrawn": row.withdrawn,
            "outcomes": [OutcomeOut.of(outcome).model_dump(mode="json") for outcome in outcomes.items],
            "waiting": [
                {
                    "scorer_id": job.scorer_id,
                    "scorer_version": job.scorer_version,
                    "state": job.state,
                    "reason": job.error,
                }
                for job in jobs
                if job.state in ("pending", "leased")
            ],
        }

    @router.get("/scores")
    async def scores(project: Project, query: Annotated[ScoresQuery, Query()]) -> PageOut[OutcomeOut]:
        page = await store.scores.list(
            project,
            trace_id=query.trace_id,
            span_id=query.span_id,
            run_id=query.run_id,
            scorer_id=query.scorer_id,
            outcome=query.outcome,
            since_ns=query.since,
            until_ns=query.until,
            current=True if query.current else None,
            limit=query.limit,
            after=query.after,
        )
        return page_of(page, [OutcomeOut.of(row) for row in page.items])

    @router.get("/scores/{score_id}")
    async def score(project: Project, score_id: Annotated[HexId, PathParameter()]) -> OutcomeWithEvidenceOut:
        row = await store.scores.get(score_id, project=project)
        if row is None:
            raise HTTPException(404, f"no score {score_id}")
        return OutcomeWithEvidenceOut(**OutcomeOut.of(row).model_dump(), evidence=row.evidence)

    @router.get("/scorers")
    async def scorers(project: Project) -> PageOut[ScorerOut]:
        offers = await live_scorers(store, project, now_ns=time.time_ns())
        return PageOut(items=[ScorerOut.of(live.newest, workers=live.workers) for live in offers.values()])

    @router.post("/traces/score", status_code=202)
    async def score_some(project: Project, asked: Annotated[ScoreTargetsIn, Body()]) -> BatchOut:
        targets = [Target(trace_id=target.trace_id, span_id=target.span_id) for target in asked.targets]
        batch_id = await score_targets(
            store, targets, project=project, scorer_id=asked.scorer_id, wake=wake, now_ns=time.time_ns()
        )
        return BatchOut(batch_id=batch_id)

    @router.get("/batches/{batch_id}")
    async def batch(project: Project, batch_id: Annotated[HexId, PathParameter()]) -> BatchStatusOut | BackfillOut:
        backfill = await store.backfills.status(project, batch_id)
        if backfill is not None:
            return BackfillOut.of(backfill)
        status = await store.control.batch(project, batch_id)
        if status is None:
            raise HTTPException(404, f"no batch {batch_id}")
        return BatchStatusOut.of(status)

    @router.get("/traces/{trace_id}/explain")
    async def explained(project: Project, trace_id: Annotated[TraceId, PathParameter()]) -> dict[str, Any]:
        trace = await load_trace(store, project, trace_id)
        if trace is None:
            raise HTTPException(404, f"nothing of trace {trace_id} was received")
        return await asyncio.to_thread(lambda: explanation_to_json(explain(trace, project=project)))

    @router.post("/traces/{trace_id}/complete", status_code=202)
    async def complete(project: Project, trace_id: Annotated[TraceId, PathParameter()]) -> CompleteOut:
        if not await store.spans.complete(project, trace_id, now_ns=time.time_ns()):
            raise HTTPException(404, f"nothing of trace {trace_id} was received")
        return CompleteOut(trace_id=trace_id)

    return router
