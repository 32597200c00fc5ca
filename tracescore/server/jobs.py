"""The API of jobs that wait for a worker that offers their version."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fastapi import APIRouter
from pydantic import BaseModel

from tracescore.pipeline.stranded import stranded
from tracescore.server.project import Project
from tracescore.server.schemas import rfc3339
from tracescore.store import Store


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


def job_routes(store: Store, *, supersede_ns: int) -> APIRouter:
    """Give ``/api/jobs/stranded``."""
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

    return router
