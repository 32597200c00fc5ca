from __future__ import annotations

from typing import Any

import pytest

from tests.store.rows import (
    NOW,
    TRACE,
    claim,
    finish,
    finished,
    new_job,
    plan,
    replace_runs,
    run_record,
    score_run,
)
from tracescore.bridge import run_sync
from tracescore.errors import InputError
from tracescore.store import PlannableRun, ReplacedRuns, RunFilters, RunRecord, RunRow, ScoreRow, Store

A, B = run_record("a"), run_record("b")


def planned(store: Store, seq: int = 0) -> list[tuple[int, str, int, bool, bool]]:
    runs = run_sync(store.runs.runs_after("default", seq, 100))
    return [(run.seq, run.run_id, run.revision, run.withdrawn, run.changed) for run in runs]


def current(store: Store, run: RunRecord = A) -> list[float | None]:
    return [row.score for row in all_scores(store, run, current=True)]


def all_scores(store: Store, run: RunRecord, **options: Any) -> tuple[ScoreRow, ...]:
    return run_sync(store.scores.list("default", run_id=run.run_id, **options)).items


def job_states(store: Store, run: RunRecord = A) -> list[str]:
    return [job.state for job in run_sync(store.jobs.for_runs("default", [run.run_id]))]


def test_runs_are_new_once(store: Store) -> None:
    assert replace_runs(store, A, B) == ReplacedRuns(new=(A.run_id, B.run_id))
    assert replace_runs(store, A, B) == ReplacedRuns()
    assert run_sync(store.runs.runs_after("default", 0, 10)) == [
        PlannableRun(
            seq=seq, run_id=run.run_id, revision=1, first_arrival_ns=NOW, body=run.body, withdrawn=False, changed=False
        )
        for seq, run in enumerate((A, B), 1)
    ]


def test_a_run_is_read_back(store: Store) -> None:
    replace_runs(store, A)

    assert run_sync(store.runs.get("default", A.run_id)) == RunRow(
        project="default",
        run_id=A.run_id,
        kind="agent",
        trace_id=TRACE,
        span_id=A.span_id,
        parent_run_id=None,
        session_id=None,
        agent_name="a",
        service="shop",
        environment="test",
        status="ok",
        started_ns=A.started_ns,
        ended_ns=A.ended_ns,
        first_arrival_ns=NOW,
        outermost=True,
        content_hash="c",
        revision=1,
        withdrawn=False,
        created_ns=NOW,
        updated_ns=NOW,
        body=A.body,
    )
    assert run_sync(store.runs.get("other", A.run_id)) is None
    assert run_sync(store.runs.get("default", "no id")) is None


def test_changed_content_is_a_new_revision_that_planners_see(store: Store) -> None:
    replace_runs(store, A, B)

    assert replace_runs(store, run_record("a", content="d"), B, version=2) == ReplacedRuns(revised=(A.run_id,))
    assert planned(store) == [(2, B.run_id, 1, False, False), (3, A.run_id, 2, False, True)]
    assert run_sync(store.runs.runs_after("default", 0, 10))[1].body == b"a d"


def test_what_rules_see_changes_no_revision_but_is_planned_again(store: Store) -> None:
    replace_runs(store, A)

    assert replace_runs(store, run_record("a", plan="q", outermost=False), version=2).revised == (A.run_id,)
    assert planned(store) == [(2, A.run_id, 1, False, True)]


def test_a_later_version_is_not_overwritten_by_an_earlier_one(store: Store) -> None:
    replace_runs(store, run_record("a", content="new"), version=5)

    assert replace_runs(store, A, B, version=4) == ReplacedRuns(refused=True)
    assert planned(store) == [(1, A.run_id, 1, False, False)]


def test_the_same_version_may_settle_more_runs(store: Store) -> None:
    unsettled = run_record("b", settled=False)

    assert replace_runs(store, A, unsettled) == ReplacedRuns(new=(A.run_id,))
    assert replace_runs(store, A, B) == ReplacedRuns(new=(B.run_id,))


def test_an_unsettled_run_stays_as_it_is(store: Store) -> None:
    replace_runs(store, A)

    assert replace_runs(store, run_record("a", content="half", settled=False), version=2) == ReplacedRuns()
    assert planned(store) == [(1, A.run_id, 1, False, False)]


def test_a_run_that_is_gone_is_withdrawn_with_its_jobs_and_scores(store: Store) -> None:
    replace_runs(store, A)
    score_run(store, A)
    plan(store, new_job(A, scorer_id="other", source="manual"))

    assert replace_runs(store, B, version=2) == ReplacedRuns(new=(B.run_id,), withdrawn=(A.run_id,))
    assert planned(store)[1][1:] == (A.run_id, 1, True, True)
    assert current(store) == []
    assert len(all_scores(store, A, current=False)) == 1
    assert sorted(job_states(store)) == ["done", "superseded"]
    assert replace_runs(store, B, version=3) == ReplacedRuns()


def test_a_withdrawn_run_that_comes_back_has_its_scores_again(store: Store) -> None:
    replace_runs(store, A)
    score_run(store, A, 0.5)
    replace_runs(store, B, version=2)

    assert replace_runs(store, A, B, version=3) == ReplacedRuns(revised=(A.run_id,))
    assert current(store) == [0.5]


def test_a_revision_supersedes_pending_live_jobs_and_keeps_scores(store: Store) -> None:
    replace_runs(store, A)
    score_run(store, A, 0.5)
    plan(store, new_job(A, scorer_id="live"), new_job(A, scorer_id="asked", source="manual"))
    replace_runs(store, run_record("a", content="d"), version=2)

    assert sorted(job_states(store)) == ["done", "pending", "superseded"]
    assert current(store) == [0.5]


def test_a_job_asked_for_by_hand_scores_the_newest_revision(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A, source="manual"))
    replace_runs(store, run_record("a", content="d"), version=2)
    (job,) = claim(store)

    assert (job.revision, job.run_body) == (2, b"a d")


def test_an_outcome_of_an_older_revision_does_not_replace_a_newer_one(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (slow,) = claim(store)
    revised = run_record("a", content="d")
    replace_runs(store, revised, version=2)
    score_run(store, revised, 0.9, revision=2)

    assert finish(store, finished(slow)) == {slow.job_id}
    assert current(store) == [0.9]
    assert [row.score for row in all_scores(store, A, current=False)] == [0.5]


def test_an_outcome_of_a_withdrawn_run_is_not_current(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)
    replace_runs(store, B, version=2)
    finish(store, finished(job, sinks=("otel",)))

    assert current(store) == []
    assert run_sync(store.scores.claim_outbox(["otel"], now_ns=NOW * 2, lease_ns=1, limit=5)) == []


def test_a_job_of_a_withdrawn_run_is_not_claimed(store: Store) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)
    replace_runs(store, B, version=2)
    run_sync(store.jobs.release([(job.job_id, job.token)], due_at_ns=NOW))

    assert claim(store) == []
    assert job_states(store) == ["superseded"]


def test_runs_of_other_traces_are_left_alone(store: Store) -> None:
    other = run_record("b", trace_id="22" * 16)
    replace_runs(store, A)

    assert replace_runs(store, other, trace_id="22" * 16) == ReplacedRuns(new=(other.run_id,))
    assert not run_sync(store.runs.list("default", filters=RunFilters(withdrawn=True))).items


def test_a_run_added_by_hand_is_in_no_set_and_planned_by_nobody(store: Store) -> None:
    span = run_record("tool", kind="span")
    run_sync(store.runs.add("default", span, now_ns=NOW))
    replace_runs(store, A)

    assert [run_id for _, run_id, *_ in planned(store)] == [A.run_id]
    assert run_sync(store.runs.get_for_target("default", TRACE, span.span_id)) == run_sync(
        store.runs.get("default", span.run_id)
    )
    run_sync(store.runs.add("default", run_record("tool", kind="span", content="d"), now_ns=NOW))
    run = run_sync(store.runs.get("default", span.run_id))
    assert run is not None
    assert (run.revision, run.withdrawn) == (2, False)


def test_a_target_without_a_span_is_the_first_outermost_run(store: Store) -> None:
    nested = run_record("nested", outermost=False, started_ns=NOW - 5)
    later = run_record("later", started_ns=NOW + 5)
    replace_runs(store, nested, later, A)

    def found(*target: str) -> str | None:
        run = run_sync(store.runs.get_for_target("default", *target))
        return run and run.run_id

    assert found(TRACE) == A.run_id
    assert found(TRACE, str(nested.span_id)) == nested.run_id
    assert found(TRACE, "00" * 8) is None
    assert found("33" * 16) is None
    assert found("nonsense", "nonsense") is None


def test_runs_are_listed_by_pages(store: Store) -> None:
    runs = [run_record(f"run {number}") for number in range(7)]
    replace_runs(store, *runs)
    seen: list[str] = []
    after: str | None = None
    while True:
        page = run_sync(store.runs.list("default", limit=3, after=after))
        assert len(page.items) <= 3
        seen += [run.run_id for run in page.items]
        after = page.next
        if after is None:
            break

    assert seen == sorted((run.run_id for run in runs), reverse=True)


def test_runs_are_filtered(store: Store) -> None:
    replace_runs(store, A, run_record("b", status="error", session_id="s", started_ns=NOW + 100))

    def listed(**filters: Any) -> list[str | None]:
        page = run_sync(store.runs.list("default", filters=RunFilters(**filters)))
        return [run.agent_name for run in page.items]

    assert (
        listed(status="error") == listed(session_id="s") == listed(since_ns=NOW + 1) == listed(agent_name="b") == ["b"]
    )
    assert listed(until_ns=NOW + 1) == ["a"]
    assert sorted(map(str, listed(trace_id=TRACE, kind="agent", outermost=True, service="shop"))) == ["a", "b"]
    assert listed(trace_id="no id") == listed(outermost=False) == listed(environment="prod") == []


@pytest.mark.parametrize("mark", ["", "?", "bm9uc2Vuc2U", "é"])
def test_a_made_up_page_mark_is_refused(store: Store, mark: str) -> None:
    with pytest.raises(InputError, match="page mark"):
        run_sync(store.runs.list("default", after=mark))


def test_text_that_no_database_takes_is_stored_and_found(store: Store) -> None:
    run = run_record("a", agent_name="nul \x00 and \ud800", session_id="\udfff", body=b"\x00" * 10_000_000)
    replace_runs(store, run)

    page = run_sync(store.runs.list("default", filters=RunFilters(agent_name="nul \x00 and \ud800")))
    assert [item.agent_name for item in page.items] == ["nul \ufffd and \ufffd"]


def test_a_trace_of_thousands_of_runs_is_replaced_at_once(store: Store) -> None:
    runs = [run_record(str(number)) for number in range(2000)]
    replace_runs(store, *runs)

    assert len(replace_runs(store, *runs[:1000], version=2).withdrawn) == 1000
    assert [row[0] for row in planned(store, 2000)][:2] == [2001, 2002]
