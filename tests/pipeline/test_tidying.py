"""Ordinary traffic is dropped, settled traces are compacted, and a span that comes later is read with what was."""

from __future__ import annotations

import json
import random
import string
import time
from dataclasses import asdict
from pathlib import Path

from tests.pipeline.exports import agent_span, receive
from tests.pipeline.stored import PROJECT, make_run, until
from tracescore.bridge import run_sync
from tracescore.model import load_run
from tracescore.otel import read_span
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.settling import Settling
from tracescore.pipeline.tidying import Tidying
from tracescore.store import RunFilters, SettledTrace, Store
from tracescore.store.bulk import query

TIMES = SettleTimes(quiet_ns=0, orphan_ns=0, max_ns=1, compact_ns=1)
LATER = SettleTimes(quiet_ns=0, orphan_ns=0)


def plain_span(trace: int) -> dict[str, object]:
    span = agent_span(trace, 1)
    return {**span, "name": "GET /basket", "attributes": [{"key": "http.route", "value": {"stringValue": "/basket"}}]}


async def settle(store: Store, times: SettleTimes = TIMES) -> None:
    step = Settling(store, times=times, on_runs=lambda: None)
    try:
        await until(lambda: is_settled(store, step), description="all traces to settle")
    finally:
        step.close()


async def is_settled(store: Store, step: Settling) -> bool:
    await step.step()
    return (await store.spans.trace_counts(PROJECT)).settling == 0


def trace_id(trace: int) -> str:
    return f"{trace:032x}"


def test_a_trace_of_no_agent_is_dropped_and_one_of_an_agent_is_not(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [plain_span(1), agent_span(2, 1)], quiet_ns=0)
        await settle(store)
        tidying = Tidying(store)
        await tidying.step()

        assert (tidying.dropped, tidying.compacted) == (1, 1)
        assert await store.spans.load_trace(PROJECT, trace_id(1)) is None
        assert await store.spans.load_trace(PROJECT, trace_id(2)) is not None
        await receive(store, [agent_span(1, 2)], quiet_ns=0)  # it counts its versions anew
        await settle(store)
        assert len((await store.runs.list(PROJECT, filters=RunFilters(trace_id=trace_id(1)))).items) == 1

    run_sync(scenario())


def test_a_trace_that_had_runs_once_is_compacted_instead(store: Store) -> None:
    async def scenario() -> None:
        run = run_record(make_run(0), first_arrival_ns=1)
        await receive(store, [plain_span(1)], quiet_ns=0)
        await settle(store)
        await store.runs.replace_runs(PROJECT, trace_id(1), 9, [run])
        tidying = Tidying(store)
        await tidying.step()
        await tidying.step()

        assert (tidying.dropped, tidying.compacted) == (0, 1)
        assert await store.spans.load_trace(PROJECT, trace_id(1)) is not None

    run_sync(scenario())


def test_nothing_is_dropped_or_compacted_before_its_time(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [plain_span(1), agent_span(2, 1)], quiet_ns=0)
        await settle(store, LATER)
        tidying = Tidying(store)
        await tidying.step()

        assert (tidying.dropped, tidying.compacted) == (0, 0)

    run_sync(scenario())


def test_a_late_span_after_compaction_makes_a_new_revision(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1, text="It is warm.")], quiet_ns=0)
        await settle(store)
        await Tidying(store).step()
        late = agent_span(1, 2, parent=1, text="18 °C", attributes={"gen_ai.operation.name": "chat"})
        await receive(store, [late], quiet_ns=0)
        await settle(store)
        (row,) = (await store.runs.list(PROJECT, filters=RunFilters(trace_id=trace_id(1)))).items
        stored = await store.spans.load_trace(PROJECT, trace_id(1))

        assert (row.revision, load_run(row.body).output.text) == (2, "It is warm.")
        assert stored is not None
        assert [read_span(span.copies).name for span in stored.spans] == ["invoke_agent helper"] * 2

    run_sync(scenario())


def test_a_history_of_300_messages_takes_at_most_one_copy_of_each(tmp_path: Path) -> None:
    letters = random.Random(7)
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "parts": [{"type": "text", "content": " ".join(word(letters) for _ in range(40))}],
        }
        for number in range(300)
    ]
    calls = [
        agent_span(
            1,
            number + 2,
            parent=1,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(messages[: 2 * number + 1]),
                "gen_ai.output.messages": json.dumps(messages[2 * number + 1 : 2 * number + 2]),
            },
        )
        for number in range(150)
    ]

    async def scenario(store: Store) -> tuple[int, int]:
        await receive(store, calls, quiet_ns=0)
        (claim,) = await store.spans.claim_traces(now_ns=time.time_ns(), limit=1, lease_ns=1)
        settled = SettledTrace(**asdict(claim), next_check_ns=0, then="compact")
        await store.spans.settle_traces([settled])
        await Tidying(store).step()
        sizes = "SELECT size_bytes, length(body) FROM compacted"
        (row,) = await store.spans._database.read(lambda connection: query(connection, sizes))
        return row[0], row[1]

    with Store.open(tmp_path / "store") as store:
        came, kept = run_sync(scenario(store))
    one_copy = sum(len(json.dumps(message)) for message in messages)

    assert came > 60 * one_copy
    assert kept <= one_copy


def word(letters: random.Random) -> str:
    return "".join(letters.choices(string.ascii_lowercase, k=letters.randint(2, 9)))
