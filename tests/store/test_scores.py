from __future__ import annotations

from typing import Any

import pytest

from tests.store.rows import (
    LEASE,
    NOW,
    SECOND,
    TRACE,
    claim,
    failure_of,
    finish,
    finished,
    new_job,
    not_scorable_of,
    plan,
    replace_runs,
    run_record,
    score_of,
)
from tracescore.bridge import run_sync
from tracescore.errors import InputError
from tracescore.model import Evidence, JudgeCall, SubScore, Target
from tracescore.model.ids import score_key
from tracescore.store import ClaimedJob, OutboxItem, ScoreRow, Store

A, B = run_record("a"), run_record("b")
SINKS = ("otel", "webhook")


def claimed_job(store: Store, **options: Any) -> ClaimedJob:
    replace_runs(store, A)
    plan(store, new_job(A, **options))
    (job,) = claim(store)
    return job


def listed(store: Store, **filters: Any) -> list[ScoreRow]:
    return list(run_sync(store.scores.list("default", **filters)).items)


def outbox(store: Store, *sinks: str, now_ns: int = NOW + SECOND) -> list[OutboxItem]:
    return run_sync(store.scores.claim_outbox(sinks or SINKS, now_ns=now_ns, lease_ns=LEASE, limit=10))


def test_a_score_is_read_back_with_its_sub_scores_and_evidence(store: Store) -> None:
    job = claimed_job(store, probability=0.5, rule_set="rules")
    evidence = Evidence(
        judged_hash="judged",
        results={"analyze": {"claims": [1, 2]}},
        judge_calls=(JudgeCall(step="analyze", prompt="say \ud800", raw_reply="{}", cost=0.5),),
        notes=("cut",),
        duration_ms=12.5,
    )
    score = score_of(
        job,
        0.25,
        sub_scores=(SubScore(name="recall", value=0.5, reason="half"), SubScore(name="precision", value=1.0)),
        score_range=(0, 2),
        higher_is_better=False,
        counted=False,
        reason_error="late",
        evidence=evidence,
    )
    finish(store, finished(job, score))
    (row,) = listed(store)

    assert row == ScoreRow(
        project="default",
        score_id=row.score_id,
        score_key=score_key(run_id=A.run_id, scorer_id="brevity"),
        job_id=job.job_id,
        run_id=A.run_id,
        trace_id=TRACE,
        span_id=A.span_id,
        scorer_id="brevity",
        scorer_version="1",
        outcome="score",
        score=0.25,
        reason="since",
        reason_error="late",
        error_type=None,
        failed_step=None,
        transient=False,
        score_range=(0.0, 2.0),
        higher_is_better=False,
        counted=False,
        sub_scores=(SubScore(name="recall", value=0.5, reason="half"), SubScore(name="precision", value=1.0)),
        source="live",
        generation=0,
        revision=1,
        probability=0.5,
        rule_set="rules",
        judged_hash="judged",
        current=True,
        created_ns=NOW + SECOND,
    )
    full = run_sync(store.scores.get(row.score_id))
    assert full is not None
    assert full.evidence is not None
    assert full.evidence["results"] == {"analyze": {"claims": [1, 2]}}
    assert full.evidence["judge_calls"][0]["cost"] == 0.5
    assert run_sync(store.scores.get(row.score_id, project="other")) is None
    assert run_sync(store.scores.get("no id")) is None


def test_failures_and_not_scorable_have_no_number(store: Store) -> None:
    replace_runs(store, A, B)
    plan(store, new_job(A), new_job(B))
    first, second = claim(store)
    finish(store, finished(first, failure_of(first)), finished(second, not_scorable_of(second)))
    (failure,), (nothing,) = listed(store, outcome="failure"), listed(store, outcome="not_scorable")

    assert (failure.score, failure.reason, failure.error_type, failure.failed_step) == (
        None,
        "broken",
        "ValueError",
        "analyze",
    )
    assert (nothing.score, nothing.reason) == (None, "nothing said")
    assert listed(store, outcome="score") == []


def test_an_outcome_may_name_its_own_target(store: Store) -> None:
    job = claimed_job(store)
    finish(store, finished(job, score_of(job, target=Target(trace_id="44" * 16, span_id="55" * 8))))

    assert [(row.trace_id, row.span_id) for row in listed(store)] == [("44" * 16, "55" * 8)]


def test_a_free_scale_stays_one(store: Store) -> None:
    job = claimed_job(store)
    finish(store, finished(job, score_of(job, 1e300, score_range=None)))

    assert [(row.score, row.score_range) for row in listed(store)] == [(1e300, None)]


def test_a_sub_score_that_is_no_number_is_refused_whole(store: Store) -> None:
    job = claimed_job(store)
    bad = score_of(job, sub_scores=(SubScore(name="recall", value=float("nan")),))
    with pytest.raises(ValueError, match="'recall' of scorer 'brevity' is not finite"):
        finish(store, finished(job, bad))

    assert listed(store) == []


def test_text_that_no_database_takes_is_stored(store: Store) -> None:
    job = claimed_job(store)
    evidence = Evidence(judged_hash="j", results={"analyze": {1: float("nan"), "x": "\ud800", "n": 2**80}})
    finish(store, finished(job, score_of(job, reason="nul \x00 \udc00" + "x" * 10_000_000, evidence=evidence)))
    (row,) = listed(store)

    assert str(row.reason)[:8] == "nul \ufffd \ufffdx"
    assert run_sync(store.scores.get(row.score_id)) is not None


def test_scores_are_filtered(store: Store) -> None:
    replace_runs(store, A, B)
    plan(store, new_job(A), new_job(B))
    for number, job in enumerate(claim(store)):
        finish(store, finished(job, finished_ns=NOW + number))

    assert len(listed(store)) == len(listed(store, trace_id=TRACE)) == len(listed(store, scorer_id="brevity")) == 2
    assert [row.run_id for row in listed(store, run_id=A.run_id)] == [A.run_id]
    assert [row.run_id for row in listed(store, span_id=B.span_id)] == [B.run_id]
    assert len(listed(store, since_ns=NOW + 1)) == len(listed(store, until_ns=NOW + 1)) == 1
    assert listed(store, scorer_id="x") == listed(store, trace_id="x") == listed(store, current=False) == []


def test_scores_are_listed_by_pages_newest_first(store: Store) -> None:
    runs = [run_record(str(number)) for number in range(5)]
    replace_runs(store, *runs)
    plan(store, *map(new_job, runs))
    for number, job in enumerate(claim(store)):
        finish(store, finished(job, score_of(job, number / 10), finished_ns=NOW + number // 2))
    first = run_sync(store.scores.list("default", limit=2))
    second = run_sync(store.scores.list("default", limit=2, after=first.next))
    third = run_sync(store.scores.list("default", limit=2, after=second.next))

    assert [row.score for page in (first, second, third) for row in page.items] == [0.4, 0.3, 0.2, 0.1, 0.0]
    assert third.next is None
    with pytest.raises(InputError):
        run_sync(store.scores.list("default", after="made up"))


def test_each_sink_is_owed_each_score_until_it_is_done(store: Store) -> None:
    job = claimed_job(store)
    finish(store, finished(job, sinks=SINKS))
    items = outbox(store)

    assert [(item.sink, item.attempts, item.payload) for item in items] == [
        (sink, 1, listed(store)[0]) for sink in SINKS
    ]
    assert outbox(store) == []
    run_sync(store.scores.outbox_done([items[0].id]))
    assert [item.sink for item in outbox(store, now_ns=NOW + 2 * LEASE)] == ["webhook"]


def test_a_delivery_that_failed_is_tried_again_when_told(store: Store) -> None:
    job = claimed_job(store)
    finish(store, finished(job, sinks=("otel",)))
    (item,) = outbox(store)
    run_sync(store.scores.outbox_retry(item.id, NOW + 5 * LEASE, "refused \x00"))

    assert outbox(store, now_ns=NOW + 5 * LEASE - 1) == []
    assert [again.attempts for again in outbox(store, now_ns=NOW + 5 * LEASE)] == [2]
    assert outbox(store, "another sink", now_ns=NOW + 99 * LEASE) == []
    assert run_sync(store.scores.claim_outbox([], now_ns=NOW * 2, lease_ns=1, limit=1)) == []


def test_an_id_of_a_delivery_is_never_used_again(store: Store) -> None:
    replace_runs(store, A, B)
    plan(store, new_job(A), new_job(B))
    first, second = claim(store)
    finish(store, finished(first, sinks=("otel",)))
    (done,) = outbox(store)
    run_sync(store.scores.outbox_done([done.id]))
    finish(store, finished(second, sinks=("otel",)))
    run_sync(store.scores.outbox_done([done.id]))

    assert [item.payload.run_id for item in outbox(store)] == [second.run_id]


def test_an_older_outcome_that_stands_again_is_delivered_again(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A), new_job(A, generation=1, source="manual"))
    first, second = sorted(claim(store), key=lambda job: job.generation)
    finish(store, finished(first, score_of(first, 0.1)))
    (old,) = listed(store)
    finish(store, finished(second, score_of(second, 0.2)))
    plan(store, new_job(A, generation=2, source="manual"))
    (third,) = claim(store)
    finish(store, finished(third, by_reference=old.score_id, sinks=("otel",)))

    assert [(item.payload.score, item.payload.current) for item in outbox(store)] == [(0.1, True)]
