"""Conversations are scored when they are idle, and once again when they go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.pipeline.exports import agent_span, receive
from tests.pipeline.stored import PROJECT, all_scores, pumping, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.errors import StoreUnavailable
from tracescore.model import AgentRun, load_run
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.child import ChildDied
from tracescore.pipeline.plan import Planning
from tracescore.pipeline.rules import Rule
from tracescore.pipeline.sessions import DEATHS, SettlingSessions
from tracescore.pipeline.settling import Settling
from tracescore.scorers import scorer
from tracescore.store import RunFilters, RunRow, Store

TIMES = SettleTimes(quiet_ns=0, orphan_ns=0, max_ns=0, session_idle_ns=0)


@scorer(id="turns", version="1", score_range=None)
def turns(run: AgentRun) -> float:
    return float(len([message for message in run.conversation if message.role == "user"]))


APP = TraceScore([turns], rules=[Rule(turns, kind="session")])


def a_turn(number: int, *, session: str = "s", text: str = "18 °C", parent: int | None = None) -> dict[str, object]:
    return agent_span(number, number, text=text, parent=parent, attributes={"gen_ai.conversation.id": session})


def planning(store: Store) -> Planning:
    return Planning(store, APP, project=PROJECT, worker_id="w", on_jobs=lambda ids, queue: None)


@asynccontextmanager
async def scheduling(store: Store) -> AsyncGenerator[tuple[Settling, SettlingSessions], None]:
    await planning(store).register()
    settling = Settling(store, times=TIMES, on_runs=lambda: None)
    try:
        yield settling, SettlingSessions(store, in_child=settling.in_child, on_runs=lambda: None)
    finally:
        settling.close()


async def sessions_of(store: Store, *, withdrawn: bool = False) -> list[RunRow]:
    return list((await store.runs.list(PROJECT, filters=RunFilters(kind="session", withdrawn=withdrawn))).items)


async def score_all(store: Store) -> None:
    plan = planning(store)
    await plan.register()
    while await plan.step():
        pass
    async with pumping(store, APP):
        await until(lambda: _idle(store), description="no open job")


async def _idle(store: Store) -> bool:
    counts = await store.jobs.counts(PROJECT)
    return not counts.get("pending") and not counts.get("leased")


def test_a_conversation_is_one_run_that_a_new_turn_revises_and_supersedes_once(store: Store) -> None:
    async def scenario() -> None:
        async with scheduling(store) as (settling, sessions):
            await receive(store, [a_turn(1), a_turn(2), a_turn(9, session="other")], quiet_ns=0)
            await settling.step()
            await sessions.step()
            await score_all(store)
            first = {row.session_id: row for row in await sessions_of(store)}
            assert {name: row.revision for name, row in first.items()} == {"s": 1, "other": 1}

            for late in (3, 4):
                await receive(store, [a_turn(late)], quiet_ns=0)
                await settling.step()
            await sessions.step()
            await score_all(store)
        second = {row.session_id: row.revision for row in await sessions_of(store)}
        rows = [row for row in await all_scores(store) if row.run_id == first["s"].run_id]

        assert second == {"s": 2, "other": 1}
        assert sorted((row.score, row.current) for row in rows) == [(2.0, False), (4.0, True)]
        assert all(row.trace_id is None for row in rows)

    run_sync(scenario())


def test_a_conversation_that_goes_on_is_waited_for(store: Store) -> None:
    async def scenario() -> None:
        hour = 3600 * 10**9
        async with scheduling(store) as (_, sessions):
            slow = SettleTimes(quiet_ns=0, orphan_ns=0, max_ns=0, session_idle_ns=hour)
            settling = Settling(store, times=slow, on_runs=lambda: None)
            try:
                await receive(store, [a_turn(1)], quiet_ns=0)
                await settling.step()
                await sessions.step()
                assert await sessions_of(store) == []
                assert await store.sessions.claim(now_ns=time.time_ns() + 2 * hour, limit=5, lease_ns=1) != []
            finally:
                settling.close()

    run_sync(scenario())


def test_turns_that_go_away_take_themselves_out_of_their_conversation(store: Store) -> None:
    async def scenario() -> None:
        async with scheduling(store) as (settling, sessions):
            await receive(store, [a_turn(1), a_turn(2, parent=77)], quiet_ns=0)
            await settling.step()
            await sessions.step()
            assert [row.revision for row in await sessions_of(store)] == [1]
            # A supervisor that comes late: the second turn is nested, in a run of another conversation.
            stated = {"gen_ai.conversation.id": "above", "gen_ai.agent.name": "supervisor"}
            above = agent_span(2, 77, text="more", attributes=stated)
            await receive(store, [above], quiet_ns=0)
            await settling.step()
            await sessions.step()
            rows = {row.session_id: load_run(row.body) for row in await sessions_of(store)}
            assert {name: len(run.conversation) for name, run in rows.items()} == {"s": 2, "above": 2}

            await store.runs.replace_runs(PROJECT, f"{1:032x}", 99, [], sessions=settling.session_clock(opens=False))
            await sessions.step()
            assert [row.session_id for row in await sessions_of(store)] == ["above"]
            assert [row.session_id for row in await sessions_of(store, withdrawn=True)] == ["s"]

    run_sync(scenario())


def test_nobody_asks_for_conversations_and_none_is_kept(store: Store) -> None:
    async def scenario() -> None:
        settling = Settling(store, times=TIMES, on_runs=lambda: None)
        try:
            await receive(store, [a_turn(1)], quiet_ns=0)
            await settling.step()
        finally:
            settling.close()
        assert await store.sessions.claim(now_ns=time.time_ns() + 10**12, limit=5, lease_ns=1) == []

    run_sync(scenario())


def test_of_many_workers_one_makes_a_session_and_a_change_meanwhile_is_seen(store: Store) -> None:
    async def scenario() -> None:
        async with scheduling(store) as (settling, sessions):
            await receive(store, [a_turn(number, session=f"s{number}") for number in range(1, 13)], quiet_ns=0)
            await settling.step()
            other = SettlingSessions(store, in_child=settling.in_child, on_runs=lambda: None)
            await asyncio.gather(sessions.step(), other.step(), sessions.step(), other.step())
            assert sorted(row.revision for row in await sessions_of(store)) == [1] * 12

            await receive(store, [a_turn(20, session="s1")], quiet_ns=0)
            await settling.step()
            (claim,) = await store.sessions.claim(now_ns=time.time_ns(), limit=5, lease_ns=10**12)
            await receive(store, [a_turn(21, session="s1")], quiet_ns=0)
            await settling.step()
            await store.sessions.settle(claim)
            await sessions.step()
            row = next(row for row in await sessions_of(store) if row.session_id == "s1")
            assert len(load_run(row.body).conversation) == 6

    run_sync(scenario())


def test_a_session_that_kills_its_process_is_left_until_it_changes(store: Store) -> None:
    async def scenario() -> None:
        async with scheduling(store) as (settling, _):
            await receive(store, [a_turn(1)], quiet_ns=0)
            await settling.step()
            died: list[int] = []

            async def deadly(*_: object) -> None:
                died.append(1)
                raise ChildDied("gone")

            sessions = SettlingSessions(store, in_child=deadly, on_runs=lambda: None)
            for _ in range(DEATHS):
                # Whatever the pause before it is tried again: make it due now.
                await store.sessions.claim(now_ns=time.time_ns() + 10**12, limit=5, lease_ns=-(2 * 10**12))
                await sessions.step()
            assert len(died) == DEATHS
            assert await store.sessions.claim(now_ns=time.time_ns() + 10**12, limit=5, lease_ns=1) == []

    run_sync(scenario())


def test_a_store_that_goes_away_meanwhile_has_the_session_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    through, told = store.sessions.turns, list[int]()

    async def cut_off_once(*arguments: str, limit: int) -> object:
        if not told:
            told.append(1)
            raise StoreUnavailable("restarted")
        return await through(*arguments, limit=limit)

    async def scenario() -> None:
        async with scheduling(store) as (settling, sessions):
            await receive(store, [a_turn(1)], quiet_ns=0)
            await settling.step()
            monkeypatch.setattr(store.sessions, "turns", cut_off_once)
            monkeypatch.setattr("tracescore.pipeline.sessions.RETRY_NS", 0)
            with pytest.raises(StoreUnavailable):
                await sessions.step()
            await sessions.step()
            assert len(await sessions_of(store)) == 1

    run_sync(scenario())
