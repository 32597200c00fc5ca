"""The scheduler: settling, planning, reconciling and delivering, shared out among workers by leases in the store."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.backfill import Backfilling
from tracescore.pipeline.deliver import Delivering
from tracescore.pipeline.external_scores import ExternalScores
from tracescore.pipeline.leases import NS
from tracescore.pipeline.loops import repeat
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.plan import Planning
from tracescore.pipeline.sessions import SettlingSessions
from tracescore.pipeline.settling import Settling
from tracescore.pipeline.superseding import Superseding
from tracescore.pipeline.targets import LIVE_NS
from tracescore.pipeline.tidying import Tidying
from tracescore.pipeline.wake import IDS_PER_MESSAGE
from tracescore.redaction import Redaction
from tracescore.sinks import Sink
from tracescore.store import Store

logger = logging.getLogger(__name__)

SETTLE_EVERY = 0.25
SESSIONS_EVERY = 0.5
PLAN_EVERY = 1.0
RECONCILE_EVERY = 2.0
SUPERSEDE_EVERY = 5.0
DELIVER_EVERY = 0.5
ANALYZE_EVERY = 3.0
TIDY_EVERY = 2.0
JOIN_EVERY = 1.0
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
        redaction: Redaction | None = None,
    ) -> None:
        self._store = store
        self._app = app
        self._worker_id = worker_id
        self._wake = wake
        self._offer_supersede = offer_supersede
        self._delivering = Delivering(store, sinks, redaction=redaction)
        self._settling = Settling(store, times=times, on_runs=self._have_runs)
        self._sessions = SettlingSessions(store, in_child=self._settling.in_child, on_runs=self._have_runs)
        self._planning = {project: self._planning_of(project) for project in projects}
        self._poked: list[asyncio.Event] = []
        self._group: asyncio.TaskGroup | None = None

    async def register(self) -> None:
        """Keep the app's rules, so that what arrives from now on is live for them."""
        for planning in self._planning.values():
            await planning.register()

    async def plan_for(self, projects: Sequence[str], *, seen_ns: int) -> None:
        """Plan the runs of further projects; their runs are live for the app's rules from ``seen_ns``."""
        new = {project: self._planning_of(project) for project in projects}
        for planning in new.values():
            await planning.register(seen_ns=seen_ns)
        self._planning |= new
        for project in new:
            self._start_planning(project)

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(repeat(self._settling.step, name="settling", every=SETTLE_EVERY))
                group.create_task(repeat(self._sessions.step, name="settling sessions", every=SESSIONS_EVERY))
                self._group = group
                for project in self._planning:
                    self._start_planning(project)
                group.create_task(repeat(self._reconcile, name="reconciling", every=RECONCILE_EVERY))
                external = ExternalScores(self._store, in_child=self._settling.in_child)
                group.create_task(repeat(external.step, name="joining", every=JOIN_EVERY))
                group.create_task(repeat(Tidying(self._store).step, name="tidying", every=TIDY_EVERY))
                group.create_task(repeat(self._analyze, name="analyzing", every=ANALYZE_EVERY))
                if self._delivering.sinks:
                    group.create_task(repeat(self._delivering.step, name="delivering", every=DELIVER_EVERY))
        finally:
            self._settling.close()

    def _planning_of(self, project: str) -> Planning:
        return Planning(
            self._store,
            self._app,
            project=project,
            worker_id=self._worker_id,
            on_jobs=self._tell,
            sinks=tuple(self._delivering.sinks),
        )

    def _start_planning(self, project: str) -> None:
        """Plan in loops of a project's own: what fails for one tenant must not slow down the others."""
        if self._group is None:
            return
        poked = asyncio.Event()
        self._poked.append(poked)
        start = self._group.create_task
        step = self._planning[project].step
        start(repeat(step, name=f"planning {project}", every=PLAN_EVERY, poked=poked))
        backfilling = Backfilling(
            self._store, self._app, project=project, worker_id=self._worker_id, on_jobs=self._tell
        )
        start(repeat(backfilling.step, name=f"backfilling {project}", every=PLAN_EVERY))
        superseding = Superseding(
            self._store,
            self._app,
            project=project,
            worker_id=self._worker_id,
            after=self._offer_supersede,
            on_jobs=self._tell,
        )
        every = min(SUPERSEDE_EVERY, max(self._offer_supersede / 4, 0.25))
        start(repeat(superseding.step, name=f"superseding {project}", every=every))

    def _have_runs(self) -> None:
        for poked in self._poked:
            poked.set()

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

    async def _analyze(self) -> bool:
        """Have the database know its tables while they grow: it plans by that."""
        grown = await self._store.control.analyze()
        if grown:
            logger.debug("analyzed %s", ", ".join(grown))
        return False

    def _tell(self, job_ids: Sequence[str], queue: str) -> None:
        for start in range(0, len(job_ids), IDS_PER_MESSAGE):
            self._wake(job_ids[start : start + IDS_PER_MESSAGE], queue)
