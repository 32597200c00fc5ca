"""Settled traces take up less room, and nothing that is read of them or comes for them later is other for it."""

from __future__ import annotations

import random
import string

import pytest
from sqlalchemy import Connection

from tests.store.rows import LEASE, NOW, SECOND, TRACE, log_row, span_row
from tracescore.bridge import run_sync
from tracescore.errors import StoreError
from tracescore.otel.records import LogRow, SpanRow
from tracescore.store import Ingested, SettledTrace, Store, StoredTrace, TraceClaim, TraceCounts, TraceStage
from tracescore.store.bulk import query
from tracescore.store.compacted import pack, unpack

OTHER = "22" * 16
HOUR = 3600 * SECOND


def ingest(store: Store, *spans: SpanRow, logs: tuple[LogRow, ...] = (), now_ns: int = NOW) -> Ingested:
    return run_sync(store.spans.ingest("default", spans, logs, now_ns=now_ns, quiet_ns=SECOND))


def load(store: Store, trace_id: str = TRACE) -> StoredTrace:
    trace = run_sync(store.spans.load_trace("default", trace_id))
    assert trace is not None
    return trace


def due(store: Store, stage: TraceStage, now_ns: int = NOW + HOUR) -> list[TraceClaim]:
    return run_sync(store.settled.claim(stage, now_ns=now_ns, limit=10, lease_ns=LEASE))


def settle(store: Store, then: TraceStage, at_ns: int = NOW + HOUR) -> None:
    for claim in run_sync(store.spans.claim_traces(now_ns=NOW + 2 * HOUR, limit=10, lease_ns=LEASE)):
        settled = SettledTrace(
            project="default", trace_id=claim.trace_id, version=claim.version, next_check_ns=at_ns, then=then
        )
        run_sync(store.spans.settle_traces([settled]))


def compact(store: Store) -> list[bool]:
    return [run_sync(store.settled.compact(claim)) for claim in due(store, "compact")]


def rows_of(store: Store, table: str) -> int:
    def count(connection: Connection) -> int:
        return int(query(connection, f"SELECT count(*) FROM {table}")[0][0])

    return run_sync(store.spans._database.read(count))


def test_a_compacted_trace_reads_as_before(store: Store) -> None:
    copies = [span_row(name, copy=copy, body=f"{name}{copy}".encode()) for name in "ab" for copy in ("", "2")]
    ingest(store, *copies, logs=(log_row("a"), log_row("b")))
    before, counts = load(store), run_sync(store.spans.trace_counts(now_ns=NOW))
    settle(store, "compact")

    assert compact(store) == [True]
    assert load(store) == before
    assert [rows_of(store, table) for table in ("spans", "logs", "compacted")] == [0, 0, 1]
    after = run_sync(store.spans.trace_counts(now_ns=NOW + 2 * HOUR))
    assert after == TraceCounts(traces=1, spans=4, logs=2, settling=0, due=0, oldest_due_ns=None)
    assert (counts.spans, counts.logs) == (after.spans, after.logs)


def test_what_comes_after_compaction_is_there_too_and_is_compacted_in_turn(store: Store) -> None:
    ingest(store, span_row("a"), span_row("b"))
    settle(store, "compact")
    compact(store)
    late = [span_row(str(number)) for number in range(120)]
    ingest(store, *late[:60], now_ns=NOW + HOUR)
    ingest(store, *late, span_row("a"), now_ns=NOW + HOUR)  # some of them again, and one of the compacted

    assert (len(load(store).spans), load(store).version) == (122, 3)
    assert load(store).spans == tuple(sorted(load(store).spans, key=lambda span: span.span_id))
    assert [span.arrived_ns for span in load(store).spans].count(NOW) == 2
    settle(store, "compact", NOW + HOUR)
    assert [run_sync(store.settled.compact(claim)) for claim in due(store, "compact", NOW + 2 * HOUR)] == [True]
    assert (len(load(store).spans), rows_of(store, "spans")) == (122, 0)
    assert run_sync(store.spans.trace_counts(now_ns=NOW)).spans == 122


@pytest.mark.parametrize("stage", ["compact", "drop"])
def test_what_comes_meanwhile_keeps_a_trace_as_it_is(store: Store, stage: TraceStage) -> None:
    ingest(store, span_row("a"))
    settle(store, stage)
    (claim,) = due(store, stage)
    ingest(store, span_row("b"), now_ns=NOW + HOUR)
    if stage == "compact":
        assert not run_sync(store.settled.compact(claim))
    else:
        assert run_sync(store.settled.drop([claim])) == 0

    assert (len(load(store).spans), rows_of(store, "spans"), due(store, stage, NOW + 9 * HOUR)) == (2, 2, [])
    assert [trace.ready_at_ns for trace in run_sync(store.spans.pending("default"))] == [NOW + HOUR + SECOND]


def test_a_dropped_trace_is_gone_and_may_come_again(store: Store) -> None:
    ingest(store, span_row("a"), logs=(log_row(),))
    ingest(store, span_row("b", trace_id=OTHER))
    settle(store, "drop", NOW + HOUR)
    claims = due(store, "drop")

    assert run_sync(store.settled.drop([claim for claim in claims if claim.trace_id == TRACE])) == 1
    assert run_sync(store.spans.load_trace("default", TRACE)) is None
    assert (rows_of(store, "spans"), rows_of(store, "logs"), rows_of(store, "traces")) == (1, 0, 1)
    assert ingest(store, span_row("a"), now_ns=NOW + HOUR) == Ingested(new_spans=1, new_logs=0)
    assert load(store).version == 1


def test_a_settled_trace_that_waits_for_its_compaction_is_not_settling(store: Store) -> None:
    ingest(store, span_row("a"))
    settle(store, "compact", NOW + HOUR)

    assert run_sync(store.spans.trace_counts(now_ns=NOW + 2 * HOUR)).settling == 0
    assert run_sync(store.spans.pending("default")) == []
    assert run_sync(store.spans.claim_traces(now_ns=NOW + 2 * HOUR, limit=10, lease_ns=LEASE)) == []


def test_a_history_that_every_call_repeats_takes_less_than_one_copy_of_it() -> None:
    messages = [f"message {number}: {random_text(number)}" for number in range(300)]
    spans = [
        (number.to_bytes(8, "big"), number.to_bytes(16, "big"), "\n".join(messages[: number + 1]).encode(), number)
        for number in range(300)
    ]
    packed = pack(spans, [])

    assert len(packed) <= sum(len(message) for message in messages)
    assert unpack(packed) == (spans, [])


def random_text(number: int) -> str:
    letters = random.Random(number)
    return "".join(letters.choices(string.ascii_lowercase + " ", k=300))


@pytest.mark.parametrize("broken", [b"", b"junk", pack([], [])[:-3]])
def test_a_broken_piece_is_told(broken: bytes) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        unpack(broken)
