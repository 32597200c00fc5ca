"""Score what someone names: spans, or a trace's outermost runs."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracescore.errors import InputError
from tracescore.model import Target, content_hash, load_any_run
from tracescore.model.ids import job_id
from tracescore.pipeline.assembly import read_target
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.stored_trace import read_stored
from tracescore.pipeline.wake import Wake
from tracescore.store import BatchItem, NewJob, OfferRecord, OfferRow, RunFilters, RunRow, Store

LIVE_NS = 30 * 1_000_000_000
"""A worker says every few seconds that it is there; one that has not for this long is gone."""
MAX_ROOTS = 100

NOT_STORED = "nothing of this trace was received"
NO_RUN = "the trace has no settled run yet: ask again when it has settled, or say that it is complete"
NO_SPAN = "the trace has no such span"


class UnknownScorer(InputError):
    """A scorer that no live worker offers; the message names the nearest that are offered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveScorer:
    """A scorer as its newest live offer has it, and how many workers offer that version."""

    newest: OfferRow
    workers: int


async def live_scorers(store: Store, project: str, *, now_ns: int) -> dict[str, LiveScorer]:
    """Give the scorers that live workers offer, by id."""
    offers = await store.control.offers(project, now_ns - LIVE_NS)
    # The version that came last, not the one whose worker spoke last: two may be offered during a deploy.
    since = {(row.scorer_id, row.version): row.since_ns for row in await store.offered.versions(project)}
    newest: dict[str, OfferRow] = {}
    for row in sorted(
        offers, key=lambda row: (since.get((row.offer.scorer_id, row.offer.version), 0), row.seen_ns), reverse=True
    ):
        newest.setdefault(row.offer.scorer_id, row)
    return {
        scorer_id: LiveScorer(
            newest=row,
            workers=len(
                {
                    other.worker
                    for other in offers
                    if (other.offer.scorer_id, other.offer.version) == (scorer_id, row.offer.version)
                }
            ),
        )
        for scorer_id, row in sorted(newest.items())
    }


async def score_targets(
    store: Store, targets: Sequence[Target], *, project: str, scorer_id: str, wake: Wake, now_ns: int
) -> str:
    """Plan one scorer's jobs for targets and give the id of the batch that follows them.

    What was scored before in the same version and state is not scored again: its outcome is the batch's at once. A
    target that cannot be scored is an item of the batch too, with its reason.

    Raises:
        UnknownScorer: no live worker offers the scorer.
    """
    scorers = await live_scorers(store, project, now_ns=now_ns)
    if scorer_id not in scorers:
        raise UnknownScorer(unknown_scorer(scorer_id, list(scorers)))
    offer = scorers[scorer_id].newest.offer
    items: list[BatchItem] = []
    jobs: dict[str, NewJob] = {}
    for target in dict.fromkeys(targets):
        found = await _runs_of(store, project, target)
        if isinstance(found, str):
            items.append(
                BatchItem(trace_id=target.trace_id, span_id=target.span_id, outcome="not_scorable", reason=found)
            )
            continue
        for run in found:
            job = await _job(run, offer, now_ns)
            jobs[job.job_id] = job
            items.append(BatchItem(trace_id=target.trace_id, span_id=run.span_id, run_id=run.run_id, job_id=job.job_id))
    batch_id = await store.control.create_batch(project, "score", items, now_ns=now_ns)
    owed = await store.jobs.plan(
        project,
        scorers[scorer_id].newest.app,
        [replace(job, batch_id=batch_id) for job in jobs.values()],
        now_ns=now_ns,
    )
    if owed:
        await asyncio.to_thread(wake.wake, owed, queue="live")
    return batch_id


def unknown_scorer(scorer_id: str, known: Sequence[str]) -> str:
    """Say that a scorer is not offered, and which are."""
    nearest = difflib.get_close_matches(scorer_id, known, n=3)
    if nearest:
        return f"no live worker offers scorer {scorer_id!r}; did you mean {', '.join(map(repr, nearest))}?"
    if known:
        return f"no live worker offers scorer {scorer_id!r}; offered are {', '.join(map(repr, known[:20]))}"
    return f"no live worker offers scorer {scorer_id!r}, nor any other: is a worker running?"


async def _runs_of(store: Store, project: str, target: Target) -> Sequence[RunRow] | str:
    """Give the stored runs that a target means, or the words for why there are none."""
    if target.span_id is None:
        runs = await _roots_of(store, project, target.trace_id)
        if runs:
            return runs
        return NO_RUN if await store.spans.load_trace(project, target.trace_id) else NOT_STORED
    run = await store.runs.get_for_target(project, target.trace_id, target.span_id)
    if run is not None and not run.withdrawn and run.kind in ("agent", "trace"):
        return [run]
    stored = await store.spans.load_trace(project, target.trace_id)
    if stored is None:
        return NOT_STORED
    trace, _ = read_stored(stored)
    read = await asyncio.to_thread(read_target, trace, target.span_id, project=project)
    if read is None:
        return NO_SPAN
    if read.kind in ("agent", "trace"):
        return NO_RUN  # the scheduler's to store, once it is settled
    # Read anew each time: more of the span may have come since it was last asked for.
    arrived_ns = min((span.arrived_ns for span in stored.spans if span.span_id == read.span_id), default=0)
    await store.runs.add(project, run_record(read, first_arrival_ns=arrived_ns))
    row = await store.runs.get(project, read.run_id)
    return [row] if row else NO_SPAN


async def _roots_of(store: Store, project: str, trace_id: str) -> list[RunRow]:
    """Give the outermost runs of a trace; else those that took up a run of another trace."""
    for outermost in (True, False):
        found: list[RunRow] = []
        for kind in ("agent", "trace"):
            filters = RunFilters(trace_id=trace_id, kind=kind, outermost=outermost)
            found += (await store.runs.list(project, filters=filters, limit=MAX_ROOTS)).items
        inside = {run.run_id for run in found}
        if roots := [run for run in found if run.parent_run_id not in inside]:
            return sorted(roots, key=lambda run: (run.started_ns, run.span_id or ""))
    return []


async def _job(run: RunRow, offer: OfferRecord, now_ns: int) -> NewJob:
    # The id that its live job has, where that is planned as the run is: what was scored is not scored again.
    planned = await asyncio.to_thread(_read_hash, run.body, offer.reads) if offer.reads else run.content_hash
    scorer_id, version = offer.scorer_id, offer.version
    return NewJob(
        job_id=job_id(run_id=run.run_id, planned_hash=planned, scorer_id=scorer_id, scorer_version=version),
        run_id=run.run_id,
        revision=run.revision,
        scorer_id=scorer_id,
        scorer_version=version,
        planned_hash=planned,
        source="manual",
        due_at_ns=now_ns,
    )


def _read_hash(body: bytes, reads: Sequence[str]) -> str:
    return content_hash(load_any_run(body), reads=reads)
