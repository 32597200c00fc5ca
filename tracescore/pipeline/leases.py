"""The jobs that a worker holds, and the thread that keeps their leases."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from threading import Event, Lock, Thread

from tracescore.bridge import run_sync
from tracescore.errors import StoreError
from tracescore.store import ClaimedJob, Store

logger = logging.getLogger(__name__)

NS = 1_000_000_000


class HeldJobs:
    """The claimed jobs that are not written yet; safe from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tokens: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, jobs: Iterable[ClaimedJob]) -> None:
        """Hold jobs from now on."""
        with self._lock:
            self._tokens.update((job.job_id, job.token) for job in jobs)

    def remove(self, claims: Iterable[tuple[str, int]]) -> None:
        """Hold these claims no more: they are written, given back, or lost; a later claim of the same job stays."""
        with self._lock:
            for job_id, token in claims:
                if self._tokens.get(job_id) == token:
                    del self._tokens[job_id]

    def holds(self, job: ClaimedJob) -> bool:
        """Tell whether this claim of the job still stands, as far as this worker knows."""
        return self._tokens.get(job.job_id) == job.token

    def snapshot(self) -> list[tuple[str, int]]:
        """Give (job id, token) of all that is held."""
        with self._lock:
            return list(self._tokens.items())


class LeaseKeeper:
    """Renew the leases of held jobs from a thread of its own, so that a busy loop does not lose them."""

    def __init__(
        self,
        store: Store,
        held: HeldJobs,
        *,
        worker_id: str,
        lease: float,
        on_lost: Callable[[list[tuple[str, int]]], None],
    ) -> None:
        self._store = store
        self._held = held
        self._worker_id = worker_id
        self._lease_ns = int(lease * NS)
        self._interval = lease / 3
        self._on_lost = on_lost
        self._stopping = Event()
        self._thread = Thread(target=self._keep, name="tracescore-leases", daemon=True)

    def start(self) -> None:
        """Start renewing."""
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing; blocks for no longer than one renewal takes."""
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stopping.wait(self._interval):
            held = self._held.snapshot()
            if not held:
                continue
            try:
                until_ns = time.time_ns() + self._lease_ns
                kept = run_sync(self._store.jobs.renew(self._worker_id, held, until_ns=until_ns))
            except StoreError as error:
                logger.warning("cannot renew %d leases, trying again: %s", len(held), error)
                continue
            # What was finished or given back in the meantime is not lost, only gone.
            still_held = set(self._held.snapshot())
            lost = [claim for claim in held if claim[0] not in kept and claim in still_held]
            if lost:
                self._on_lost(lost)
