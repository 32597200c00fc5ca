"""What runs all the time in a store, each once: for tests that look at how the database does it."""

from __future__ import annotations

from tests.store.rows import (
    LEASE,
    NOW,
    OFFER,
    TRACE,
    claim,
    finish,
    finished,
    log_row,
    new_job,
    plan,
    replace_runs,
    run_record,
    span_row,
)
from tracescore.bridge import run_sync
from tracescore.store import SessionClock, SettledTrace, Store


def work_through(store: Store) -> None:
    """Receive, settle, plan, claim, finish, read and deliver."""
    spans, runs = [span_row("a"), span_row("b")], [run_record(name) for name in "abc"]
    for kept in (spans[:1], spans):
        run_sync(store.spans.ingest("default", kept, [log_row()], now_ns=NOW, quiet_ns=1))
    run_sync(store.spans.pending("default"))
    (trace,) = run_sync(store.spans.claim_traces(now_ns=NOW * 2, limit=5, lease_ns=LEASE))
    run_sync(store.spans.load_trace("default", TRACE))
    run_sync(
        store.spans.settle_traces(
            [SettledTrace(project="default", trace_id=TRACE, version=trace.version, next_check_ns=None)]
        )
    )
    replace_runs(store, *runs)
    run_sync(store.runs.runs_after("default", 0, 10))
    run_sync(store.runs.kinds_of_trace("default", TRACE))
    run_sync(store.control.asked_kinds())
    converse(store)
    run_sync(store.runs.get_for_target("default", TRACE))
    run_sync(store.runs.list("default"))
    jobs = [new_job(run) for run in runs]
    plan(store, *jobs, cursor_seq=3)
    run_sync(store.jobs.due(now_ns=NOW, limit=5, offers=[OFFER]))
    claimed = claim(store, prefer=[jobs[0].job_id])
    run_sync(store.jobs.renew("w", [(claimed[0].job_id, 1)], until_ns=NOW + LEASE))
    run_sync(store.jobs.release([(claimed[0].job_id, 1)], due_at_ns=NOW * 2))
    run_sync(store.jobs.save_reply(claimed[1].job_id, "analyze", "hash", "reply"))
    run_sync(store.jobs.load_replies(claimed[1].job_id))
    finish(store, *(finished(job, sinks=("otel",)) for job in claimed))
    run_sync(store.jobs.for_runs("default", [runs[0].run_id]))
    page = run_sync(store.scores.list("default"))
    run_sync(store.scores.list("default", trace_id=TRACE))
    run_sync(store.scores.list("default", run_id=page.items[0].run_id))
    run_sync(store.scores.get(page.items[0].score_id))
    items = run_sync(store.scores.claim_outbox(["otel"], now_ns=NOW * 2, lease_ns=LEASE, limit=5))
    run_sync(store.scores.outbox_retry(items[0].id, NOW, "refused"))
    run_sync(store.scores.outbox_done([items[1].id]))
    replace_runs(store, run_record("a", content="d"), version=2)
    replace_runs(store, *runs, version=3)


def converse(store: Store) -> None:
    """Settle a session, and look at what was paused in it and taken up again."""
    clock = SessionClock(idle_ns=0, opens=True)
    for number, paused in ((3, True), (4, False)):
        trace_id = f"{number:032x}"
        turn = run_record("a", trace_id=trace_id, session_id="s", paused=paused, started_ns=NOW + number)
        run_sync(store.runs.replace_runs("default", trace_id, 1, [turn], now_ns=NOW, sessions=clock))
        run_sync(store.sessions.paused_before("default", "s", turn))
        run_sync(store.sessions.begun_after("default", "s", turn, limit=5))
    (claim,) = run_sync(store.sessions.claim(now_ns=NOW, limit=5, lease_ns=LEASE))
    run_sync(store.sessions.turns("default", "s", limit=5))
    run_sync(store.runs.replace_session("default", "s", claim.version, None, now_ns=NOW))
    run_sync(store.sessions.settle(claim))
    run_sync(store.runs.replace_runs("default", f"{3:032x}", 2, [], now_ns=NOW, sessions=clock))
    run_sync(store.spans.look_again("default", [TRACE], now_ns=NOW))
