"""From a stored trace to its settled runs: the pure part of the scheduler, run in a child process."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import TypeVar

from tracescore.model import Issue, RunKind, ScorerRun
from tracescore.pipeline.assembly import AssembledRun, assemble_all
from tracescore.pipeline.external_scores import responses_of
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.settle import settle
from tracescore.pipeline.stored_trace import read_stored
from tracescore.store import RunRecord, StoredTrace, TraceStage

RunT = TypeVar("RunT", bound=ScorerRun[Any, Any])

CAPPED = "the trace is larger than what is kept of one; what came later is missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class SettleTimes:
    """How long to wait for what may still come, in nanoseconds; ``compact_ns`` is 0 where nothing is compacted."""

    quiet_ns: int = 10_000_000_000
    orphan_ns: int = 60_000_000_000
    max_ns: int = 600_000_000_000
    session_idle_ns: int = 600_000_000_000
    compact_ns: int = 3_600_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class AssembledTrace:
    """The runs of a trace as they stand now, and when to do what next; ``problems`` are parts that cannot be read."""

    runs: tuple[RunRecord, ...]
    next_check_ns: int | None
    then: TraceStage = "assemble"
    problems: tuple[str, ...] = ()
    response_ids: tuple[str, ...] = ()
    """What evaluation results may call it by."""


def assemble_stored(
    project: str, stored: StoredTrace, now_ns: int, times: SettleTimes, kinds: Collection[RunKind] = ()
) -> AssembledTrace:
    """Read, assemble and settle one trace, and those of its parts that are of these kinds."""
    trace, problems = read_stored(stored)
    last_arrivals = {span.span_id: span.last_arrived_ns for span in stored.spans}
    for log in stored.logs:
        last_arrivals[log.span_id] = max(last_arrivals.get(log.span_id, 0), log.arrived_ns)
    runs: list[RunRecord] = []
    checks: list[int] = []
    whole, parts = assemble_all(trace, kinds, project=project)
    for assembled in (*whole, *parts):
        settled = settle(
            _with_last_copies(assembled, stored, last_arrivals),
            now_ns=now_ns,
            quiet_ns=times.quiet_ns,
            orphan_ns=times.orphan_ns,
            max_ns=times.max_ns,
        )
        if settled.next_check_ns is not None:
            checks.append(settled.next_check_ns)
        run = assembled.run
        if stored.capped:
            run = replace(run, issues=(*run.issues, Issue(code="capped", detail=CAPPED)))
        runs.append(run_record(run, first_arrival_ns=assembled.first_arrival_ns, settled=settled.ready))
    then, next_check_ns = _next(
        checks, bool(runs), bool(problems), max(last_arrivals.values(), default=0), now_ns, times
    )
    return AssembledTrace(
        runs=tuple(runs),
        next_check_ns=next_check_ns,
        then=then,
        problems=tuple(problems),
        response_ids=tuple(response_id for response_id, _ in responses_of(trace)),
    )


def _next(
    checks: list[int], has_runs: bool, has_problems: bool, last_arrival_ns: int, now_ns: int, times: SettleTimes
) -> tuple[TraceStage, int | None]:
    if checks:
        return "assemble", min(checks)
    if not has_runs and not has_problems:  # ordinary traffic, which may be most of what comes
        return "drop", last_arrival_ns + times.max_ns
    return "compact", now_ns + times.compact_ns if times.compact_ns else None


def _with_last_copies(
    assembled: AssembledRun[RunT], stored: StoredTrace, last_arrivals: Mapping[str, int]
) -> AssembledRun[RunT]:
    """Count what came last: a span's own arrival is that of its first copy."""
    arrivals = [last_arrivals.get(span_id, 0) for span_id in assembled.span_ids]
    return replace(
        assembled,
        complete=assembled.complete or stored.complete,
        last_arrival_ns=max(assembled.last_arrival_ns, *arrivals) if arrivals else assembled.last_arrival_ns,
    )
