"""The part of the scheduler that makes room: traces of no agent are dropped, settled ones compacted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from typing import Literal

from tracescore.errors import StoreError, StoreUnavailable
from tracescore.store import SettledTrace, Store, TraceClaim

logger = logging.getLogger(__name__)

LEASE_NS = 300 * 1_000_000_000
DROPPED = 200
"""Traces dropped in one transaction."""
COMPACTED = 16
AT_ONCE = 2
"""Traces in memory at once; one may be 64 MB."""


class Tidying:
    """Drop and compact what is due, in bounded steps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self.dropped = 0
        self.compacted = 0

    async def step(self) -> bool:
        """Do what is due; True where there may be more."""
        dropped = await self._claim("drop", DROPPED)
        by_project: dict[str, list[TraceClaim]] = defaultdict(list)
        for claim in dropped:
            by_project[claim.project].append(claim)
        for project, claims in by_project.items():
            free = await self._store.runs.forget(project, [claim.trace_id for claim in claims])
            self.dropped += await self._store.settled.drop([claim for claim in claims if claim.trace_id in free])
            kept = [_compacted(claim) for claim in claims if claim.trace_id not in free]
            if kept:  # these had runs once, which may still be asked for
                await self._store.spans.settle_traces(kept)
        compacted = await self._claim("compact", COMPACTED)
        await asyncio.gather(*(self._compact(claim) for claim in compacted))
        return len(dropped) == DROPPED or len(compacted) == COMPACTED

    async def _claim(self, stage: Literal["drop", "compact"], limit: int) -> list[TraceClaim]:
        return await self._store.settled.claim(stage, now_ns=time.time_ns(), limit=limit, lease_ns=LEASE_NS)

    async def _compact(self, claim: TraceClaim) -> None:
        async with self._at_once:
            try:
                self.compacted += await self._store.settled.compact(claim)
            except StoreUnavailable:
                raise
            except StoreError as error:  # one broken trace must not keep the others
                logger.error("trace %s cannot be compacted: %s", claim.trace_id, error)


def _compacted(claim: TraceClaim) -> SettledTrace:
    return SettledTrace(
        project=claim.project,
        trace_id=claim.trace_id,
        version=claim.version,
        next_check_ns=time.time_ns(),
        then="compact",
    )
