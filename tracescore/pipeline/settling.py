"""The part of the scheduler that turns due traces into runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tracescore.errors import StoreUnavailable
from tracescore.pipeline.assembling import AssembledTrace, SettleTimes, assemble_stored
from tracescore.pipeline.child import ChildDied, ChildProcess
from tracescore.store import SettledTrace, Store, StoredTrace, TraceClaim

T = TypeVar("T")

logger = logging.getLogger(__name__)

NS = 1_000_000_000
TRACES = 16
"""Traces claimed at once."""
LOADED = 4
"""Traces in memory at once; one may be 64 MB."""
LEASE_NS = 120 * NS
DEATHS = 3
"""A trace whose assembly killed its process as often as this is left until something new comes for it."""


class Settling:
    """Assemble due traces in a child process and keep their runs."""

    def __init__(self, store: Store, *, times: SettleTimes, on_runs: Callable[[], None]) -> None:
        self._store = store
        self._times = times
        self._on_runs = on_runs
        self._child = ChildProcess()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tracescore-assembly")
        self._loaded = asyncio.Semaphore(LOADED)
        self._interrupted: list[TraceClaim] = []
        self._lease_ends_ns = 0
        self._deaths: dict[tuple[str, str, int], int] = {}
        self.assembled = 0

    async def step(self) -> bool:
        """Assemble the traces that are due; True where there may be more."""
        claims = await self._claim()
        if not claims:
            return False
        self._interrupted = claims
        settled = await asyncio.gather(*(self._settle(claim) for claim in claims), return_exceptions=True)
        await self._store.spans.settle_traces([trace for trace in settled if isinstance(trace, SettledTrace)])
        self._interrupted = [
            claim for claim, trace in zip(claims, settled, strict=True) if isinstance(trace, StoreUnavailable)
        ]
        for trace in settled:
            if isinstance(trace, BaseException):  # one that the store refuses is tried again when its lease ends
                raise trace
        return len(claims) == TRACES

    @property
    def child_pid(self) -> int | None:
        """Give the process id of the assembly process, None before the first trace."""
        return self._child.pid

    def close(self) -> None:
        """End the child process."""
        self._child.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _claim(self) -> list[TraceClaim]:
        """Take traces that are due, first those that a store that went away in the middle has left claimed."""
        interrupted, self._interrupted = self._interrupted, []
        now_ns = time.time_ns()
        if interrupted and now_ns < self._lease_ends_ns:
            return interrupted
        self._lease_ends_ns = now_ns + LEASE_NS
        return await self._store.spans.claim_traces(now_ns=now_ns, limit=TRACES, lease_ns=LEASE_NS)

    async def _settle(self, claim: TraceClaim) -> SettledTrace | None:
        """Assemble one trace; None leaves it to whoever finds its lease over."""
        async with self._loaded:
            stored = await self._store.spans.load_trace(claim.project, claim.trace_id)
            if stored is None:
                return SettledTrace(
                    project=claim.project, trace_id=claim.trace_id, version=claim.version, next_check_ns=None
                )
            try:
                assembled = await self._assemble(claim.project, stored)
            except ChildDied as error:
                return self._after_death(claim, stored, error)
            except Exception:
                # A defect of ours in one trace: the others go on, and new spans have it tried again.
                logger.exception("trace %s cannot be assembled", claim.trace_id)
                assembled = None
        changed = False
        if assembled is not None:
            for problem in assembled.problems:
                logger.warning("trace %s: %s", claim.trace_id, problem)
            replaced = await self._store.runs.replace_runs(
                claim.project, claim.trace_id, stored.version, assembled.runs, now_ns=time.time_ns()
            )
            self.assembled += 1
            if replaced.new or replaced.revised or replaced.withdrawn:
                self._on_runs()
                if assembled.response_ids:
                    await self._store.externals.note_responses(claim.project, claim.trace_id, assembled.response_ids)
                changed = True
        return SettledTrace(
            project=claim.project,
            trace_id=claim.trace_id,
            version=stored.version,
            next_check_ns=assembled.next_check_ns if assembled else None,
            then=assembled.then if assembled else "assemble",
            changed=changed,
        )

    async def in_child(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a pure function of what is stored in the child process."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._child.call, function, *arguments)

    async def _assemble(self, project: str, stored: StoredTrace) -> AssembledTrace:
        return await self.in_child(assemble_stored, project, stored, time.time_ns(), self._times)

    def _after_death(self, claim: TraceClaim, stored: StoredTrace, error: ChildDied) -> SettledTrace:
        key = (claim.project, claim.trace_id, stored.version)
        deaths = self._deaths[key] = self._deaths.get(key, 0) + 1
        logger.error("trace %s: %s (%d of %d)", claim.trace_id, error, deaths, DEATHS)
        next_check_ns = time.time_ns() + deaths * NS if deaths < DEATHS else None
        if next_check_ns is None:
            del self._deaths[key]
        return SettledTrace(
            project=claim.project, trace_id=claim.trace_id, version=stored.version, next_check_ns=next_check_ns
        )
