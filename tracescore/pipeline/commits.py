"""Finished jobs on their way into the store: written in groups, off the slots."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable

from tracescore.errors import StoreUnavailable
from tracescore.model import ScoreFailure
from tracescore.pipeline.leases import HeldJobs
from tracescore.store import FinishedJob, Store

logger = logging.getLogger(__name__)

GROUP = 256
"""Jobs in one transaction, at most."""
RETRY_AFTER = 0.5


class Commits:
    """Write finished jobs: what comes while one group is being written forms the next."""

    def __init__(self, store: Store, held: HeldJobs, *, on_written: Callable[[], None]) -> None:
        self._store = store
        self._held = held
        self._on_written = on_written
        self._waiting: list[FinishedJob] = []
        self._writing: list[FinishedJob] = []
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.written = 0
        self.fenced = 0
        """Results that were not written, since their lease was lost."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._writing)

    @property
    def claims(self) -> set[tuple[str, int]]:
        """Give the claims whose results are on their way; the store may know of some already."""
        return {(job.job_id, job.token) for job in (*self._writing, *self._waiting)}

    def add(self, finished: list[FinishedJob]) -> None:
        """Have jobs written soon."""
        self._waiting += finished
        self._idle.clear()
        self._changed.set()

    async def flush(self) -> None:
        """Wait until all that was added is written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write groups until cancelled."""
        while True:
            if not self._waiting:
                self._changed.clear()
                self._idle.set()
                await self._changed.wait()
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
            self._writing = group
            written = await self._write(group)
            self._writing = []
            self._held.remove((job.job_id, job.token) for job in group)
            self.written += written
            self.fenced += len(group) - written
            if written < len(group):
                logger.info("%d results were not written: their leases were lost", len(group) - written)
            self._on_written()

    async def _write(self, group: list[FinishedJob]) -> int:
        while True:
            try:
                return len(await self._store.jobs.finish(group))
            except StoreUnavailable as error:
                # The results are paid for: keep them, and their leases, until the store is back.
                logger.warning("cannot write %d results, trying again: %s", len(group), error)
                await asyncio.sleep(RETRY_AFTER)
            except Exception as error:  # noqa: BLE001 - one result that cannot be stored must not hold up the others
                if len(group) > 1:
                    return sum([await self._write([finished]) for finished in group])
                return await self._write_refusal(group[0], error)

    async def _write_refusal(self, finished: FinishedJob, error: Exception) -> int:
        """End a job whose result the store refused with a failure that says so."""
        logger.error("job %s: its result cannot be stored: %s", finished.job_id, error)
        outcome = finished.outcome
        if outcome is None:
            return 0
        refusal = ScoreFailure(
            run_id=outcome.run_id,
            scorer_id=outcome.scorer_id,
            scorer_version=outcome.scorer_version,
            failed_step=None,
            error_type=type(error).__name__,
            message=f"the result cannot be stored: {error}"[:1000],
            target=outcome.target,
        )
        try:
            return len(await self._store.jobs.finish([dataclasses.replace(finished, outcome=refusal)]))
        except Exception:
            logger.exception("job %s: neither can its failure; it is tried again when its lease ends", finished.job_id)
            return 0
