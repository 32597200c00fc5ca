from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.pipeline.stored import make_run, pumping, put_jobs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import AgentRun, Target
from tracescore.model.ids import score_key
from tracescore.pipeline.deliver import Delivering, retry_pause
from tracescore.scorers import scorer
from tracescore.sinks import Delivery, MemorySink, SinkError
from tracescore.store import Store


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    if run.output.text == "fail":
        raise RuntimeError("no luck")
    return 0.25


class FussySink(MemorySink):
    """Take nothing that has a certain run in it."""

    def __init__(self, refused: str) -> None:
        super().__init__("fussy")
        self._refused = refused

    async def submit(self, items: Sequence[Delivery]) -> None:
        if any(item.run_id == self._refused for item in items):
            raise SinkError("not this one", retry_after=0.0)
        await super().submit(items)


async def scored(store: Store, runs: Sequence[AgentRun], sinks: Sequence[str]) -> None:
    app = TraceScore([length], rules=[])
    await put_jobs(store, app, runs)
    async with pumping(store, app, sinks=sinks) as pump:
        await until(lambda: _is(pump.written == len(runs)), description="scores")


def test_each_outcome_reaches_each_sink_once(store: Store) -> None:
    one, two = MemorySink("one"), MemorySink("two")

    async def scenario() -> None:
        runs = [make_run(0), make_run(1, text="fail")]
        await scored(store, runs, ["one", "two"])
        delivering = Delivering(store, [one, two])
        while await delivering.step():
            pass
        await delivering.step()
        items = {item.run_id: item for item in one.items}

        assert len(one.items) == len(two.items) == 2
        first = items[runs[0].run_id]
        assert (first.score_key, first.target, first.outcome, first.score) == (
            score_key(run_id=runs[0].run_id, scorer_id="length"),
            Target(trace_id=f"{1:032x}", span_id=f"{1:016x}"),
            "score",
            0.25,
        )
        second = items[runs[1].run_id]
        assert (second.outcome, second.score, second.error_type) == ("failure", None, "RuntimeError")

    run_sync(scenario())


def test_a_sink_that_is_down_gets_everything_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracescore.pipeline.deliver.FIRST_RETRY", 0.05)
    down, up = MemorySink("down"), MemorySink("up")
    down.failing = "no route"

    async def scenario() -> None:
        await scored(store, [make_run(n) for n in range(3)], ["down", "up"])
        delivering = Delivering(store, [down, up])
        await delivering.step()
        assert (len(down.items), len(up.items)) == (0, 3)

        down.failing = None
        await until(lambda: _step(delivering, down, 3), description="the retry")

    run_sync(scenario())


def test_an_outcome_that_is_never_taken_does_not_hold_up_the_others(store: Store) -> None:
    runs = [make_run(n) for n in range(5)]
    fussy = FussySink(runs[2].run_id)

    async def scenario() -> None:
        await scored(store, runs, ["fussy"])
        delivering = Delivering(store, [fussy])
        await until(lambda: _step(delivering, fussy, 4), description="the other four")

    run_sync(scenario())


def test_retries_are_further_and_further_apart() -> None:
    assert [retry_pause(attempts) for attempts in (1, 2, 3, 20)] == [2.0, 4.0, 8.0, 900.0]


async def _step(delivering: Delivering, sink: MemorySink, count: int) -> bool:
    await delivering.step()
    return len(sink.items) == count


async def _is(value: bool) -> bool:
    return value
