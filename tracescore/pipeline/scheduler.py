"""The scheduler: settling, planning, reconciling and delivering, shared out among workers by leases in the store."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.backfill import Backfilling
from tracescore.pipeline.deliver import Delivering
from tracescore.pipeline.leases import NS
from tracescore.pipeline.loops import repeat
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.plan import Planning
from tracescore.pipeline.settling import Settling
from tracescore.pipeline.superseding import Superseding
from tracescore.pipeline.targets import LIVE_NS
from tracescore.pipeline.wake import IDS_PER_MESSAGE
from tracescore.sinks import Sink
from tracescore.store import Store

logger = logging.getLogger(__name__)

SETTLE_EVERY = 0.25
PLAN_EVERY = 1.0
RECONCILE_EVERY = 2.0
SUPERSEDE_EVERY = 5.0
DELIVER_EVERY = 0.5
RECONCILED = 4 * IDS_PER_MESSAGE


class Scheduler:
    """Run all that is not scoring; nobody starts it by hand, it is inside every worker."""

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        worker_id: str,
        projects: Sequence[str],
        wake: Callable[[Sequence[str], str], None],
        times: SettleTimes,
        sinks: Sequence[Sink] = (),
        offer_supersede: float = 600.0,
    ) -> None:
        self._store = store
        self._worker_id = worker_id
        self._wake = wake
        self._new_runs = asyncio.Event()
        self._settling = Settling(store, times=times, on_runs=self._new_runs.set)
        self._planning = [
            Planning(store, app, project=project, worker_id=worker_id, on_jobs=self._tell) for project in projects
        ]
        self._backfilling = [
            Backfilling(store, app, project=project, worker_id=worker_id, on_jobs=self._tell) for project in projects
        ]
        self._superseding = [
            Superseding(store, app, project=project, worker_id=worker_id, after=offer_supersede, on_jobs=self._tell)
            for project in projects
        ]
        self._supersede_every = min(SUPERSEDE_EVERY, max(offer_supersede / 4, 0.25))
        self._delivering = Delivering(store, sinks)

    async def register(self) -> None:
        """Keep the app's rules, so that what arrives from now on is live for them."""
        for planning in self._planning:
            await planning.register()

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(repeat(self._settling.step, name="settling", every=SETTLE_EVERY))
                group.create_task(repeat(self._plan, name="planning", every=PLAN_EVERY, poked=self._new_runs))
                group.create_task(repeat(self._backfill, name="backfilling", every=PLAN_EVERY))
                group.create_task(repeat(self._supersede, name="superseding", every=self._supersede_every))
                group.create_task(repeat(self._reconcile, name="reconciling", every=RECONCILE_EVERY))
                if self._delivering.sinks:
                    group.create_task(repeat(self._delivering.step, name="delivering", every=DELIVER_EVERY))
        finally:
            self._settling.close()

    async def _plan(self) -> bool:
        return any([await planning.step() for planning in self._planning])

    async def _backfill(self) -> bool:
        return any([await backfilling.step() for backfilling in self._backfilling])

    async def _supersede(self) -> bool:
        return any([await superseding.step() for superseding in self._superseding])

    async def _reconcile(self) -> bool:
        """Tell of jobs that are due and held by nobody: their wake was lost, or their worker."""
        now_ns = time.time_ns()
        until_ns = now_ns + int(2 * RECONCILE_EVERY * NS)
        if not await self._store.control.acquire_lease("reconcile", self._worker_id, now_ns=now_ns, until_ns=until_ns):
            return False
        # Only what is offered: jobs that wait for a version which nobody has would fill every message.
        offers = await self._store.offered.live(now_ns - LIVE_NS)
        due = await self._store.jobs.due(now_ns=now_ns, limit=RECONCILED, offers=offers)
        for queue in ("live", "backfill"):
            self._tell([job.job_id for job in due if job.queue == queue], queue)
        return False

    def _tell(self, job_ids: Sequence[str], queue: str) -> None:
        for start in range(0, len(job_ids), IDS_PER_MESSAGE):
            self._wake(job_ids[start : start + IDS_PER_MESSAGE], queue)
