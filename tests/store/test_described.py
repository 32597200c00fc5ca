"""What versions were made of, and whether evidence is still what was written."""

from __future__ import annotations

from tests.store.rows import NOW, claim, finish, finished, new_job, plan, replace_runs, run_record, score_of
from tracescore.bridge import run_sync
from tracescore.store import DescribedVersion, OfferRecord, Store


def described(store: Store, scorer_id: str = "brevity") -> list[DescribedVersion]:
    return run_sync(store.offered.described("default", scorer_id))


def test_a_version_keeps_what_it_was_made_of_first(store: Store) -> None:
    first = DescribedVersion(scorer_id="brevity", version="1", body=b"first")
    run_sync(store.offered.describe("default", [first]))
    run_sync(store.offered.describe("default", [DescribedVersion(scorer_id="brevity", version="1", body=b"later")]))

    assert described(store) == [first]
    assert described(store, "other") == run_sync(store.offered.described("other", "brevity")) == []


def test_the_version_that_was_offered_last_comes_first(store: Store) -> None:
    versions = [DescribedVersion(scorer_id="brevity", version=version, body=b"x") for version in ("1", "2", "3")]
    run_sync(store.offered.describe("default", versions))
    for seen_ns, version in ((NOW, "2"), (NOW + 1, "1")):
        offer = OfferRecord(scorer_id="brevity", version=version)
        run_sync(store.control.register_offers("w", "app", "default", [offer], now_ns=seen_ns))

    assert [(one.version, one.seen_ns) for one in described(store)] == [("1", NOW + 1), ("2", NOW), ("3", 0)]


def test_an_outcome_is_read_with_its_run_and_the_word_that_it_is_intact(store: Store) -> None:
    run = run_record()
    replace_runs(store, run)
    plan(store, new_job(run))
    (job,) = claim(store)
    finish(store, finished(job, score_of(job)))
    (row,) = run_sync(store.scores.list("default")).items
    found = run_sync(store.scores.judged(row.score_id, project="default"))

    assert found is not None
    assert (found.intact, found.run_body, found.run_revision, found.as_planned) == (True, job.run_body, 1, True)
    assert run_sync(store.scores.judged(row.score_id, project="other")) is None
    assert run_sync(store.scores.judged("nonsense", project="default")) is None
