"""Backfills: score stored runs afterwards. Whoever asks only creates one; workers that offer the scorer plan it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracescore.errors import ConfigurationError, InputError
from tracescore.model import load_any_run
from tracescore.pipeline.leases import NS
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.planned import Planner
from tracescore.pipeline.rules import Rule, RuleSet
from tracescore.pipeline.targets import UnknownScorer, live_scorers, unknown_scorer
from tracescore.store import Backfill, BackfillMark, BackfillRun, BackfillSpec, DecisionCount, NewJob, Store

logger = logging.getLogger(__name__)

RUNS = 256
"""Runs in one chunk: its jobs and how far it came are written in one transaction."""
LEASE_NS = 10 * NS


async def create_backfill(
    store: Store, project: str, scorer_id: str, spec: BackfillSpec, *, now_ns: int | None = None
) -> Backfill:
    """Have the stored runs of a project scored by the version of the scorer's newest live offer.

    Raises:
        UnknownScorer: no live worker offers the scorer.
        InputError: a condition, rate or limit that cannot be.
    """
    now_ns = time.time_ns() if now_ns is None else now_ns
    spec = checked(scorer_id, spec)
    scorers = await live_scorers(store, project, now_ns=now_ns)
    if scorer_id not in scorers:
        raise UnknownScorer(unknown_scorer(scorer_id, list(scorers)))
    version = scorers[scorer_id].newest.offer.version
    return await store.backfills.create(project, scorer_id, version, spec, now_ns=now_ns)


def checked(scorer_id: str, spec: BackfillSpec) -> BackfillSpec:
    """Give a spec whose conditions are lists, as a rule has them.

    Raises:
        InputError: a condition, rate or limit that cannot be.
    """
    try:
        rule = _rule(scorer_id, spec)
    except ConfigurationError as error:
        raise InputError(str(error).replace("rule for", "backfill with", 1)) from error
    if spec.limit is not None and spec.limit < 1:
        raise InputError(f"limit {spec.limit} is none: give a number from 1")
    return BackfillSpec(
        kind=spec.kind,
        where=rule.spec()["where"],
        sample_rate=spec.sample_rate,
        since_ns=spec.since_ns,
        until_ns=spec.until_ns,
        limit=spec.limit,
    )


@dataclass(slots=True)
class _Chunk:
    """What a chunk of runs comes to."""

    mark: BackfillMark
    jobs: list[NewJob] = field(default_factory=list)
    seen: int = 0
    skipped: int = 0
    left_out: int = 0
    counts: Sequence[DecisionCount] = ()


class Backfilling:
    """Plan the backfills of one project whose scorer's version an app offers; one worker at a time plans one."""

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        project: str,
        worker_id: str,
        on_jobs: Callable[[Sequence[str], str], None],
    ) -> None:
        self._store = store
        self._app = app
        self._project = project
        self._worker_id = worker_id
        self._on_jobs = on_jobs

    async def step(self) -> bool:
        """Plan one chunk of each backfill; True where there may be more."""
        more = False
        for backfill in await self._store.backfills.planning(self._project):
            scorer = self._app.scorers.get(backfill.scorer_id)
            if scorer is None or scorer.version != backfill.scorer_version:
                continue
            name, now_ns = f"backfill:{backfill.batch_id}", time.time_ns()
            if not await self._store.control.acquire_lease(
                name, self._worker_id, now_ns=now_ns, until_ns=now_ns + LEASE_NS
            ):
                continue
            if await self._chunk(backfill.batch_id, now_ns):
                more = True
            else:
                await self._store.control.release_lease(name, self._worker_id)
        return more

    async def _chunk(self, batch_id: str, now_ns: int) -> bool:
        backfill = await self._store.backfills.get(self._project, batch_id)  # again, now that it is ours
        if backfill is None or backfill.state != "planning":
            return False
        runs = await self._store.backfills.runs(backfill, RUNS)
        # In a thread: it reads and hashes every run, and the judges' loop must not wait for that.
        chunk = await asyncio.to_thread(plan_chunk, self._app, backfill, runs, now_ns=now_ns)
        owed = await self._store.backfills.plan(
            backfill,
            chunk.jobs,
            app=self._app.name,
            mark=chunk.mark,
            seen=chunk.seen,
            skipped=chunk.skipped,
            left_out=chunk.left_out,
            last=len(runs) < RUNS and chunk.seen == len(runs),
            counts=chunk.counts,
            now_ns=now_ns,
        )
        if owed:
            self._on_jobs(owed, "backfill")
        return owed is not None


def plan_chunk(app: ScoringApp, backfill: Backfill, runs: Sequence[BackfillRun], *, now_ns: int) -> _Chunk:
    """Decide for each run whether it is the backfill's: a pure function of app, backfill and run."""
    spec = backfill.spec
    scorer = app.scorers[backfill.scorer_id]
    rules = RuleSet([_rule(scorer.id, spec)], scorers={scorer.id: scorer})
    planner = Planner(app, now_ns=now_ns)
    chunk = _Chunk(mark=backfill.mark)
    room = None if spec.limit is None else spec.limit - backfill.planned
    for stored in runs:
        if room is not None and len(chunk.jobs) >= room:
            break
        chunk.mark = BackfillMark(created_ns=stored.created_ns, run_id=stored.run_id)
        chunk.seen += 1
        if stored.body is None:
            chunk.skipped += stored.scored
            continue
        try:
            run = load_any_run(stored.body)
        except Exception:  # one that cannot be read must not keep the mark from the others
            logger.exception("run %s cannot be read and is not planned", stored.run_id)
            continue
        for decided in rules.decide(run, source="backfill"):
            if not decided.sampled_in:
                chunk.left_out += 1
            elif stored.scored:
                chunk.skipped += 1
            else:
                job = planner.job(
                    run,
                    scorer,
                    revision=stored.revision,
                    probability=decided.probability,
                    source="backfill",
                    queue="backfill",
                    batch_id=backfill.batch_id,
                )
                if isinstance(job, str):
                    chunk.left_out += 1
                else:
                    chunk.jobs.append(job)
    chunk.counts = planner.counts()
    return chunk


def _rule(scorer_id: str, spec: BackfillSpec) -> Rule:
    where: Mapping[str, Any] = spec.where
    kind: Any = spec.kind  # the rule tells what it may be
    return Rule(scorer_id, where=where, sample_rate=spec.sample_rate, kind=kind)
