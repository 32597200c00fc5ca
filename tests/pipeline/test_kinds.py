"""Kinds beside an agent's runs are stored only where a rule asks for them."""

from __future__ import annotations

import time
from typing import Any

from tests.pipeline.exports import agent_span, receive
from tests.pipeline.stored import PROJECT, all_scores, pumping, until
from tests.pipeline.test_settling import settling
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import Target, load_any_run
from tracescore.pipeline.offers import offer_records
from tracescore.pipeline.plan import Planning
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.settling import ASKED_NS
from tracescore.pipeline.targets import score_targets
from tracescore.pipeline.wake import NoWake
from tracescore.scorers import create_scorer
from tracescore.store import RunFilters, Store

found = create_scorer(id="found", version="1", output_type=str).generate_score(
    lambda ctx: 1.0 if ctx.run.kind == "tool" and ctx.run.output == "blue" else 0.0
)


APP = TraceScore([found], rules=[Rule(found, kind="tool", where={"tool": "look"})])


def look_up(span: int, *, result: str | None = "blue") -> dict[str, Any]:
    stated = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    if result is not None:
        stated["gen_ai.tool.call.result"] = result
    made = agent_span(1, span, parent=1, attributes=stated)
    return {**made, "attributes": [one for one in made["attributes"] if not one["key"].endswith("messages")]}


def planning(store: Store) -> Planning:
    return Planning(store, APP, project=PROJECT, worker_id="w", on_jobs=lambda ids, queue: None)


async def kinds_of(store: Store) -> list[tuple[str, int]]:
    page = await store.runs.list(PROJECT, filters=RunFilters())
    return sorted((row.kind, row.revision) for row in page.items)


async def assembled(store: Store, *spans: dict[str, Any]) -> None:
    await receive(store, spans, quiet_ns=0)
    await store.spans.complete(PROJECT, f"{1:032x}", now_ns=time.time_ns())
    async with settling(store) as step:
        await step.step()


def test_a_kind_is_stored_planned_and_scored_where_a_rule_asks_for_it(store: Store) -> None:
    async def scenario() -> None:
        plan = planning(store)
        await plan.register()
        await assembled(store, agent_span(1, 1), look_up(2), look_up(3, result="red"))
        assert await kinds_of(store) == [("agent", 1), ("tool", 1), ("tool", 1)]
        while await plan.step():
            pass
        async with pumping(store, APP):
            await until(lambda: _scored(store, 2), description="two scores")
        rows = await all_scores(store)

        assert sorted((row.span_id, row.score) for row in rows) == [(f"{2:016x}", 1.0), (f"{3:016x}", 0.0)]

    run_sync(scenario())


def test_a_kind_that_nobody_asks_for_is_not_stored(store: Store) -> None:
    async def scenario() -> None:
        await assembled(store, agent_span(1, 1), look_up(2))
        assert await kinds_of(store) == [("agent", 1)]

    run_sync(scenario())


def test_what_is_stored_stays_as_its_trace_is_when_nobody_asks_any_more(store: Store) -> None:
    async def scenario() -> None:
        long_ago = time.time_ns() - 2 * ASKED_NS
        await planning(store).register()
        await assembled(store, agent_span(1, 1), look_up(2, result=None))
        await store.control.rule_set(PROJECT, APP.name, "x", "[]", [], now_ns=long_ago, kinds=["tool"])
        later = agent_span(1, 3, parent=1, attributes={"gen_ai.operation.name": "execute_tool"})
        await assembled(store, look_up(2), later)
        rows = await store.runs.list(PROJECT, filters=RunFilters(kind="tool"))
        assert sorted(row.revision for row in rows.items) == [1, 2]

        newcomer = {**look_up(2), "traceId": f"{2:032x}"}
        await receive(store, [newcomer], quiet_ns=0)
        await store.spans.complete(PROJECT, f"{2:032x}", now_ns=time.time_ns())
        async with settling(store) as step:
            await step.step()
        assert len((await store.runs.list(PROJECT, filters=RunFilters(kind="tool"))).items) == 2

    run_sync(scenario())


def test_a_span_that_was_asked_for_by_hand_goes_on_in_its_set(store: Store) -> None:
    async def scenario() -> None:
        await store.control.register_offers("w", APP.name, PROJECT, offer_records(APP), now_ns=time.time_ns())
        await assembled(store, agent_span(1, 1), look_up(2, result=None))
        for result in (None, "blue"):
            await receive(store, [look_up(2, result=result)], quiet_ns=0)
            await score_targets(
                store,
                [Target(trace_id=f"{1:032x}", span_id=f"{2:016x}")],
                project=PROJECT,
                scorer_id="found",
                wake=NoWake(),
                now_ns=time.time_ns(),
            )
        by_hand = (await store.runs.list(PROJECT, filters=RunFilters(kind="tool"))).items[0]
        plan = planning(store)
        await plan.register()
        await assembled(store, agent_span(1, 4, parent=1))
        (row,) = (await store.runs.list(PROJECT, filters=RunFilters(kind="tool"))).items

        assert (row.run_id, row.revision, by_hand.revision) == (by_hand.run_id, 2, 2)
        assert load_any_run(row.body).target == Target(trace_id=f"{1:032x}", span_id=f"{2:016x}")
        assert row.run_id in [run.run_id for run in await store.runs.runs_after(PROJECT, 0, 10)]

    run_sync(scenario())


async def _scored(store: Store, count: int) -> bool:
    return len(await all_scores(store)) == count
