"""Claiming for one lane: as much as it has room for, while there is anything due."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from tracescore.errors import StoreError
from tracescore.pipeline.lane import Lane
from tracescore.pipeline.work import Work
from tracescore.store import ClaimedJob, Offered, Store

logger = logging.getLogger(__name__)

AT_ONCE = 128
"""Jobs in one claim, at most."""
BYTES_AT_ONCE = 16 * 1024 * 1024
"""Stored runs that one claim reads, about: where runs are large, fewer are held."""
PREFERRED = 4096
RETRY_AFTER = 1.0


class Claims:
    """Fill one lane with due jobs. After a claim that came back empty it rests until it is woken."""

    def __init__(
        self,
        store: Store,
        *,
        lane: Lane,
        offers: Sequence[Offered],
        worker_id: str,
        lease_ns: int,
        accept: Callable[[Sequence[ClaimedJob]], list[Work]],
        may_claim: Callable[[], bool],
    ) -> None:
        self.lane = lane
        self.offers = tuple(offers)
        self.stopped = asyncio.Event()
        self._store = store
        self._worker_id = worker_id
        self._lease_ns = lease_ns
        self._accept = accept
        self._may_claim = may_claim
        self._preferred: dict[str, None] = {}
        self._wakes = 1
        self._answered = 0
        self._look = asyncio.Event()
        self._stopping = False
        self._mean_bytes = 256.0 * 1024  # careful until it is known

    def wake(self, job_ids: Sequence[str] = ()) -> None:
        """Note that jobs may be due, these ids among them."""
        self._wakes += 1
        if len(self._preferred) < PREFERRED:
            self._preferred.update(dict.fromkeys(job_ids))
        self._look.set()

    def look(self) -> None:
        """Note that there may be room now."""
        self._look.set()

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping = True
        self._look.set()

    @property
    def resting(self) -> bool:
        """Tell whether nothing was due when it was last looked."""
        return self._answered == self._wakes

    async def run(self) -> None:
        """Claim until stopped."""
        try:
            while self.offers and not self._stopping:
                if self.resting or not self.lane.room or not self._may_claim():
                    self._look.clear()
                    await self._look.wait()
                    continue
                try:
                    await self._claim()
                except StoreError as error:
                    logger.warning("cannot claim jobs, trying again: %s", error)
                    await asyncio.sleep(RETRY_AFTER)
        finally:
            self.stopped.set()

    async def _claim(self) -> None:
        wakes = self._wakes
        limit = min(self.lane.room, AT_ONCE, max(1, int(BYTES_AT_ONCE / self._mean_bytes)))
        preferred = list(self._preferred)[:limit]
        jobs = await self._store.jobs.claim(
            self.offers,
            worker=self._worker_id,
            now_ns=time.time_ns(),
            lease_ns=self._lease_ns,
            limit=limit,
            prefer=preferred,
        )
        for job_id in preferred:
            self._preferred.pop(job_id, None)
        if not jobs:
            # One that came back short says less: jobs of runs that are gone are taken and not given. What was said
            # meanwhile is a reason to look again.
            self._answered = wakes
            if wakes == self._wakes:
                self._preferred.clear()
            return
        size = sum(len(job.run_body) for job in jobs) / len(jobs)
        self._mean_bytes += (size - self._mean_bytes) / 4
        self.lane.start(self._accept(jobs))
