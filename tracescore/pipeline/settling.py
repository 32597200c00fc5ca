"""The part of the scheduler that turns due traces into runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tracescore.errors import StoreUnavailable
from tracescore.model import PART_KINDS, RunKind
from tracescore.pipeline.assembling import AssembledTrace, SettleTimes, assemble_stored
from tracescore.pipeline.child import ChildDied, ChildProcess
from tracescore.pipeline.resuming import take_up
from tracescore.store import RunRecord, SessionClock, SettledTrace, Store, StoredTrace, TraceClaim

ResultT = TypeVar("ResultT")


logger = logging.getLogger(__name__)

NS = 1_000_000_000
TRACES = 16
"""Traces claimed at once."""
LOADED = 4
"""Traces in memory at once; one may be 64 MB."""
LEASE_NS = 120 * NS
ASKED_NS = 24 * 3600 * NS
"""A kind of runs that no rule asked for in so long is stored no more: workers that are away for less miss none."""
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
        asked = await self._store.control.asked_kinds()
        settled = await asyncio.gather(
            *(self._settle(claim, asked.get(claim.project, {})) for claim in claims), return_exceptions=True
        )
        await self._store.spans.settle_traces([trace for trace in settled if isinstance(trace, SettledTrace)])
        self._interrupted = [
            claim for claim, trace in zip(claims, settled, strict=True) if isinstance(trace, StoreUnavailable)
        ]
        for trace in settled:
            if isinstance(trace, BaseException):  # one that the store refuses is tried again when its lease ends
                raise trace
        return len(claims) == TRACES

    def session_clock(self, *, opens: bool) -> SessionClock:
        """Give when sessions are due whose runs change; ``opens`` where a rule asks for sessions."""
        return SessionClock(idle_ns=self._times.session_idle_ns, opens=opens)

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

    async def in_child(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Have the child process work something out.

        Raises:
            ChildDied: the process did not survive it.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._child.call, function, *arguments)

    async def _settle(self, claim: TraceClaim, asked: Mapping[str, int]) -> SettledTrace:
        """Assemble one trace; ``asked`` are kinds of runs that rules ask for, each with when they last did."""
        kinds = {kind for kind, seen_ns in asked.items() if seen_ns >= time.time_ns() - ASKED_NS}
        async with self._loaded:
            stored = await self._store.spans.load_trace(claim.project, claim.trace_id)
            if stored is None:
                return SettledTrace(
                    project=claim.project, trace_id=claim.trace_id, version=claim.version, next_check_ns=None
                )
            # What a trace has runs of is kept as it now is, whether or not anybody still asks for it.
            had = await self._store.runs.kinds_of_trace(claim.project, claim.trace_id) if asked else frozenset[str]()
            try:
                assembled = await self._assemble(
                    claim.project, stored, [kind for kind in PART_KINDS if kind in kinds | had]
                )
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
            changed = await self._keep(claim, stored.version, assembled.runs, kinds=kinds if asked else None)
            self.assembled += 1
            if changed and assembled.response_ids:
                await self._store.externals.note_responses(claim.project, claim.trace_id, assembled.response_ids)
        return SettledTrace(
            project=claim.project,
            trace_id=claim.trace_id,
            version=stored.version,
            next_check_ns=assembled.next_check_ns if assembled else None,
            then=assembled.then if assembled else "assemble",
            changed=changed,
        )

    async def _keep(
        self, claim: TraceClaim, version: int, runs: Sequence[RunRecord], *, kinds: Collection[str] | None
    ) -> bool:
        """Store the runs of a trace, together with those of other traces that took them up after a pause.

        Tells whether any of them changed.
        """
        project, trace_id = claim.project, claim.trace_id
        taken_up = await take_up(self._store, project, runs)
        replaced = await self._store.runs.replace_runs(
            project,
            trace_id,
            version,
            taken_up.runs,
            now_ns=time.time_ns(),
            sessions=None if kinds is None else self.session_clock(opens="session" in kinds),
        )
        if replaced.refused:
            return False
        untold = {*taken_up.untold, *replaced.beside}
        changed = bool(replaced.new or replaced.revised or replaced.withdrawn)
        if changed:
            self._on_runs()
            # What another worker stored meanwhile saw nothing of these, nor these of that: one of the two looks again.
            if (await take_up(self._store, project, runs)).runs != taken_up.runs:
                untold.add(trace_id)
        if untold:
            await self._store.spans.look_again(project, sorted(untold), now_ns=time.time_ns())
        return changed

    async def _assemble(self, project: str, stored: StoredTrace, kinds: Sequence[RunKind]) -> AssembledTrace:
        return await self.in_child(assemble_stored, project, stored, time.time_ns(), self._times, kinds)

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
