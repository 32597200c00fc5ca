"""The API of why there is no score: jobs that nobody offers to run, and what planning decided."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from tracescore.pipeline.stranded import stranded
from tracescore.server.project import Project
from tracescore.server.schemas import DecisionsQuery, rfc3339
from tracescore.store import Store

DAY_NS = 24 * 3600 * 10**9


class StrandedOut(BaseModel):
    """Jobs of one version that no live worker offers, and why they wait."""

    scorer_id: str
    scorer_version: str
    jobs: int
    offered_instead: str | None
    taken_over_at: str | None
    reason: str


class StrandedJobsOut(BaseModel):
    """All that is stranded."""

    items: Sequence[StrandedOut]


class DecidedOut(BaseModel):
    """How often planning decided so, and the newest run that it happened to."""

    scorer_id: str
    outcome: str
    count: int
    example: str | None


class DecisionsOut(BaseModel):
    """All that was decided since a time, to the hour."""

    since: str
    items: Sequence[DecidedOut]


def job_routes(store: Store, *, supersede_ns: int) -> APIRouter:
    """Give ``/api/jobs/stranded`` and ``/api/decisions``."""
    router = APIRouter(prefix="/api")

    @router.get("/jobs/stranded")
    async def stranded_jobs(project: Project) -> StrandedJobsOut:
        now_ns = time.time_ns()
        return StrandedJobsOut(
            items=[
                StrandedOut(
                    scorer_id=left.scorer_id,
                    scorer_version=left.version,
                    jobs=left.jobs,
                    offered_instead=left.offered_instead,
                    taken_over_at=None if left.takes_over_ns is None else rfc3339(left.takes_over_ns),
                    reason=left.reason(now_ns=now_ns),
                )
                for left in await stranded(store, project, now_ns=now_ns, supersede_ns=supersede_ns)
            ]
        )

    @router.get("/decisions")
    async def decisions(project: Project, query: Annotated[DecisionsQuery, Query()]) -> DecisionsOut:
        since_ns = time.time_ns() - DAY_NS if query.since is None else query.since
        return DecisionsOut(
            since=rfc3339(since_ns),
            items=[
                DecidedOut(scorer_id=row.scorer_id, outcome=row.outcome, count=row.count, example=row.example)
                for row in await store.decisions.since(project, since_ns)
            ],
        )

    return router
