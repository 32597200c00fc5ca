"""Take over what an older version of a scorer left: its pending jobs are planned anew for the one that is offered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from tracescore.model import load_any_run
from tracescore.pipeline.leases import NS
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.planned import Planner
from tracescore.pipeline.stranded import Stranded, stranded
from tracescore.store import NewJob, Store, WaitingJob

logger = logging.getLogger(__name__)

JOBS = 256
LEASE_NS = 10 * NS


class Superseding:
    """Do so in one project for the versions that an app offers; one worker at a time."""

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        project: str,
        worker_id: str,
        after: float,
        on_jobs: Callable[[Sequence[str], str], None],
    ) -> None:
        self._store = store
        self._app = app
        self._project = project
        self._worker_id = worker_id
        self._after_ns = int(after * NS)
        self._on_jobs = on_jobs

    async def step(self) -> bool:
        """Take over one chunk of each version; True where there may be more."""
        more = False
        now_ns = time.time_ns()
        for left in await stranded(self._store, self._project, now_ns=now_ns, supersede_ns=self._after_ns):
            scorer = self._app.scorers.get(left.scorer_id)
            if scorer is None or scorer.version != left.offered_instead:
                continue
            if left.takes_over_ns is None or left.takes_over_ns > now_ns:
                continue
            name = f"supersede:{self._project}:{left.scorer_id}:{left.version}"
            if await self._store.control.acquire_lease(
                name, self._worker_id, now_ns=now_ns, until_ns=now_ns + LEASE_NS
            ):
                more |= await self._take_over(left, now_ns)
                await self._store.control.release_lease(name, self._worker_id)
        return more

    async def _take_over(self, left: Stranded, now_ns: int) -> bool:
        new = self._app.scorers[left.scorer_id].version
        waiting = await self._store.offered.waiting_jobs(
            self._project, left.scorer_id, left.version, now_ns=now_ns, limit=JOBS
        )
        # In a thread: it reads and hashes every run, and the judges' loop must not wait for that.
        jobs = await asyncio.to_thread(plan_anew, self._app, left.scorer_id, waiting, now_ns=now_ns)
        owed = await self._store.offered.hand_over(
            self._project, left.scorer_id, old=left.version, new=new, jobs=jobs, app=self._app.name, now_ns=now_ns
        )
        logger.info("%d jobs of %s %s are superseded by version %s", len(jobs), left.scorer_id, left.version, new)
        by_queue = {job.job_id: job.queue for job in jobs.values() if job is not None}
        for queue in ("live", "backfill"):
            if told := [job_id for job_id in owed if by_queue[job_id] == queue]:
                self._on_jobs(told, queue)
        return len(waiting) == JOBS


def plan_anew(
    app: ScoringApp, scorer_id: str, waiting: Sequence[WaitingJob], *, now_ns: int
) -> dict[str, NewJob | None]:
    """Give each job's successor: none where its run is gone, has changed, or is no rule's of the app any more."""
    scorer = app.scorers[scorer_id]
    planner = Planner(app, now_ns=now_ns)
    anew: dict[str, NewJob | None] = {}
    for old in waiting:
        anew[old.job_id] = None
        if old.body is None or old.run_revision is None or old.withdrawn:
            continue
        if old.source == "live" and old.revision != old.run_revision:
            continue  # its newer state has a job of its own
        try:
            run = load_any_run(old.body)
        except Exception:  # one that cannot be read must not keep the others
            logger.exception("run %s cannot be read and is not planned", old.run_id)
            continue
        seen = app.rule_set.decide(run, source="backfill") if old.source == "live" else ()
        if old.source == "live" and scorer_id not in {planned.scorer.id for planned in seen}:
            continue
        job = planner.job(
            run,
            scorer,
            revision=old.run_revision,
            probability=old.probability,  # it was chosen with this one
            rule_set=app.rule_set.hash if old.source == "live" else "",
            source=old.source,
            queue=old.queue,
            generation=old.generation,
            batch_id=old.batch_id,
        )
        anew[old.job_id] = None if isinstance(job, str) else job
    return anew
