from __future__ import annotations

import pytest

from tests.store.rows import (
    LEASE,
    NOW,
    OFFER,
    SECOND,
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
    score_run,
)
from tracescore.bridge import run_sync
from tracescore.store import (
    ClaimedJob,
    CurrentOutcome,
    DueJob,
    JobRow,
    Offered,
    RunRecord,
    Store,
)

A, B = run_record("a"), run_record("b")


def jobs_of(store: Store, run: RunRecord = A) -> list[JobRow]:
    return run_sync(store.jobs.for_runs("default", [run.run_id]))


def states(store: Store, run: RunRecord = A) -> list[str]:
    return [job.state for job in jobs_of(store, run)]


def current(store: Store, run: RunRecord = A) -> list[float | None]:
    return [row.score for row in run_sync(store.scores.list("default", run_id=run.run_id)).items]


def test_a_claimed_job_carries_what_scoring_needs(store: Store) -> None:
    replace_runs(store, A)
    batch_id = "ab" * 16
    plan(store, new_job(A, probability=0.25, rule_set="rules", source="manual", batch_id=batch_id))

    assert claim(store) == [
        ClaimedJob(
            project="default",
            job_id=new_job(A).job_id,
            token=1,
            run_id=A.run_id,
            revision=1,
            scorer_id="brevity",
            scorer_version="1",
            source="manual",
            queue="live",
            probability=0.25,
            rule_set="rules",
            generation=0,
            batch_id=batch_id,
            leases_taken=1,
            attempts=0,
            run_body=A.body,
            current=None,
        )
    ]


def test_only_what_is_offered_is_claimed(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A), new_job(A, version="2"), new_job(A, scorer_id="other"))
    offers = [Offered(project="default", scorer_id="brevity", scorer_version="2"), *[OFFER] * 2]

    assert claim(store, offers=[Offered(project="x", scorer_id="brevity", scorer_version="1")]) == []
    assert sorted((job.scorer_id, job.scorer_version) for job in claim(store, offers=offers)) == [
        ("brevity", "1"),
        ("brevity", "2"),
    ]
    assert claim(store, offers=[]) == []


def test_live_goes_before_backfill_and_then_by_due_time(store: Store) -> None:
    runs = [run_record(str(number)) for number in range(6)]
    replace_runs(store, *runs)
    plan(
        store,
        new_job(runs[0], queue="backfill", due_at_ns=NOW - 9),
        new_job(runs[1], due_at_ns=NOW - 1),
        new_job(runs[2], due_at_ns=NOW - 5),
        new_job(runs[3], due_at_ns=NOW + 1),
        new_job(runs[4], queue="backfill", due_at_ns=NOW - 7),
        new_job(runs[5], scorer_id="other", due_at_ns=NOW - 3),
    )
    offers = [OFFER, Offered(project="default", scorer_id="other", scorer_version="1")]

    def taken(limit: int, now_ns: int = NOW) -> list[int]:
        ids = [run.run_id for run in runs]
        return [ids.index(job.run_id) for job in claim(store, offers=offers, limit=limit, now_ns=now_ns)]

    assert taken(4) == [2, 5, 1, 0]
    assert taken(4) == [4]
    assert taken(4, NOW + 1) == [3]


def test_preferred_jobs_come_first_within_their_queue(store: Store) -> None:
    runs = [run_record(str(number)) for number in range(5)]
    replace_runs(store, *runs)
    jobs = [
        new_job(run, due_at_ns=NOW - 10 + number, queue="backfill" if number == 4 else "live")
        for number, run in enumerate(runs)
    ]
    plan(store, *jobs)
    prefer = [jobs[4].job_id, jobs[3].job_id, "nonsense", "00" * 16, new_job(A).job_id]
    claimed = claim(store, prefer=prefer, limit=4)

    assert [job.job_id for job in claimed] == [jobs[number].job_id for number in (3, 0, 1, 2)]


def test_preferred_jobs_that_are_not_offered_are_left(store: Store) -> None:
    replace_runs(store, A)
    (job_id,) = plan(store, new_job(A, scorer_id="other"))

    assert claim(store, prefer=[job_id]) == []


def test_hundreds_of_offers_are_claimed_across(store: Store) -> None:
    replace_runs(store, A)
    ids = [f"scorer {number}" for number in range(650)]
    plan(store, *(new_job(A, scorer_id=scorer_id) for scorer_id in ids))
    offers = [Offered(project="default", scorer_id=scorer_id, scorer_version="1") for scorer_id in ids]

    assert len(claim(store, offers=offers, limit=1000)) == 650


def test_a_lease_that_ended_is_claimable_again_under_a_new_token(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (first,) = claim(store)

    assert claim(store, now_ns=NOW + LEASE - 1) == []
    (second,) = claim(store, now_ns=NOW + LEASE, worker="other")
    assert (first.token, second.token, second.leases_taken) == (1, 2, 2)


def test_a_worker_that_lost_its_lease_writes_nothing(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (lost,) = claim(store)
    (held,) = claim(store, now_ns=NOW + LEASE, worker="other")

    assert finish(store, finished(lost, score_of(lost, 0.1), sinks=("otel",))) == set()
    assert (states(store), current(store)) == (["leased"], [])
    assert finish(store, finished(held, score_of(held, 0.9))) == {held.job_id}
    assert finish(store, finished(held, score_of(held, 0.2))) == set()
    assert current(store) == [0.9]


def test_a_lease_is_renewed_by_who_holds_it(store: Store) -> None:
    replace_runs(store, A, B)
    plan(store, new_job(A), new_job(B))
    jobs = {job.run_id: (job.job_id, job.token) for job in claim(store)}
    a, b = jobs[A.run_id], jobs[B.run_id]
    until = NOW + 3 * LEASE

    assert run_sync(store.jobs.renew("w", [a], until_ns=until)) == {a[0]}
    assert run_sync(store.jobs.renew("thief", [a], until_ns=until + 1)) == set()
    assert [job.run_id for job in claim(store, now_ns=until - 1, worker="other")] == [B.run_id]
    assert run_sync(store.jobs.renew("w", [a, b], until_ns=until)) == {a[0]}
    assert [job.run_id for job in claim(store, now_ns=until)] == [A.run_id]


def test_a_released_job_is_due_again_and_its_lease_does_not_count(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)
    run_sync(store.jobs.release([(job.job_id, job.token)], due_at_ns=NOW + 5, error="no judge"))

    (row,) = jobs_of(store)
    assert (row.state, row.due_at_ns, row.leases_taken, row.error, row.leased_by) == (
        "pending",
        NOW + 5,
        0,
        "no judge",
        None,
    )
    assert finish(store, finished(job)) == set()
    (again,) = claim(store, now_ns=NOW + 5)
    run_sync(store.jobs.release([(job.job_id, job.token)], due_at_ns=NOW))
    assert states(store) == ["leased"]
    assert (again.token, again.leases_taken) == (2, 1)


def test_each_outcome_ends_its_job_in_its_own_state(store: Store) -> None:
    runs = [run_record(name) for name in "abc"]
    replace_runs(store, *runs)
    plan(store, *map(new_job, runs))
    jobs = {job.run_id: job for job in claim(store)}
    first, second, third = (jobs[run.run_id] for run in runs)
    finish(store, finished(first), finished(second, failure_of(second)), finished(third, not_scorable_of(third)))

    assert [states(store, run) for run in runs] == [["done"], ["failed"], ["not_scorable"]]
    assert [jobs_of(store, run)[0].error for run in runs] == [None, "ValueError: broken", None]
    assert [jobs_of(store, run)[0].attempts for run in runs] == [1, 1, 1]


def test_a_claim_tells_the_current_outcome_of_the_same_version(store: Store) -> None:
    replace_runs(store, A)
    score_id = score_run(store, A)
    plan(store, new_job(A, generation=1, source="manual"), new_job(A, version="2"))
    offers = [OFFER, Offered(project="default", scorer_id="brevity", scorer_version="2")]
    found = {job.scorer_version: job.current for job in claim(store, offers=offers, now_ns=NOW + 10 * LEASE)}

    assert found == {"1": CurrentOutcome(score_id=score_id, outcome="score", judged_hash="judged 1"), "2": None}


def test_a_job_is_done_by_reference_without_a_new_score(store: Store) -> None:
    replace_runs(store, A)
    score_id = score_run(store, A, 0.7)
    revised = run_record("a", content="d")
    replace_runs(store, revised, version=2)
    plan(store, new_job(revised, revision=2))
    (job,) = claim(store, now_ns=NOW + 10 * LEASE)

    assert finish(store, finished(job, by_reference=score_id, sinks=("otel",))) == {job.job_id}
    assert [(row.state, row.score_id) for row in jobs_of(store)] == [("done", score_id)] * 2
    rows = run_sync(store.scores.list("default", current=None)).items
    assert [(row.score, row.current) for row in rows] == [(0.7, True)]
    assert run_sync(store.scores.claim_outbox(["otel"], now_ns=NOW * 2, lease_ns=1, limit=9)) == []


def test_a_reference_holds_its_score_against_a_late_outcome_of_an_older_revision(store: Store) -> None:
    replace_runs(store, A)
    score_id = score_run(store, A, 0.7)
    plan(store, new_job(A, generation=1, source="manual"))
    (slow,) = claim(store, now_ns=NOW + 10 * LEASE)
    revised = run_record("a", content="d")
    replace_runs(store, revised, version=2)
    plan(store, new_job(revised, revision=2))
    (job,) = claim(store, now_ns=NOW + 10 * LEASE)
    finish(store, finished(job, by_reference=score_id))
    finish(store, finished(slow, score_of(slow, 0.1)))

    assert current(store) == [0.7]


@pytest.mark.parametrize("reference", ["00" * 16, "of another run"])
def test_a_reference_to_nothing_gives_the_job_back(store: Store, reference: str) -> None:
    replace_runs(store, A, B)
    other = score_run(store, B)
    plan(store, new_job(A))
    (job,) = claim(store)
    end = finished(job, by_reference=other if reference == "of another run" else reference)

    assert finish(store, end) == set()
    (again,) = claim(store, now_ns=NOW + SECOND)
    assert (again.job_id, again.leases_taken) == (job.job_id, 1)


def test_versions_share_one_current_outcome_the_last_that_ended(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A), new_job(A, version="2"))
    offers = [OFFER, Offered(project="default", scorer_id="brevity", scorer_version="2")]
    first, second = sorted(claim(store, offers=offers), key=lambda job: job.scorer_version)
    finish(store, finished(second, score_of(second, 0.2)), finished(first, score_of(first, 0.1)))

    assert current(store) == [0.1]
    assert len(run_sync(store.scores.list("default", current=False)).items) == 1


def test_due_jobs_are_those_that_a_claim_would_take(store: Store) -> None:
    runs = [run_record(str(number)) for number in range(4)]
    replace_runs(store, *runs)
    jobs = [
        new_job(runs[0], queue="backfill"),
        new_job(runs[1]),
        new_job(runs[2], due_at_ns=NOW + 1),
        new_job(runs[3], scorer_id="other"),
    ]
    plan(store, *jobs)
    claim(store, limit=1)
    expected = [DueJob(job_id=jobs[3].job_id, queue="live"), DueJob(job_id=jobs[0].job_id, queue="backfill")]

    assert run_sync(store.jobs.due(now_ns=NOW, limit=10)) == expected
    assert run_sync(store.jobs.due(now_ns=NOW, limit=1)) == expected[:1]
    assert run_sync(store.jobs.due(now_ns=NOW, limit=10, offers=[OFFER])) == expected[1:]
    assert len(run_sync(store.jobs.due(now_ns=NOW + LEASE, limit=10))) == 4


def test_replies_are_kept_until_the_job_ends_well(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)
    run_sync(store.jobs.save_reply(job.job_id, "analyze", "h1", '{"text": "a \ud800 \x00"}'))
    run_sync(store.jobs.save_reply(job.job_id, "analyze", "h1", "again"))
    run_sync(store.jobs.save_reply(job.job_id, "generate_reason", "h2", "x" * 10_000_000))
    replies = run_sync(store.jobs.load_replies(job.job_id))

    assert {key: len(reply) for key, reply in replies.items()} == {
        ("analyze", "h1"): 5,
        ("generate_reason", "h2"): 10_000_000,
    }
    finish(store, finished(job, failure_of(job)))
    assert len(run_sync(store.jobs.load_replies(job.job_id))) == 2
    replace_runs(store, B, version=1, trace_id="22" * 16)
    plan(store, new_job(B))
    (job,) = claim(store)
    run_sync(store.jobs.save_reply(job.job_id, "analyze", "h", "\ud800"))
    assert run_sync(store.jobs.load_replies(job.job_id)) == {("analyze", "h"): "\ud800"}
    finish(store, finished(job))
    assert run_sync(store.jobs.load_replies(job.job_id)) == {}
