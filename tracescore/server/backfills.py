"""The API of backfills: make one, follow it, cancel what is pending."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from fastapi import APIRouter, Body, HTTPException
from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field

from tracescore.pipeline.backfill import create_backfill
from tracescore.server.project import Project
from tracescore.server.schemas import HexId, TimeNs, rfc3339
from tracescore.store import BackfillSpec, BackfillStatus, Store

Scalar = str | int | float | bool | None


class BackfillIn(BaseModel):
    """Which stored runs one scorer is to see: ``kind`` and ``where`` are a rule's, times those of the run's start."""

    model_config = ConfigDict(extra="forbid")

    scorer_id: str = Field(min_length=1)
    kind: str | None = None
    where: Mapping[str, Scalar | list[Scalar]] = Field(default_factory=dict)
    since: TimeNs | None = None
    until: TimeNs | None = None
    sample: float = Field(default=1.0, ge=0, le=1)
    limit: int | None = Field(default=None, ge=1)


class BackfillOut(BaseModel):
    """A backfill as it stands: runs looked at, and its jobs by state."""

    batch_id: str
    kind: str = "backfill"
    scorer_id: str
    scorer_version: str
    state: str
    created_at: str
    done: bool
    runs: int
    seen: int
    planned: int
    skipped: int
    left_out: int
    counts: Mapping[str, int]

    @classmethod
    def of(cls, status: BackfillStatus) -> Self:
        """Build it from the stored backfill."""
        backfill = status.backfill
        return cls(
            batch_id=backfill.batch_id,
            scorer_id=backfill.scorer_id,
            scorer_version=backfill.scorer_version,
            state=backfill.state,
            created_at=rfc3339(backfill.created_ns),
            done=status.done,
            runs=backfill.total,
            seen=backfill.seen,
            planned=backfill.planned,
            skipped=backfill.skipped,
            left_out=backfill.left_out,
            counts={str(state): count for state, count in status.jobs.items()},
        )


class CancelledOut(BaseModel):
    """How many pending jobs were cancelled; what workers hold goes on."""

    batch_id: str
    cancelled: int


class BatchSummaryOut(BaseModel):
    """A batch in a list of them."""

    batch_id: str
    kind: str
    created_at: str


class BatchesOut(BaseModel):
    """The newest batches of every kind."""

    items: Sequence[BatchSummaryOut]


def backfill_routes(store: Store) -> APIRouter:
    """Give ``/api/backfills`` and the list of batches."""
    router = APIRouter(prefix="/api")

    async def found(project: str, batch_id: str) -> BackfillOut:
        status = await store.backfills.status(project, batch_id)
        if status is None:
            raise HTTPException(404, f"no backfill {batch_id}")
        return BackfillOut.of(status)

    @router.post("/backfills", status_code=202)
    async def create(project: Project, asked: Annotated[BackfillIn, Body()]) -> BackfillOut:
        spec = BackfillSpec(
            kind=asked.kind,
            where=asked.where,
            sample_rate=asked.sample,
            since_ns=asked.since,
            until_ns=asked.until,
            limit=asked.limit,
        )
        made = await create_backfill(store, project, asked.scorer_id, spec, now_ns=time.time_ns())
        return await found(project, made.batch_id)

    @router.get("/backfills/{batch_id}")
    async def status(project: Project, batch_id: Annotated[HexId, PathParameter()]) -> BackfillOut:
        return await found(project, batch_id)

    @router.get("/batches")
    async def batches(project: Project) -> BatchesOut:
        return BatchesOut(
            items=[
                BatchSummaryOut(batch_id=row.batch_id, kind=row.kind, created_at=rfc3339(row.created_ns))
                for row in await store.backfills.batches(project)
            ]
        )

    @router.post("/batches/{batch_id}/cancel")
    async def cancel(project: Project, batch_id: Annotated[HexId, PathParameter()]) -> CancelledOut:
        if await store.control.batch(project, batch_id) is None:
            raise HTTPException(404, f"no batch {batch_id}")
        return CancelledOut(batch_id=batch_id, cancelled=await store.backfills.cancel(project, batch_id))

    return router
