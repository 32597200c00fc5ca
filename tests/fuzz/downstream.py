"""What becomes of what the receiver took: assembled and scored by a worker in this process, without an exception."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.fuzz.laws import hold_codec
from tests.waiting import wait_until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import AgentRun, ScorerRun, load_any_run, run_to_json
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.scheduler import PLAN_EVERY
from tracescore.pipeline.wake import NoWake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.scorers import create_scorer, filter_run
from tracescore.store import RunFilters, Store

_PART_KINDS = ("workflow", "step", "llm", "tool", "retrieval", "span")
_PATIENCE_S = 300
_PAGE = 200
_TIMES = SettleTimes(quiet_ns=0, orphan_ns=0, max_ns=0, session_idle_ns=0, compact_ns=10**9)


def _told(run: AgentRun) -> float:
    """Read all that a scorer may read of an agent's run."""
    texts = [message.content for message in run.conversation]
    texts += [str(call.arguments) + str(call.result) for call in run.output.tool_calls]
    return len("".join((*texts, run.input.text, run.output.text))) / 1e12


def _held(run: ScorerRun[Any, Any]) -> float:
    return len(str(run_to_json(run))) / 1e12


told = create_scorer(
    id="told", type="agent", version="1", prepare_run=filter_run(max_remembered_messages=3)
).generate_score(lambda ctx: _told(ctx.run))
held = create_scorer(id="held", version="1").generate_score(lambda ctx: _held(ctx.run))
APP = TraceScore(
    [told, held],
    rules=[Rule(told, nested=True), Rule(told, kind="session"), *(Rule(held, kind=kind) for kind in _PART_KINDS)],
)


class Heard(logging.Handler):
    """What the pipeline warns of: nothing that was taken may be a reason to."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.records.append(self.format(record))


@contextmanager
def working(store: Store) -> Generator[Heard]:
    """Have a worker settle, plan and score beside the block; it is asked to stop at its end."""
    heard = Heard()
    logging.getLogger("tracescore").addHandler(heard)
    worker = Worker(store, APP, wake=NoWake(), options=WorkerOptions(times=_TIMES))
    worker.start()
    try:
        yield heard
    finally:
        worker.stop(grace=10)
        logging.getLogger("tracescore").removeHandler(heard)


def check_downstream(store: Store, heard: Heard) -> int:
    """Wait until all that came is assembled and scored, and hold every run and outcome; give how many scores."""
    idle_since = time.monotonic()

    def idle() -> bool:
        # Between a trace that is settled and its jobs nothing is pending, for a moment.
        nonlocal idle_since
        if not _idle(store):
            idle_since = time.monotonic()
        return time.monotonic() - idle_since > PLAN_EVERY

    wait_until(idle, timeout=_PATIENCE_S, description="all traces to be assembled and scored")
    assert not heard.records, "\n".join(heard.records[:3])
    after: str | None = None
    while True:
        page = run_sync(store.runs.list("default", filters=RunFilters(), limit=_PAGE, after=after))
        for row in page.items:
            run = load_any_run(row.body)
            hold_codec(run)
            broken = [issue.detail for issue in run.issues if "could not be read (" in issue.detail]
            assert not broken, f"{row.run_id} of trace {run.trace_id}: {broken}"
        if (after := page.next) is None:
            break
    failed = run_sync(store.scores.list("default", outcome="failure", current=None))
    assert not failed.items, failed.items[0]
    states = run_sync(store.jobs.counts("default"))
    return states.get("done", 0)


def _idle(store: Store) -> bool:
    traces = run_sync(store.spans.trace_counts())
    jobs = run_sync(store.jobs.counts())
    return not (traces.settling or jobs.get("pending") or jobs.get("leased"))
