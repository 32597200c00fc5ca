from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.pipeline.exports import REMOTE, agent_span, receive
from tests.pipeline.stored import PROJECT, until
from tracescore.bridge import run_sync
from tracescore.errors import StoreError, StoreUnavailable
from tracescore.model import load_run
from tracescore.otel.records import SpanRow
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.child import ChildDied, ChildProcess
from tracescore.pipeline.settling import Settling
from tracescore.store import RunFilters, RunRow, Store

QUIET_NS = 100_000_000
TIMES = SettleTimes(quiet_ns=QUIET_NS, orphan_ns=600_000_000, max_ns=60_000_000_000)


@asynccontextmanager
async def settling(store: Store, *, told: list[int] | None = None) -> AsyncGenerator[Settling, None]:
    told = told if told is not None else []
    step = Settling(store, times=TIMES, on_runs=lambda: told.append(1))
    try:
        yield step
    finally:
        step.close()


async def runs_of(store: Store, trace: int) -> list[RunRow]:
    return list((await store.runs.list(PROJECT, filters=RunFilters(trace_id=f"{trace:032x}"))).items)


async def settled(store: Store, step: Settling, trace: int, count: int = 1) -> bool:
    await step.step()
    return len(await runs_of(store, trace)) == count


def test_a_run_is_stored_when_its_trace_is_quiet(store: Store) -> None:
    told: list[int] = []

    async def scenario() -> None:
        began = time.monotonic()
        await receive(store, [agent_span(1, 1)], quiet_ns=QUIET_NS)
        async with settling(store, told=told) as step:
            await until(lambda: settled(store, step, 1), description="the run")
        (row,) = await runs_of(store, 1)
        run = load_run(row.body)

        assert time.monotonic() - began >= QUIET_NS / 1e9
        assert (run.agent_name, run.output.text, row.revision, row.service) == ("helper", "18 °C", 1, "tests")
        assert told == [1]
        assert (await store.spans.trace_counts(PROJECT)).settling == 0

    run_sync(scenario())


def test_what_comes_later_is_a_run_too(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1)], quiet_ns=QUIET_NS)
        async with settling(store) as step:
            await until(lambda: settled(store, step, 1), description="the run")
            late = agent_span(1, 2, parent=1, text="I asked.", attributes={"gen_ai.agent.name": "inner"})
            await receive(store, [late], quiet_ns=QUIET_NS)
            await until(lambda: settled(store, step, 1, 2), description="the nested run")
        rows = await runs_of(store, 1)

        assert sorted((row.agent_name, row.outermost, row.revision) for row in rows) == [
            ("helper", True, 1),
            ("inner", False, 1),
        ]

    run_sync(scenario())


def test_a_remote_parent_is_not_waited_for_and_a_local_one_for_a_while(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1, parent=99, flags=REMOTE)], quiet_ns=QUIET_NS)
        await receive(store, [agent_span(2, 1, parent=99, flags=0x100)], quiet_ns=QUIET_NS)
        async with settling(store) as step:
            await until(lambda: settled(store, step, 1), description="the run under a remote parent")
            assert await runs_of(store, 2) == []
            await until(lambda: settled(store, step, 2), description="the orphan")

    run_sync(scenario())


def test_a_trace_that_is_said_to_be_complete_waits_for_nothing(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1, parent=99)], quiet_ns=60_000_000_000)
        async with settling(store) as step:
            assert not await settled(store, step, 1)
            await store.spans.complete(PROJECT, f"{1:032x}", now_ns=time.time_ns())
            assert await settled(store, step, 1)

    run_sync(scenario())


def test_a_broken_span_blocks_neither_its_trace_nor_another(store: Store) -> None:
    async def scenario() -> None:
        broken = SpanRow(
            trace_id=(1).to_bytes(16, "big"),
            span_id=(7).to_bytes(8, "big"),
            copy_hash=b"x" * 16,
            parent_span_id=None,
            start_ns=1,
            end_ns=2,
            flags=0,
            complete=False,
            body=b"{broken",
        )
        await store.spans.ingest(PROJECT, [broken], [], now_ns=time.time_ns(), quiet_ns=QUIET_NS)
        await receive(store, [agent_span(1, 1), agent_span(2, 1)], quiet_ns=QUIET_NS)
        async with settling(store) as step:
            await until(lambda: settled(store, step, 1), description="the trace with the broken span")
            await until(lambda: settled(store, step, 2), description="the other trace")

    run_sync(scenario())


def test_traces_whose_assembly_is_killed_are_tried_again(store: Store) -> None:
    async def scenario() -> None:
        async with settling(store) as step:
            await receive(store, [agent_span(1, 1)], quiet_ns=0)
            await until(lambda: settled(store, step, 1), description="a first trace")
            pid = step.child_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await receive(store, [agent_span(2, 1)], quiet_ns=0)
            await until(lambda: settled(store, step, 2), description="the next trace, in a new process")

    run_sync(scenario())


@pytest.mark.parametrize("part", ["load_trace", "settle_traces"])
def test_a_store_that_restarts_meanwhile_holds_a_trace_up_for_no_lease(
    store: Store, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = getattr(store.spans, part)
    told: list[str] = []

    async def cut_off_once(*arguments: Any) -> Any:
        if not told:
            told.append(part)
            raise StoreUnavailable("restarted")
        return await through(*arguments)

    async def scenario() -> None:
        await receive(store, [agent_span(1, 1), agent_span(2, 1)], quiet_ns=0)
        async with settling(store) as step:
            monkeypatch.setattr(store.spans, part, cut_off_once)
            with pytest.raises(StoreUnavailable):
                await step.step()
            await until(lambda: settled(store, step, 1), description="a trace that was under way")
            await until(lambda: settled(store, step, 2), description="the other one")
            await step.step()

        assert (await store.spans.trace_counts(PROJECT)).due == 0

    run_sync(scenario())


def test_a_trace_whose_runs_the_store_refuses_holds_up_no_other(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    through = store.runs.replace_runs

    async def refusing(project: str, key: str, *arguments: Any, **options: Any) -> Any:
        if key == f"{1:032x}":
            raise StoreError("refused")
        return await through(project, key, *arguments, **options)

    async def scenario() -> None:
        await receive(store, [agent_span(1, 1), agent_span(2, 1)], quiet_ns=0)
        monkeypatch.setattr(store.runs, "replace_runs", refusing)
        for trace in (1, 2):
            await store.spans.complete(PROJECT, f"{trace:032x}", now_ns=time.time_ns())
        async with settling(store) as step:
            with pytest.raises(StoreError, match="refused"):
                await step.step()

        assert len(await runs_of(store, 2)) == 1
        assert [row.trace_id for row in await store.spans.pending(PROJECT)] == [f"{1:032x}"]

    run_sync(scenario())


def test_a_child_gives_results_and_errors_and_tells_of_its_death() -> None:
    child = ChildProcess()
    try:
        assert child.call(dataclasses.asdict, TIMES) == dataclasses.asdict(TIMES)
        with pytest.raises(ZeroDivisionError):
            child.call(divmod, 1, 0)
        with pytest.raises(ChildDied):
            child.call(os._exit, 3)
        assert child.call(len, "abc") == 3
    finally:
        child.close()
