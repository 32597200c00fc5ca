"""From a stored trace to its settled runs: the pure part of the scheduler, run in a child process."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import TypeVar

from tracescore.model import Issue, RunKind, ScorerRun
from tracescore.pipeline.assembly import AssembledRun, assemble_all
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.settle import settle
from tracescore.pipeline.stored_trace import read_stored
from tracescore.store import RunRecord, StoredTrace

RunT = TypeVar("RunT", bound=ScorerRun[Any, Any])

CAPPED = "the trace is larger than what is kept of one; what came later is missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class SettleTimes:
    """How long to wait for what may still come, in nanoseconds."""

    quiet_ns: int = 10_000_000_000
    orphan_ns: int = 60_000_000_000
    max_ns: int = 600_000_000_000
    session_idle_ns: int = 600_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class AssembledTrace:
    """The runs of a trace as they stand now, and when to look again; ``problems`` are parts that could not be read."""

    runs: tuple[RunRecord, ...]
    next_check_ns: int | None
    problems: tuple[str, ...] = ()


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
    return AssembledTrace(runs=tuple(runs), next_check_ns=min(checks, default=None), problems=tuple(problems))


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
