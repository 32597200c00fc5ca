"""The pump: it claims due jobs, keeps its slots full, and writes the results in groups."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tracescore.pipeline.claims import Claims
from tracescore.pipeline.commits import Commits
from tracescore.pipeline.inline import InlineLane
from tracescore.pipeline.judged import JudgedLane
from tracescore.pipeline.leases import NS, HeldJobs, LeaseKeeper
from tracescore.pipeline.offers import ScoringApp, offered
from tracescore.pipeline.work import Work, score_on_loop
from tracescore.scorers import Scorer
from tracescore.store import ClaimedJob, FinishedJob, Offered, Store

logger = logging.getLogger(__name__)

STEP_THREADS = 16
"""Threads for the ``def`` steps of judged scorers."""
UNWRITTEN = 2048
"""Results that may wait to be written before claiming stops: a store that is down must not fill the memory."""
FLUSH_SECONDS = 5.0


class Pump:
    """Score the due jobs that an app offers. One per process; it lives on one loop.

    Args:
        store: the store; jobs, results and leases are there and nowhere else.
        app: the scorers.
        projects: whose jobs; ``offer_in`` changes it.
        worker_id: who holds the leases.
        slots: jobs of waiting scorers in flight.
        lease: seconds until a job that this process does not renew is anybody's.
        sinks: names of the sinks that each outcome is owed to.
    """

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        projects: Sequence[str],
        worker_id: str,
        slots: int,
        lease: float,
        sinks: Sequence[str] = (),
    ) -> None:
        self._store = store
        self._app = app
        self._worker_id = worker_id
        self._sinks = tuple(sinks)
        self.loop = asyncio.get_running_loop()
        self._held = HeldJobs()
        self._leases = LeaseKeeper(store, self._held, worker_id=worker_id, lease=lease, on_lost=self._lost_in_thread)
        self._commits = Commits(store, self._held, on_written=self._changed)
        self._threads = ThreadPoolExecutor(STEP_THREADS, thread_name_prefix="tracescore-step")
        scorers = list(app.scorers.values())
        self._claims: list[Claims] = []
        self._scorers: list[Sequence[Scorer[Any, Any, Any]]] = []
        for lane, chosen in (
            (InlineLane(on_finished=self._finished), [scorer for scorer in scorers if not scorer.is_async]),
            (
                JudgedLane(slots=slots, score=self._score, on_finished=self._finished),
                [scorer for scorer in scorers if scorer.is_async],
            ),
        ):
            self._scorers.append(chosen)
            self._claims.append(
                Claims(
                    store,
                    lane=lane,
                    offers=offered(chosen, projects=projects),
                    worker_id=worker_id,
                    lease_ns=int(lease * NS),
                    accept=self._accept,
                    may_claim=lambda: len(self._commits) < UNWRITTEN,
                )
            )
        self._progress = asyncio.Event()
        self._drained = asyncio.Event()

    @property
    def offers(self) -> list[Offered]:
        """Give what this pump claims."""
        return [offer for claims in self._claims for offer in claims.offers]

    @property
    def idle(self) -> bool:
        """Tell whether nothing was due when it was last looked, and nothing is held."""
        return not len(self._held) and all(claims.resting or not claims.offers for claims in self._claims)

    @property
    def held(self) -> int:
        """Give how many jobs are held and not written yet."""
        return len(self._held)

    @property
    def written(self) -> int:
        """Give how many jobs were ended so far."""
        return self._commits.written

    @property
    def fenced(self) -> int:
        """Give how many results were not written, since their lease was lost."""
        return self._commits.fenced

    def offer_in(self, projects: Sequence[str]) -> None:
        """Claim the jobs of these projects from now on; to be called on the pump's loop."""
        for claims, scorers in zip(self._claims, self._scorers, strict=True):
            claims.offers = tuple(offered(scorers, projects=projects))
        self._wake(())

    def wake(self, job_ids: Sequence[str] = ()) -> None:
        """Look for due jobs now, these first; may be called from any thread."""
        try:
            self.loop.call_soon_threadsafe(self._wake, tuple(job_ids))
        except RuntimeError:  # the loop is closed: the jobs are due in the store for whoever comes
            return

    async def run(self) -> None:
        """Claim, score and write until ``drain`` or a cancellation."""
        self._leases.start()
        try:
            async with asyncio.TaskGroup() as group:
                commits = group.create_task(self._commits.run())
                claiming = [group.create_task(claims.run()) for claims in self._claims]
                await asyncio.wait(claiming)
                await self._drained.wait()
                commits.cancel()
        finally:
            for claims in self._claims:
                claims.lane.close()
            self._threads.shutdown(wait=False, cancel_futures=True)
            await asyncio.to_thread(self._leases.stop)

    async def poll(self) -> None:
        """Look whether anything is due, unless claiming is at it already: this finds what no wake told of."""
        idle = [offer for claims in self._claims if claims.resting for offer in claims.offers]
        if idle and await self._store.jobs.due(now_ns=time.time_ns(), limit=1, offers=idle):
            self._wake(())

    def stop_claiming(self) -> None:
        """Claim nothing more; what is held goes on."""
        for claims in self._claims:
            claims.stop()

    async def drain(self, grace: float) -> None:
        """Stop: give back what is not begun, wait for the rest within ``grace`` seconds, then give that back too."""
        deadline = time.monotonic() + grace
        self.stop_claiming()
        for claims in self._claims:
            await claims.stopped.wait()
        lanes = [claims.lane for claims in self._claims]
        await self._release([work for lane in lanes for work in lane.take_back()])
        while any(lane.begun() for lane in lanes) and (left := deadline - time.monotonic()) > 0:
            self._progress.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._progress.wait(), left)
        abandoned = [work for lane in lanes for work in lane.begun()]
        for lane in lanes:
            lane.close()
        if abandoned:
            logger.warning("%d jobs were not done within %.0f s and are given back", len(abandoned), grace)
            await self._release(abandoned)
        await asyncio.sleep(0)  # results that threads have handed to the loop
        try:
            await asyncio.wait_for(self._commits.flush(), max(FLUSH_SECONDS, deadline - time.monotonic()))
        except TimeoutError:
            logger.error("%d results could not be written; their jobs are scored again", len(self._commits))
        self._drained.set()

    def _wake(self, job_ids: Sequence[str]) -> None:
        for claims in self._claims:
            claims.wake(job_ids)

    def _changed(self) -> None:
        for claims in self._claims:
            claims.look()

    def _accept(self, jobs: Sequence[ClaimedJob]) -> list[Work]:
        self._held.add(jobs)
        return [
            Work(
                job=job,
                scorer=self._app.scorers[job.scorer_id],
                sinks=self._sinks,
                stages=() if job.as_planned and job.source != "manual" else self._app.rule_set.stages(job.scorer_id),
            )
            for job in jobs
        ]

    async def _score(self, work: Work) -> FinishedJob:
        return await score_on_loop(work, store=self._store, threads=self._threads)

    def _finished(self, finished: list[FinishedJob]) -> None:
        if finished:
            self._commits.add(finished)
        self._progress.set()
        self._changed()

    def _lost_in_thread(self, claims: list[tuple[str, int]]) -> None:
        self.loop.call_soon_threadsafe(self._lost, claims)

    def _lost(self, claims: list[tuple[str, int]]) -> None:
        # What is finished has no lease any more, and writing what was really lost is refused by its token.
        finished = self._commits.claims
        held = set(self._held.snapshot())
        lost = [claim for claim in claims if claim in held and claim not in finished]
        if not lost:
            return
        logger.warning("%d leases were lost; their jobs are stopped here", len(lost))
        for claiming in self._claims:
            claiming.lane.cancel(lost)
        self._held.remove(lost)

    async def _release(self, works: Sequence[Work]) -> None:
        if not works:
            return
        released = [work.claim for work in works]
        self._held.remove(released)
        try:
            await self._store.jobs.release(released, due_at_ns=time.time_ns())
        except Exception as error:  # noqa: BLE001 - stopping goes on; the leases end by themselves
            logger.warning("%d jobs could not be given back: %s", len(released), error)
