"""Runs as they go into the store."""

from __future__ import annotations

import hashlib
from typing import Any

from tracescore.model import ScorerRun, content_hash, dump_run
from tracescore.store import RunRecord


def run_record(
    run: ScorerRun[Any, Any], *, first_arrival_ns: int, settled: bool = True, paused: bool | None = None
) -> RunRecord:
    """Give a run as it goes into the store; ``paused`` is what its own spans say, where that is not its status."""
    body = dump_run(run)
    if paused is None:
        paused = run.status == "paused" and run.kind in ("agent", "trace")
    return RunRecord(
        run_id=run.run_id,
        kind=run.kind,
        trace_id=run.trace_id,
        span_id=run.span_id,
        parent_run_id=run.parent_run_id,
        session_id=run.session_id,
        agent_name=run.agent_name,
        service=run.service,
        environment=run.environment,
        status=run.status,
        started_ns=run.start_ns,
        ended_ns=run.end_ns,
        first_arrival_ns=first_arrival_ns,
        outermost=run.outermost,
        content_hash=content_hash(run),
        # Rules see every field, and scorers may read usage or timing: whatever changes, the planner looks again.
        plan_hash=hashlib.sha256(body).hexdigest()[:32],
        body=body,
        settled=settled,
        paused=paused,
    )
