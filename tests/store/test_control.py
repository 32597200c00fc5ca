from __future__ import annotations

from tests.store.rows import (
    NOW,
    SECOND,
    TRACE,
    claim,
    failure_of,
    finish,
    finished,
    new_job,
    plan,
    replace_runs,
    run_record,
    score_of,
)
from tracescore.bridge import run_sync
from tracescore.store import BatchItem, BatchItemStatus, OfferRecord, OfferRow, Store, WorkerRow

BREVITY = OfferRecord(scorer_id="brevity", version="1", description="short?")
FREE = OfferRecord(scorer_id="free", version="2", score_range=None, higher_is_better=False, needs_judge=True)


def offered(store: Store, since_ns: int = 0) -> list[OfferRow]:
    return run_sync(store.control.offers("default", since_ns))


def test_offers_are_those_that_a_worker_registered_last(store: Store) -> None:
    run_sync(store.control.register_offers("w", "app", "default", [BREVITY, FREE], now_ns=NOW))
    run_sync(store.control.register_offers("w", "app", "default", [FREE], now_ns=NOW + 1))
    run_sync(store.control.register_offers("v", "app", "default", [BREVITY], now_ns=NOW + 2))

    assert offered(store) == [
        OfferRow(project="default", app="app", worker="v", seen_ns=NOW + 2, offer=BREVITY),
        OfferRow(project="default", app="app", worker="w", seen_ns=NOW + 1, offer=FREE),
    ]
    assert offered(store, NOW + 2) == offered(store)[:1]
    assert run_sync(store.control.offers("other")) == []


def test_a_heartbeat_keeps_a_worker_and_its_offers_alive(store: Store) -> None:
    run_sync(store.control.register_offers("w", "app", "default", [BREVITY], now_ns=NOW))
    run_sync(store.control.heartbeat("w", {"slots": 4}, NOW))
    run_sync(store.control.heartbeat("w", {"slots": 8, "host": "\ud800"}, NOW + 9))

    assert [row.seen_ns for row in offered(store, NOW + 9)] == [NOW + 9]
    assert run_sync(store.control.workers(NOW + 9)) == [
        WorkerRow(worker="w", info={"slots": 8, "host": "\ud800"}, started_ns=NOW, seen_ns=NOW + 9)
    ]
    assert run_sync(store.control.workers(NOW + 10)) == []
    run_sync(store.control.forget_worker("w"))
    assert run_sync(store.control.workers()) == offered(store) == []


def test_a_lease_is_one_holders_at_a_time(store: Store) -> None:
    def acquire(holder: str, now_ns: int) -> bool:
        return run_sync(store.control.acquire_lease("plan", holder, now_ns=now_ns, until_ns=now_ns + SECOND))

    assert acquire("a", NOW)
    assert not acquire("b", NOW)
    assert acquire("a", NOW + 1)
    assert not acquire("b", NOW + SECOND)
    assert acquire("b", NOW + SECOND + 1)
    run_sync(store.control.release_lease("plan", "a"))
    assert not acquire("a", NOW + SECOND + 1)
    run_sync(store.control.release_lease("plan", "b"))
    assert acquire("a", NOW + SECOND + 1)


def test_a_rule_keeps_the_time_when_it_was_first_seen(store: Store) -> None:
    def seen(rules: list[str], now_ns: int, app: str = "app") -> dict[str, int]:
        return run_sync(store.control.rule_set("default", app, "+".join(rules), "{}", rules, now_ns=now_ns))

    assert seen(["x", "y"], NOW) == {"x": NOW, "y": NOW}
    assert seen(["y", "z"], NOW + 1) == {"y": NOW, "z": NOW + 1}
    assert seen(["x"], NOW + 2, app="another") == {"x": NOW + 2}
    assert seen([], NOW + 3) == {}


def test_a_batch_tells_each_targets_live_outcome(store: Store) -> None:
    runs = [run_record(name) for name in "abcd"]
    replace_runs(store, *runs)
    jobs = [new_job(run, source="manual") for run in runs]
    items = [
        BatchItem(trace_id=TRACE, span_id=r.span_id, run_id=r.run_id, job_id=j.job_id)
        for r, j in zip(runs, jobs, strict=True)
    ]
    unknown = BatchItem(trace_id="22" * 16, outcome="failure", reason="no such trace")
    batch_id = run_sync(store.control.create_batch("default", "manual", [*items, unknown], now_ns=NOW))
    plan(store, *jobs[:3])
    first, second = claim(store, limit=2)
    finish(store, finished(first, score_of(first, 0.5)), finished(second, failure_of(second)))
    claim(store, limit=1)
    batch = run_sync(store.control.batch("default", batch_id))

    assert batch is not None
    outcomes = {item.run_id: (item.outcome, item.score, item.reason) for item in batch.items}
    assert outcomes[first.run_id] == ("score", 0.5, "since")
    assert outcomes[second.run_id] == ("failure", None, "broken")
    assert sorted(outcome for outcome, _, _ in outcomes.values()) == [
        "failure",
        "failure",
        "leased",
        "pending",
        "score",
    ]
    assert batch.items[-1] == BatchItemStatus(
        trace_id="22" * 16,
        span_id=None,
        run_id=None,
        job_id=None,
        outcome="failure",
        reason="no such trace",
        score=None,
        score_id=None,
    )
    assert (batch.counts["failure"], batch.done, batch.kind, batch.created_ns) == (2, False, "manual", NOW)
    assert run_sync(store.control.batch("other", batch_id)) is None
    assert run_sync(store.control.batch("default", "no id")) is None
