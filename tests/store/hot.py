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
from tracescore.otel.records import EvaluationRow
from tracescore.store import ExternalScore, RunRecord, SessionClock, SettledTrace, Store, TraceStage


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
            [SettledTrace(project="default", trace_id=TRACE, version=trace.version, next_check_ns=None, changed=True)]
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
    join_results(store, runs[0])
    tidy_up(store)


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


def join_results(store: Store, run: RunRecord) -> None:
    """Take in a result of somebody else's, twice, and make it a score."""
    row = EvaluationRow(bytes.fromhex(TRACE), span_row("a").span_id, bytes(16), "resp-1", NOW, b"{}")
    for _ in range(2):
        run_sync(store.spans.ingest("default", [], [], [row], now_ns=NOW, quiet_ns=1))
    (item,) = run_sync(store.externals.claim(now_ns=NOW * 2, limit=5, lease_ns=LEASE))
    run_sync(store.externals.note_responses("default", TRACE, ["resp-1"]))
    assert run_sync(store.externals.traces_of("default", ["resp-1"])) == {"resp-1": TRACE}
    score = ExternalScore(
        evaluation_id=item.evaluation_id,
        run_id=run.run_id,
        trace_id=TRACE,
        span_id=str(run.span_id),
        scorer_id="external/Tone",
        outcome="score",
        score=0.5,
        reason=None,
        error_type=None,
        created_ns=NOW,
        body=item.body,
    )
    assert run_sync(store.externals.keep("default", [score])) == {item.evaluation_id}
    run_sync(store.externals.put_off([(item, None)]))


def tidy_up(store: Store) -> None:
    """Compact a settled trace, have something come for it, and drop it."""
    steps: tuple[tuple[TraceStage, str], ...] = (("compact", "c"), ("drop", "d"))
    for stage, name in steps:
        run_sync(store.spans.ingest("default", [span_row(name), span_row("a")], [], now_ns=NOW, quiet_ns=1))
        (trace,) = run_sync(store.spans.claim_traces(now_ns=NOW * 2, limit=5, lease_ns=LEASE))
        settled = SettledTrace(project="default", trace_id=TRACE, version=trace.version, next_check_ns=NOW, then=stage)
        run_sync(store.spans.settle_traces([settled]))
        claims = run_sync(store.settled.claim(stage, now_ns=NOW, limit=5, lease_ns=LEASE))
        if stage == "compact":
            assert run_sync(store.settled.compact(claims[0]))
        else:
            run_sync(store.runs.forget("default", [TRACE]))
            assert run_sync(store.settled.drop(claims)) == 1
