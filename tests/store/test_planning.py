from __future__ import annotations

from tests.store.rows import (
    LEASE,
    NOW,
    claim,
    finish,
    finished,
    new_job,
    plan,
    replace_runs,
    run_record,
    score_of,
    score_run,
)
from tracescore.bridge import run_sync
from tracescore.store import (
    DecisionCount,
    JobRow,
    Retired,
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


def test_planning_twice_plans_once(store: Store) -> None:
    replace_runs(store, A, B)
    jobs = [new_job(A), new_job(B)]

    assert plan(store, *jobs, cursor_seq=2) == [job.job_id for job in jobs]
    assert plan(store, *jobs, cursor_seq=2) == []
    assert run_sync(store.jobs.counts()) == {
        "pending": 2,
        "leased": 0,
        "done": 0,
        "not_scorable": 0,
        "failed": 0,
        "superseded": 0,
        "cancelled": 0,
    }


def test_a_cursor_only_goes_forward_and_is_each_apps_own(store: Store) -> None:
    plan(store, cursor_seq=7)
    plan(store, cursor_seq=5)

    assert run_sync(store.jobs.cursor("default", "app")) == 7
    assert run_sync(store.jobs.cursor("default", "another")) == 0


def test_decisions_are_counted_up(store: Store) -> None:
    count = DecisionCount(rule_set="r", scorer_id="s", hour=1, outcome="sampled_out", count=3)
    plan(store, counts=[count])
    plan(store, counts=[count, DecisionCount(rule_set="r", scorer_id="s", hour=2, outcome="planned", count=1)])

    rows = run_sync(
        store.jobs._database.read(
            lambda connection: [
                tuple(row)
                for row in connection.exec_driver_sql("SELECT hour, outcome, count FROM decision_counts ORDER BY hour")
            ]
        )
    )
    assert rows == [(1, "sampled_out", 6), (2, "planned", 1)]


def test_a_live_job_for_a_run_that_has_changed_or_is_gone_is_left_out(store: Store) -> None:
    replace_runs(store, A, B)
    stale, gone = new_job(A), new_job(B)
    replace_runs(store, run_record("a", content="d"), version=2)

    assert plan(store, stale, gone, new_job(run_record("never stored"))) == []


def test_a_revision_planned_supersedes_older_pending_jobs_of_the_scorer(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A), new_job(A, scorer_id="other"), new_job(A, generation=1, source="manual"))
    revised = run_record("a", content="d")
    replace_runs(store, revised, version=2)
    plan(store, new_job(revised, revision=2))

    found = sorted((job.revision, job.scorer_id, job.generation, job.state) for job in jobs_of(store))
    assert found == [
        (1, "brevity", 0, "superseded"),
        (1, "brevity", 1, "pending"),
        (1, "other", 0, "superseded"),
        (2, "brevity", 0, "pending"),
    ]


def test_a_superseded_job_planned_again_is_pending_again(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    replace_runs(store, run_record("a", content="d"), version=2)
    replace_runs(store, A, version=3)
    job = new_job(A, revision=3)

    assert states(store) == ["superseded"]
    assert plan(store, job) == [job.job_id]
    assert [(row.state, row.revision) for row in jobs_of(store)] == [("pending", 3)]


def test_a_run_that_is_again_what_it_was_has_its_score_again_without_a_call(store: Store) -> None:
    revised = run_record("a", content="d")
    replace_runs(store, A)
    score_run(store, A, 0.1)
    replace_runs(store, revised, version=2)
    score_run(store, revised, 0.2, revision=2)
    replace_runs(store, A, version=3)

    assert current(store) == [0.2]
    for _ in range(2):
        assert plan(store, new_job(A, revision=3), sinks=["otel"]) == []
    assert current(store) == [0.1]
    owed = run_sync(store.scores.claim_outbox(["otel"], now_ns=NOW, lease_ns=LEASE, limit=10))
    assert [item.payload.score for item in owed] == [0.1]  # a sink has the other one


def test_an_outcome_that_never_ceased_to_stand_is_owed_to_no_sink_again(store: Store) -> None:
    replace_runs(store, A)
    score_run(store, A, 0.1)
    replace_runs(store, run_record("a", content="d"), version=2)
    replace_runs(store, A, version=3)

    assert plan(store, new_job(A, revision=3), sinks=["otel"]) == []
    assert current(store) == [0.1]
    assert run_sync(store.scores.claim_outbox(["otel"], now_ns=NOW, lease_ns=LEASE, limit=10)) == []


def test_planning_again_does_not_replace_what_was_asked_for_by_hand(store: Store) -> None:
    replace_runs(store, A)
    score_run(store, A, 0.1)
    score_run(store, A, 0.2, generation=1, source="manual")
    replace_runs(store, run_record("a", plan="q"), version=2)
    plan(store, new_job(A))

    assert current(store) == [0.2]


def test_a_run_that_no_rule_matches_any_more_loses_its_live_jobs_and_scores(store: Store) -> None:
    replace_runs(store, A, B)
    score_run(store, A, 0.1)
    score_run(store, B, 0.2, source="manual")
    plan(store, new_job(A, version="2"))
    retired = [Retired(run_id=run.run_id, scorer_id="brevity") for run in (A, B)]
    plan(store, retired=retired)

    assert sorted(states(store)) == ["done", "superseded"]
    assert (current(store), current(store, B)) == ([], [0.2])
    plan(store, new_job(A))
    assert current(store) == [0.1]


def test_a_live_job_whose_run_has_moved_on_is_passed_over(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)
    replace_runs(store, run_record("a", content="d"), version=2)
    run_sync(store.jobs.release([(job.job_id, job.token)], due_at_ns=NOW))

    assert claim(store) == []
    assert [(row.state, row.leases_taken) for row in jobs_of(store)] == [("superseded", 0)]


def test_a_job_in_flight_counts_for_a_run_that_is_again_what_it_was(store: Store) -> None:
    revised = run_record("a", content="d")
    replace_runs(store, A)
    plan(store, new_job(A))
    (slow,) = claim(store)
    replace_runs(store, revised, version=2)
    score_run(store, revised, 0.9, revision=2)
    replace_runs(store, A, version=3)

    assert plan(store, new_job(A, revision=3)) == []
    finish(store, finished(slow, score_of(slow, 0.4)))
    assert current(store) == [0.4]


def test_a_job_that_judged_another_content_is_owed_again(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A, source="backfill", queue="backfill"))
    replace_runs(store, run_record("a", content="d"), version=2)
    (moved,) = claim(store)
    finish(store, finished(moved, score_of(moved, 0.1)))
    replace_runs(store, A, version=3)
    job = new_job(A, revision=3)

    assert plan(store, job) == [job.job_id]
    (again,) = claim(store)
    assert (again.source, again.queue, again.run_body) == ("live", "live", A.body)
