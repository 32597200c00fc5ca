"""A run that waited for an approval and went on in another trace is one run."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.assembly.building import brief
from tests.pipeline.exports import agent_span, receive
from tests.pipeline.stored import PROJECT
from tests.pipeline.test_sessions import TIMES
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import AgentRun, Issue, Target, Usage, load_run
from tracescore.pipeline.offers import offer_records
from tracescore.pipeline.resuming import is_resumed_by, joined
from tracescore.pipeline.settling import Settling
from tracescore.pipeline.targets import score_targets
from tracescore.pipeline.wake import NoWake
from tracescore.scorers import scorer
from tracescore.store import RunFilters, RunRow, Store

PART = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"sum": 1}}
CALL = {"role": "assistant", "parts": [PART]}
PAID = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "paid"}]}


@scorer(id="paid", version="1")
def paid(run: AgentRun) -> float:
    return 1.0


def says(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def stated(given: list[dict[str, Any]], answered: list[dict[str, Any]]) -> dict[str, str]:
    return {
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(answered),
        "gen_ai.conversation.id": "thread",
    }


def paused_spans(trace: int = 1, *, call: dict[str, Any] = CALL) -> list[dict[str, Any]]:
    """Give a run that asked for a call, whose tool stopped to wait."""
    tool = agent_span(trace, 12, parent=11)
    tool["attributes"] = [
        {"key": key, "value": {"stringValue": value}}
        for key, value in (
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "pay"),
            ("error.type", "GraphInterrupt"),
        )
    ]
    return [agent_span(trace, 11, attributes=stated([says("user", "pay him")], [call])), tool]


def resuming_spans(
    trace: int = 2, *, answer: dict[str, Any] | None = None, before: Sequence[dict[str, Any]] = (), start: int = 3
) -> list[dict[str, Any]]:
    """Give a run that goes on from the same call."""
    given = [*before, says("user", "pay him"), CALL, PAID]
    made = agent_span(trace, 21, attributes=stated(given, [answer or says("assistant", "He is paid.")]))
    return [{**made, "startTimeUnixNano": f"{start}000000000", "endTimeUnixNano": f"{start + 1}000000000"}]


@asynccontextmanager
async def settling(store: Store) -> AsyncGenerator[Sequence[Settling], None]:
    workers = [Settling(store, times=TIMES, on_runs=lambda: None) for _ in range(2)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


async def at_rest(store: Store, workers: Sequence[Settling]) -> None:
    """Have two workers settle until no trace is due any more."""
    for _ in range(12):
        await asyncio.gather(*(worker.step() for worker in workers))
        if not (await store.spans.trace_counts(PROJECT)).settling:
            return
    raise AssertionError("the traces have each other assembled for ever")


async def rows_of(store: Store) -> dict[str, RunRow]:
    page = await store.runs.list(PROJECT, filters=RunFilters())
    return {str(row.trace_id)[-1]: row for row in page.items}


EXPORTS = {"1": paused_spans(), "2": resuming_spans()}


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1"), ("12",)], ids=["in order", "late", "at once"])
def test_a_paused_run_and_what_took_it_up_are_one_run(store: Store, order: tuple[str, ...]) -> None:
    async def scenario() -> None:
        async with settling(store) as workers:
            for names in order:
                for name in names:
                    await receive(store, EXPORTS[name], quiet_ns=0)
                await at_rest(store, workers)
        rows = await rows_of(store)
        run, child = load_run(rows["1"].body), load_run(rows["2"].body)

        assert brief(run.conversation) == ["u: pay him", "a: pay({'sum': 1}) -> paid", "a: He is paid."]
        assert (run.status, run.outermost, run.resumed_in, rows["1"].status) == ("ok", True, (child.run_id,), "ok")
        assert (child.outermost, child.parent_run_id) == (False, run.run_id)

    run_sync(scenario())


def test_it_is_a_revision_of_the_paused_run_and_follows_what_comes_later(store: Store) -> None:
    async def scenario() -> None:
        async with settling(store) as workers:
            await receive(store, paused_spans(), quiet_ns=0)
            await at_rest(store, workers)
            before = (await rows_of(store))["1"]
            assert (before.status, before.revision) == ("paused", 1)
            await receive(store, resuming_spans(), quiet_ns=0)
            await at_rest(store, workers)
            assert (await rows_of(store))["1"].revision == 2

            # A late span of the paused trace does not take the answer away again.
            await receive(store, [agent_span(1, 13, parent=11, attributes={"gen_ai.agent.name": "other"})], quiet_ns=0)
            await at_rest(store, workers)
            page = await store.runs.list(PROJECT, filters=RunFilters(agent_name="helper", outermost=True))
            assert [load_run(row.body).output.text for row in page.items] == ["He is paid."]

            # Should what took it up be gone, it waits again.
            await store.runs.replace_runs(PROJECT, f"{2:032x}", 99, [])
            await store.spans.look_again(PROJECT, [f"{1:032x}"], now_ns=time.time_ns())
            await at_rest(store, workers)
            page = await store.runs.list(PROJECT, filters=RunFilters(agent_name="helper", outermost=True))
            assert [row.status for row in page.items] == ["paused"]

    run_sync(scenario())


def test_whoever_names_the_later_trace_has_what_is_in_it_scored(store: Store) -> None:
    async def scenario() -> None:
        app = TraceScore([paid])
        await store.control.register_offers("w", app.name, PROJECT, offer_records(app), now_ns=time.time_ns())
        async with settling(store) as workers:
            await receive(store, [*paused_spans(), *resuming_spans()], quiet_ns=0)
            await at_rest(store, workers)
        rows = await rows_of(store)
        for name in "12":
            target = Target(trace_id=f"{int(name):032x}")
            batch_id = await score_targets(
                store, [target], project=PROJECT, scorer_id="paid", wake=NoWake(), now_ns=time.time_ns()
            )
            batch = await store.control.batch(PROJECT, batch_id)
            assert batch is not None
            assert [item.run_id for item in batch.items] == [rows[name].run_id]

    run_sync(scenario())


def test_a_run_that_is_paused_twice_is_still_one(store: Store) -> None:
    async def scenario() -> None:
        request = {"role": "assistant", "parts": [{"type": "function_approval_request", "id": "2"}]}
        waits = resuming_spans(2, answer=request)
        again = resuming_spans(3, answer=says("assistant", "All done."), start=5)
        async with settling(store) as workers:
            for spans in (paused_spans(), waits, again):
                await receive(store, spans, quiet_ns=0)
                await at_rest(store, workers)
        rows = await rows_of(store)
        run = load_run(rows["1"].body)

        assert (run.status, run.output.text, len(run.resumed_in)) == ("ok", "All done.", 2)
        assert [rows[name].outermost for name in "123"] == [True, False, False]

    run_sync(scenario())


def test_who_asks_the_same_again_starts_another_run(store: Store) -> None:
    async def scenario() -> None:
        other_call = {"role": "assistant", "parts": [{**PART, "id": "c2"}]}
        anew = resuming_spans(2, before=[says("user", "pay him"), says("assistant", "May I?")])
        async with settling(store) as workers:
            for spans in (paused_spans(), paused_spans(3, call=other_call), anew):
                await receive(store, spans, quiet_ns=0)
                await at_rest(store, workers)
        rows = await rows_of(store)

        assert {name: (row.outermost, row.status) for name, row in rows.items()} == {
            "1": (True, "paused"),
            "2": (True, "ok"),
            "3": (True, "paused"),
        }

    run_sync(scenario())


def test_a_joined_run_counts_all_and_says_no_more_that_its_call_is_unanswered() -> None:
    missing, cut = Issue(code="tool_result_missing", detail="c1"), Issue(code="truncated", detail="cut")
    paused = AgentRun(run_id="a", status="paused", usage=Usage(input=3), cost=1.0, issues=(missing, cut), end_ns=5)
    later = replace(paused, run_id="b", status="ok", usage=Usage(input=4, output=2), cost=None, issues=(cut,), end_ns=9)

    run = joined(paused, [later])
    assert (run.run_id, run.status, run.usage, run.cost) == ("a", "ok", Usage(input=7, output=2), 1.0)
    assert (run.issues, run.end_ns, run.resumed_in) == ((cut,), 9, ("b",))
    assert not is_resumed_by(paused, later)  # it made no call by which it could be known again
