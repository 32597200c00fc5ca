from __future__ import annotations

import pytest

from tests.store.rows import LEASE, NOW, SECOND, TRACE, digest, log_row, span_row
from tracescore.bridge import run_sync
from tracescore.otel.records import LogRow, SpanRow
from tracescore.store import (
    Ingested,
    PendingTrace,
    SettledTrace,
    Store,
    StoredLog,
    StoredSpan,
    StoredTrace,
    TraceClaim,
    TraceCounts,
)
from tracescore.store import (
    ingest as ingest_module,
)

QUIET = 10 * SECOND
OTHER = "22" * 16


def ingest(
    store: Store, *spans: SpanRow, logs: tuple[LogRow, ...] = (), now_ns: int = NOW, project: str = "default"
) -> Ingested:
    return run_sync(store.spans.ingest(project, spans, logs, now_ns=now_ns, quiet_ns=QUIET))


def claim(store: Store, now_ns: int) -> list[TraceClaim]:
    return run_sync(store.spans.claim_traces(now_ns=now_ns, limit=10, lease_ns=LEASE))


def load(store: Store, trace_id: str = TRACE, *, project: str = "default") -> StoredTrace:
    trace = run_sync(store.spans.load_trace(project, trace_id))
    assert trace is not None
    return trace


def settle(store: Store, claimed: TraceClaim, next_check_ns: int | None) -> None:
    settled = SettledTrace(
        project=claimed.project, trace_id=claimed.trace_id, version=claimed.version, next_check_ns=next_check_ns
    )
    run_sync(store.spans.settle_traces([settled]))


def test_what_came_in_is_read_back(store: Store) -> None:
    result = ingest(store, span_row(body=b"{1}"), logs=(log_row(),))

    assert result == Ingested(new_spans=1, new_logs=1)
    assert load(store) == StoredTrace(
        trace_id=TRACE,
        version=1,
        spans=(StoredSpan(span_id=digest("a", 8).hex(), copies=(b"{1}",), arrived_ns=NOW, last_arrived_ns=NOW),),
        logs=(StoredLog(span_id=digest("a", 8).hex(), body=b"[]", arrived_ns=NOW),),
        complete=False,
        capped=False,
    )


def test_the_same_request_again_changes_nothing(store: Store) -> None:
    spans = [span_row(str(number)) for number in range(250)]
    ingest(store, *spans, logs=(log_row(),))
    before = load(store)

    assert ingest(store, *spans, logs=(log_row(),), now_ns=NOW + SECOND) == Ingested(new_spans=0, new_logs=0)
    assert load(store) == before
    assert [trace.ready_at_ns for trace in run_sync(store.spans.pending("default"))] == [NOW + QUIET]


def test_a_request_that_is_new_in_part_counts_what_is_new(store: Store) -> None:
    ingest(store, span_row("0"), span_row("1", trace_id=OTHER))
    spans = [span_row(str(number)) for number in range(150)]

    assert ingest(store, *spans, span_row("1", trace_id=OTHER), logs=(log_row(),)) == Ingested(
        new_spans=149, new_logs=1
    )
    assert run_sync(store.spans.trace_counts(now_ns=NOW)) == TraceCounts(
        traces=2, spans=151, logs=1, settling=2, due=0, oldest_due_ns=None
    )
    assert (load(store).version, load(store, OTHER).version) == (2, 1)


def test_a_copy_twice_in_one_request_is_one(store: Store) -> None:
    assert ingest(store, span_row(), span_row()) == Ingested(new_spans=1, new_logs=0)
    assert run_sync(store.spans.trace_counts(now_ns=NOW)).spans == 1


def test_any_order_of_arrival_reads_the_same(store: Store) -> None:
    spans = [span_row(name, copy=str(copy), body=f"{name}{copy}".encode()) for name in "abc" for copy in range(4)]
    read: list[StoredTrace] = []
    for number, order in enumerate((spans, spans[::-1], spans[5:] + spans[:5])):
        for start in range(0, len(order), 5):
            ingest(store, *order[start : start + 5], project=f"project {number}")
        read.append(load(store, project=f"project {number}"))

    assert read[0] == read[1] == read[2]


def test_at_most_eight_copies_are_read_those_with_the_smallest_hashes(store: Store) -> None:
    copies = [span_row(copy=str(number), body=str(number).encode()) for number in range(12)]
    for number, copy in enumerate(copies):
        ingest(store, copy, now_ns=NOW + number)
    by_hash = sorted(copies, key=lambda row: row.copy_hash)

    assert load(store).spans == (
        StoredSpan(
            span_id=digest("a", 8).hex(),
            copies=tuple(row.body for row in by_hash[:8]),
            arrived_ns=NOW,
            last_arrived_ns=NOW + 11,
        ),
    )


def test_a_trace_is_due_when_it_was_quiet(store: Store) -> None:
    ingest(store, span_row())

    assert claim(store, NOW + QUIET - 1) == []
    assert claim(store, NOW + QUIET) == [TraceClaim(project="default", trace_id=TRACE, version=1)]


def test_a_later_span_does_not_put_the_first_look_off(store: Store) -> None:
    ingest(store, span_row("a"))
    ingest(store, span_row("b"), now_ns=NOW + SECOND)

    assert run_sync(store.spans.pending("default")) == [
        PendingTrace(
            project="default",
            trace_id=TRACE,
            version=2,
            span_count=2,
            first_arrival_ns=NOW,
            last_arrival_ns=NOW + SECOND,
            ready_at_ns=NOW + QUIET,
        )
    ]


def test_a_complete_span_makes_its_trace_due_at_once(store: Store) -> None:
    ingest(store, span_row("a"), span_row("b", trace_id=OTHER))
    ingest(store, span_row("c", complete=True), now_ns=NOW + 1)

    assert [trace.trace_id for trace in claim(store, NOW + 1)] == [TRACE]
    assert load(store).complete
    assert not load(store, OTHER).complete


def test_a_trace_can_be_said_to_be_complete(store: Store) -> None:
    ingest(store, span_row())

    assert run_sync(store.spans.complete("default", TRACE, now_ns=NOW))
    assert claim(store, NOW) == [TraceClaim(project="default", trace_id=TRACE, version=2)]
    assert load(store).complete


@pytest.mark.parametrize("trace_id", [OTHER, "no id", ""])
def test_completing_or_reading_an_unknown_trace_finds_nothing(store: Store, trace_id: str) -> None:
    assert not run_sync(store.spans.complete("default", trace_id, now_ns=NOW))
    assert run_sync(store.spans.load_trace("default", trace_id)) is None


def test_a_claimed_trace_is_hidden_until_its_lease_ends(store: Store) -> None:
    ingest(store, span_row())
    due = NOW + QUIET

    assert len(claim(store, due)) == 1
    assert claim(store, due + LEASE - 1) == []
    assert len(claim(store, due + LEASE)) == 1


def test_a_settled_trace_is_looked_at_again_when_it_asks_for_it(store: Store) -> None:
    ingest(store, span_row())
    (claimed,) = claim(store, NOW + QUIET)
    settle(store, claimed, NOW + 5 * LEASE)

    assert claim(store, NOW + 5 * LEASE - 1) == []
    (claimed,) = claim(store, NOW + 5 * LEASE)
    settle(store, claimed, None)
    assert claim(store, NOW + 500 * LEASE) == []
    assert run_sync(store.spans.pending("default")) == []


def test_a_span_that_comes_while_a_trace_is_assembled_keeps_it_due(store: Store) -> None:
    ingest(store, span_row("a"))
    (claimed,) = claim(store, NOW + QUIET)
    ingest(store, span_row("b"), now_ns=NOW + QUIET + SECOND)
    settle(store, claimed, None)

    assert claim(store, NOW + 2 * QUIET) == []
    assert claim(store, NOW + 2 * QUIET + SECOND) == [TraceClaim(project="default", trace_id=TRACE, version=2)]


def test_a_span_that_comes_after_a_trace_has_settled_opens_it_again(store: Store) -> None:
    ingest(store, span_row("a"))
    (claimed,) = claim(store, NOW + QUIET)
    settle(store, claimed, None)
    ingest(store, span_row("b"), now_ns=NOW + LEASE)

    assert [trace.version for trace in claim(store, NOW + LEASE + QUIET)] == [2]


def test_projects_are_apart(store: Store) -> None:
    ingest(store, span_row())
    ingest(store, span_row(), project="other")

    assert run_sync(store.spans.trace_counts(now_ns=NOW)).traces == 2
    assert run_sync(store.spans.trace_counts("other", now_ns=NOW + QUIET)) == TraceCounts(
        traces=1, spans=1, logs=0, settling=1, due=1, oldest_due_ns=NOW + QUIET
    )


def test_a_trace_beyond_its_cap_keeps_what_it_has_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_module, "MAX_COPIES", 3)
    ingest(store, span_row("a"), span_row("b"))

    assert ingest(store, *(span_row(name) for name in "cdef"), span_row("z", trace_id=OTHER)) == Ingested(
        new_spans=2, new_logs=0, capped=3
    )
    assert (len(load(store).spans), load(store).capped) == (3, True)
    assert (len(load(store, OTHER).spans), load(store, OTHER).capped) == (1, False)
    version = load(store).version
    assert ingest(store, span_row("g"), now_ns=NOW + SECOND) == Ingested(new_spans=0, new_logs=0, capped=1)
    assert load(store).version == version


def test_a_trace_is_capped_by_its_size_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_module, "MAX_BYTES", 1000)

    assert ingest(store, span_row("a", body=b"x" * 600), span_row("b", body=b"x" * 600)).capped == 1
    assert load(store).capped


def test_a_body_of_ten_megabytes_and_any_number_are_stored(store: Store) -> None:
    huge = span_row(body=b"x" * 10_000_000)._replace(start_ns=2**64 - 1, end_ns=-(2**70))

    assert ingest(store, huge, logs=(log_row()._replace(time_ns=2**64 - 1),)) == Ingested(new_spans=1, new_logs=1)
    assert len(load(store).spans[0].copies[0]) == 10_000_000


@pytest.mark.parametrize("project", ["nul \x00", "lone \ud800 surrogate", "ünïcödé"])
def test_any_text_is_a_project(store: Store, project: str) -> None:
    ingest(store, span_row(), project=project)

    assert run_sync(store.spans.load_trace(project, TRACE)) is not None
    assert run_sync(store.spans.trace_counts(project, now_ns=NOW)).traces == 1
