"""The part of the scheduler that joins evaluation results of others with the runs that they are about.

They come when they come: before their spans, long after the run was scored, twice. They wait apart, so that they never
make a run unsettled again, and are looked up ever more seldom until their run is there.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from tracescore.model import Trace
from tracescore.pipeline.assembly import assemble
from tracescore.pipeline.stored_trace import read_stored
from tracescore.store import ExternalScore, OutcomeName, PendingEvaluation, Store, StoredTrace

logger = logging.getLogger(__name__)

NS = 1_000_000_000
CLAIMED = 200
LEASE_NS = 120 * NS
FIRST_PAUSE_NS = 2 * NS
LONGEST_PAUSE_NS = 3600 * NS
PATIENCE_NS = 7 * 24 * 3600 * NS
"""A result whose run has not come after so long is given up."""
PREFIX = "external/"
"""Apart from the names of scorers, so that no result supersedes a score of ours, nor the other way round."""
RESPONSE_IDS = ("gen_ai.response.id", "ai.response.id")

Subject = tuple[str | None, str | None]
"""Span id and response id of a result, either of which may be missing."""
Found = tuple[str, str]
"""Run id and span id."""
InChild = Callable[..., Awaitable[Any]]


class ExternalScores:
    """Make scores of results as soon as their runs are there."""

    def __init__(self, store: Store, *, in_child: InChild) -> None:
        self._store = store
        self._in_child = in_child

    async def step(self) -> bool:
        """Join what is due; True where there may be more."""
        now_ns = time.time_ns()
        claimed = await self._store.externals.claim(now_ns=now_ns, limit=CLAIMED, lease_ns=LEASE_NS)
        if not claimed:
            return False
        joined: set[str] = set()
        for (project, trace_id), evaluations in (await self._by_trace(claimed)).items():
            joined |= await self._join(project, trace_id, evaluations)
        await self._store.externals.put_off([(item, _next_ns(item, joined, now_ns)) for item in claimed])
        return len(claimed) == CLAIMED

    async def _by_trace(
        self, evaluations: Sequence[PendingEvaluation]
    ) -> dict[tuple[str, str], list[PendingEvaluation]]:
        homeless: dict[str, set[str]] = defaultdict(set)
        for item in evaluations:
            if item.trace_id is None and item.response_id is not None:
                homeless[item.project].add(item.response_id)
        traces = {
            project: await self._store.externals.traces_of(project, sorted(response_ids))
            for project, response_ids in homeless.items()
        }
        found: dict[tuple[str, str], list[PendingEvaluation]] = defaultdict(list)
        for item in evaluations:
            trace_id = item.trace_id or traces.get(item.project, {}).get(item.response_id or "")
            if trace_id is not None:
                found[item.project, trace_id].append(item)
        return found

    async def _join(self, project: str, trace_id: str, evaluations: Sequence[PendingEvaluation]) -> set[str]:
        """Give the ids of those whose run is there."""
        stored = await self._store.spans.load_trace(project, trace_id)
        if stored is None:
            return set()
        subjects: list[Subject] = [(item.span_id, item.response_id) for item in evaluations]
        try:
            found: list[Found | None] = await self._in_child(find_runs, project, stored, subjects)
        except Exception as error:  # noqa: BLE001 - one trace that cannot be read must not keep the others
            logger.error("evaluation results of trace %s cannot be joined: %s", trace_id, error)
            return set()
        scores = [
            external_score(item, trace_id, place)
            for item, place in zip(evaluations, found, strict=True)
            if place is not None
        ]
        return await self._store.externals.keep(project, scores) if scores else set()


def find_runs(project: str, stored: StoredTrace, subjects: Sequence[Subject]) -> list[Found | None]:
    """Give the run that holds each subject's span, the innermost of several, and that span."""
    trace, _ = read_stored(stored)
    runs = sorted(assemble(trace, project=project), key=lambda run: -len(run.span_ids))
    holders = {span_id: run.run.run_id for run in runs for span_id in run.span_ids}
    outermost = [run.run.run_id for run in runs if run.run.outermost]
    known = {span.span_id for span in trace.spans}
    spans_of = dict(responses_of(trace))

    def find(subject: Subject) -> Found | None:
        span_id, response_id = subject
        if span_id not in known:
            span_id = spans_of.get(response_id or "")
        if span_id is None:
            return None
        # A span around the only run there is (a request, a workflow) speaks of that.
        alone = outermost[0] if len(outermost) == 1 else None
        run_id = holders.get(span_id, alone)
        return None if run_id is None else (run_id, span_id)

    return [find(subject) for subject in subjects]


def responses_of(trace: Trace) -> list[Found]:
    """Give the ids of the models' responses, each with its span."""
    return [
        (response_id, span.span_id)
        for span in trace.spans
        for name in RESPONSE_IDS
        if isinstance(response_id := span.attributes.get(name), str) and response_id
    ]


def external_score(item: PendingEvaluation, trace_id: str, place: Found) -> ExternalScore:
    """Give a result as a score; one without a number is a failure where it has an error, else not scorable."""
    plain: dict[str, Any] = orjson.loads(item.body)
    value, label, explanation, error = (plain[name] for name in ("value", "label", "explanation", "error_type"))
    reason = ": ".join(part for part in (label, explanation) if part) or None
    outcome: OutcomeName = "score"
    if error is not None:
        outcome, value = "failure", None
        reason = reason or "the evaluation failed"
    elif value is None:
        outcome = "not_scorable"
        reason = reason or "the result has no score.value"
    at_ns: int = plain["time_ns"]
    run_id, span_id = place
    return ExternalScore(
        evaluation_id=item.evaluation_id,
        run_id=run_id,
        trace_id=trace_id,
        span_id=span_id,
        scorer_id=PREFIX + plain["name"],
        outcome=outcome,
        score=value,
        reason=reason,
        error_type=error,
        created_ns=at_ns if 0 < at_ns < item.arrived_ns else item.arrived_ns,
        body=item.body,
    )


def _next_ns(item: PendingEvaluation, joined: set[str], now_ns: int) -> int | None:
    if item.evaluation_id in joined or now_ns - item.arrived_ns > PATIENCE_NS:
        return None
    return now_ns + min(FIRST_PAUSE_NS * 2 ** min(item.attempts - 1, 20), LONGEST_PAUSE_NS)
