"""Many runs at once: bounded, in order, and errors are values."""

# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.scorers.begun import agent
from tracescore import AgentRun, InputError, Score, ScoreFailure, ScorerError
from tracescore.bridge import run_sync
from tracescore.testing import run as made


def runs(count: int) -> Iterator[AgentRun]:
    return (AgentRun(run_id=str(number)) for number in range(count))


def test_outcomes_come_in_the_order_of_the_runs_and_no_more_than_so_many_at_once() -> None:
    inside = most = 0

    async def wait(ctx: Any) -> float:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for _ in range(5 - int(ctx.run.run_id) % 5):  # later ones are often done first
            await asyncio.sleep(0)
        inside -= 1
        return int(ctx.run.run_id) / 100

    outcomes = run_sync(agent().generate_score(wait).run_many(runs(40), concurrency=7))

    assert [float(outcome) for outcome in outcomes] == [number / 100 for number in range(40)]
    assert most == 7


def test_runs_are_taken_as_there_is_room() -> None:
    taken: list[int] = []
    ahead: list[int] = []

    def counted() -> Iterator[AgentRun]:
        for number, run in enumerate(runs(20)):
            taken.append(number)
            yield run

    async def wait(ctx: Any) -> float:
        await asyncio.sleep(0)
        ahead.append(len(taken) - len(ahead))
        return 1.0

    run_sync(agent().generate_score(wait).run_many(counted(), concurrency=3))

    assert max(ahead) <= 3


def test_what_cannot_be_scored_is_a_value_in_its_place() -> None:
    rows: list[Any] = [AgentRun(run_id="0"), "no run", AgentRun(run_id="2")]
    failing = agent().generate_score(lambda ctx: 1 / int(ctx.run.run_id))

    first, second, third = run_sync(failing.run_many(rows))

    assert isinstance(first, ScoreFailure)
    assert first.error_type == "ZeroDivisionError"
    assert isinstance(second, ScoreFailure)
    assert (second.error_type, second.scorer_id) == ("InputError", "x")
    assert "expected a run, not str" in second.message
    assert isinstance(third, Score)


def test_misuse_is_raised() -> None:
    with pytest.raises(InputError, match="concurrency is at least 1, not 0"):
        run_sync(agent().generate_score(lambda _: 1).run_many([], concurrency=0))
    with pytest.raises(ScorerError, match="no judge model"):
        run_sync(agent().generate_score(description="d", create_prompt=lambda ctx: "p").run_many([]))
    with pytest.raises(ScorerError, match="no generate_score step yet"):
        agent().run_many([])


def test_an_iterator_that_fails_ends_it_and_leaves_nothing_running() -> None:
    running: set[str] = set()

    def broken() -> Iterator[AgentRun]:
        yield from runs(3)
        raise LookupError("no more rows")

    async def wait(ctx: Any) -> float:
        running.add(ctx.run.run_id)
        try:
            await asyncio.Event().wait()
        finally:
            running.discard(ctx.run.run_id)
        return 1.0

    with pytest.raises(LookupError, match="no more rows"):
        run_sync(agent().generate_score(wait).run_many(broken(), concurrency=8))

    assert running == set()


def test_a_run_with_half_a_character_loses_no_other() -> None:
    good, broken = made(input="hello", output="hi"), made(input="\ud83d", output="\ud83d")

    outcomes = run_sync(agent().generate_score(lambda ctx: len(ctx.run.output.text) / 2).run_many([good, broken, good]))

    assert [float(outcome) for outcome in outcomes] == [1.0, 0.5, 1.0]
