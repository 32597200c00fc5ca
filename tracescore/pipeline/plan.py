"""Planning: which scorers see which runs, decided once for each state of a run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from tracescore.model import load_any_run
from tracescore.pipeline.leases import NS
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.planned import Planner
from tracescore.store import DecisionCount, NewJob, PlannableRun, Retired, Store

logger = logging.getLogger(__name__)

RUNS = 256
"""Runs in one chunk: its jobs, its counts and the cursor are written in one transaction."""
LEASE_NS = 10 * NS


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What planning a chunk of runs comes to."""

    jobs: tuple[NewJob, ...]
    counts: tuple[DecisionCount, ...]
    retired: tuple[Retired, ...]


class Planning:
    """Plan the runs of one project for one app; among the app's workers one at a time does it."""

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        project: str,
        worker_id: str,
        on_jobs: Callable[[Sequence[str], str], None],
        sinks: Sequence[str] = (),
    ) -> None:
        self._store = store
        self._app = app
        self._project = project
        self._worker_id = worker_id
        self._on_jobs = on_jobs
        self._sinks = tuple(sinks)
        self._lease = f"plan:{project}:{app.name}"
        self._first_seen: Mapping[str, int] | None = None

    async def register(self, *, seen_ns: int | None = None) -> None:
        """Keep the app's rules: runs that arrive from now on, or from ``seen_ns``, are live for those that are new."""
        rules = self._app.rule_set
        self._first_seen = await self._store.control.rule_set(
            self._project,
            self._app.name,
            rules.hash,
            orjson.dumps(rules.spec()).decode(),
            rules.rule_hashes,
            now_ns=time.time_ns() if seen_ns is None else seen_ns,
            kinds=rules.kinds,
        )

    async def step(self) -> bool:
        """Plan one chunk; True where there may be more."""
        if self._first_seen is None:
            await self.register()
        if not await self._unplanned():
            return False
        now_ns = time.time_ns()
        if not await self._store.control.acquire_lease(
            self._lease, self._worker_id, now_ns=now_ns, until_ns=now_ns + LEASE_NS
        ):
            return False
        runs = await self._unplanned()  # again: the one who held the lease before may have planned them
        if runs:
            assert self._first_seen is not None
            # In a thread: it reads and hashes every run, and the judges' loop must not wait for that.
            plan = await asyncio.to_thread(plan_runs, self._app, runs, first_seen=self._first_seen, now_ns=now_ns)
            planned = await self._store.jobs.plan(
                self._project,
                self._app.name,
                plan.jobs,
                cursor_seq=runs[-1].seq,
                counts=plan.counts,
                retired=plan.retired,
                sinks=self._sinks,
                now_ns=time.time_ns(),
            )
            if planned:
                self._on_jobs(planned, "live")
        if len(runs) == RUNS:
            return True
        await self._store.control.release_lease(self._lease, self._worker_id)
        return False

    async def _unplanned(self) -> list[PlannableRun]:
        cursor = await self._store.jobs.cursor(self._project, self._app.name)
        return await self._store.runs.runs_after(self._project, cursor, RUNS)


def plan_runs(app: ScoringApp, runs: Sequence[PlannableRun], *, first_seen: Mapping[str, int], now_ns: int) -> Plan:
    """Decide for each run which scorers see it: a pure function of rules, run and the trace's number."""
    jobs: list[NewJob] = []
    retired: list[Retired] = []
    planner = Planner(app, now_ns=now_ns)
    for stored in runs:
        if stored.withdrawn:
            continue
        try:
            run = load_any_run(stored.body)
        except Exception:  # one that cannot be read must not keep the cursor from the others
            logger.exception("run %s cannot be read and is not planned", stored.run_id)
            continue
        for planned in app.rule_set.decide(
            run, source="live", first_arrival_ns=stored.first_arrival_ns, first_seen=first_seen
        ):
            scorer = planned.scorer
            planner.count(scorer.id, "sampled_in" if planned.sampled_in else "sampled_out")
            if not planned.sampled_in:
                continue
            job = planner.job(
                run,
                scorer,
                revision=stored.revision,
                probability=planned.probability,
                rule_set=app.rule_set.hash,
                source="live",
                queue="live",
            )
            if job == "not_scorable":
                # What its older states were given stands no more; after a failure it does.
                retired.append(Retired(run_id=run.run_id, scorer_id=scorer.id))
            elif job != "prepare_failed":
                jobs.append(job)
        if stored.changed:
            # What no rule gives to a scorer any more, whenever it came: a run that proved nested is nobody's.
            seen = {planned.scorer.id for planned in app.rule_set.decide(run, source="backfill")}
            retired += [Retired(run_id=run.run_id, scorer_id=name) for name in app.scorers if name not in seen]
    return Plan(jobs=tuple(jobs), counts=tuple(planner.counts()), retired=tuple(retired))
