"""How the steps are run: on a loop, in threads, or with no loop at all."""

# pyright: reportUnknownLambdaType=false
# Scorers are untyped here: much of what their steps do is wrong on purpose.
from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

from tests.scorers.begun import JUDGE, RUN, agent
from tracescore import (
    AgentRun,
    InputError,
    ScorerError,
    create_scorer,
    not_scorable,
    scorer,
)
from tracescore.bridge import run_sync
from tracescore.model import content_hash


@pytest.mark.parametrize("step", ["prepare_run", "preprocess", "generate_score", "generate_reason", "calculate_score"])
def test_every_step_may_be_a_coroutine(step: str) -> None:
    def maybe(name: str, value: Any) -> Callable[[Any], Any]:
        async def later(ctx: Any) -> Any:
            await asyncio.sleep(0)
            return value if name != "prepare_run" else ctx

        return later if name == step else lambda ctx: value if name != "prepare_run" else ctx

    begun = agent(prepare_run=maybe("prepare_run", None), judge=JUDGE).preprocess(maybe("preprocess", [1]))
    if step == "calculate_score":
        scored = begun.generate_score(
            description="d",
            create_prompt=lambda ctx: "Grade.",
            output_schema={"type": "object", "properties": {"score": {"type": "number"}}},
            calculate_score=maybe("calculate_score", 0.5),
        )
    else:
        scored = begun.generate_score(maybe("generate_score", 0.5))
    score = run_sync(scored.generate_reason(maybe("generate_reason", "why")).run(RUN))

    assert (score.score, score.reason, score.evidence.results) == (0.5, "why", {"preprocess": [1]})


def test_a_scorer_that_must_be_awaited_cannot_run_inline() -> None:
    async def later(ctx: Any) -> float:
        return 1.0

    waiting = agent().generate_score(later)
    judged = agent(judge=JUDGE).generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    assert (waiting.is_async, waiting.needs_judge) == (True, False)
    assert (judged.is_async, judged.needs_judge) == (True, True)
    for one in (waiting, judged):
        with pytest.raises(ScorerError, match="must be awaited"):
            one.run_inline(RUN)


def test_a_def_step_that_gives_a_coroutine_is_awaited_on_a_loop_and_a_failure_without() -> None:
    async def later() -> float:
        return 1.0

    hidden = agent().generate_score(lambda ctx: later())

    assert not hidden.is_async
    assert hidden.run_sync(RUN).score == 1.0
    failure = hidden.run_inline(RUN)
    assert (failure.error_type, failure.failed_step) == ("TypeError", "generate_score")
    assert "make it async def" in failure.message


variable: ContextVar[str] = ContextVar("variable")


def test_def_steps_run_in_the_threads_given_and_async_ones_on_the_loop() -> None:
    places: list[tuple[str, str, str]] = []

    def blocking(ctx: Any) -> float:
        places.append(("def", threading.current_thread().name, variable.get()))
        return 1.0

    async def waiting(ctx: Any) -> str:
        places.append(("async", threading.current_thread().name, variable.get()))
        return "why"

    both = agent().preprocess(blocking).generate_score(blocking).generate_reason(waiting)

    async def score(threads: ThreadPoolExecutor) -> Any:
        variable.set("kept")
        return await both.run_prepared(await both.prepare(RUN), threads=threads)

    with ThreadPoolExecutor(1, thread_name_prefix="steps") as threads:
        assert run_sync(score(threads)).ok

    assert places == [
        ("def", "steps_0", "kept"),
        ("def", "steps_0", "kept"),
        ("async", threading.main_thread().name, "kept"),
    ]


def test_a_def_step_in_a_thread_may_give_a_coroutine() -> None:
    async def later(value: Any) -> Any:
        return value

    hidden = agent().generate_score(lambda _: later(0.5)).generate_reason(lambda _: later("why"))

    async def run(threads: ThreadPoolExecutor) -> Any:
        return await hidden.run_prepared(await hidden.prepare(RUN), threads=threads)

    with ThreadPoolExecutor(1) as threads:
        score = run_sync(run(threads))

    assert (score.score, score.reason) == (0.5, "why")


def test_what_prepare_run_cuts_is_counted_where_it_can_be() -> None:
    begin: Any = create_scorer(id="x", version="1", prepare_run=lambda run: replace(run, output=[1]))
    numbers: Any = create_scorer(id="x", version="1", prepare_run=lambda run: replace(run, output=2))
    listed, one = begin.generate_score(lambda _: 1), numbers.generate_score(lambda _: 1)

    assert listed.run_inline(output=[1, 2, 3], input="i").evidence.cut == {"output": 2}
    assert one.run_inline(output=1).evidence.cut == {}


def test_a_cancelled_scoring_is_cancelled() -> None:
    async def wait_for_ever(ctx: Any) -> float:
        await asyncio.Event().wait()
        return 1.0

    waiting = agent().generate_score(wait_for_ever)

    async def cancel() -> bool:
        task = asyncio.ensure_future(waiting.run(RUN))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    assert run_sync(cancel())


def test_the_judged_hash_is_that_of_the_prepared_run() -> None:
    filtered = agent(prepare_run=lambda run: replace(run, ground_truth=None)).generate_score(lambda _: 1)
    truthful, other = (replace(RUN, ground_truth=truth) for truth in ("a", "b"))

    prepared = filtered.prepare_inline(truthful)
    unhashed = filtered.run_inline(prepared)

    assert unhashed.evidence.judged_hash == ""
    assert prepared.judged_hash == run_sync(filtered.judged_hash(other)) == content_hash(RUN)
    assert filtered.run_inline(prepared).evidence.judged_hash == prepared.judged_hash
    assert run_sync(filtered.run_prepared(prepared)).evidence.judged_hash == prepared.judged_hash


def test_a_scorer_that_reads_usage_is_told_apart_by_it() -> None:
    from tracescore import Usage

    spent = replace(RUN, usage=Usage(input=10))
    blind, reading = (agent(reads=reads).generate_score(lambda _: 1) for reads in ((), ("usage",)))

    assert run_sync(blind.judged_hash(RUN)) == run_sync(blind.judged_hash(spent))
    assert run_sync(reading.judged_hash(RUN)) != run_sync(reading.judged_hash(spent))


@pytest.mark.parametrize(
    ("prepare_run", "message"),
    [
        (lambda run: None, "prepare_run must give a run, not NoneType"),
        (lambda run: replace(run, run_id="other"), "may not change the run id"),
        (lambda run: replace(run, target=None), "may not change the run's target"),
        (lambda run: 1 / 0, "division by zero"),
    ],
)
def test_a_prepare_run_that_fails_is_the_outcome(prepare_run: Any, message: str) -> None:
    failing = agent(prepare_run=prepare_run).generate_score(lambda _: 1)

    prepared = failing.prepare_inline(RUN)
    failure = failing.run_inline(prepared)

    assert prepared.outcome is failure
    assert (failure.failed_step, failure.completed_steps) == ("prepare_run", ())
    assert message in failure.message


def test_prepare_run_may_find_a_run_not_scorable() -> None:
    outcome = agent(prepare_run=lambda run: not_scorable("a test run")).generate_score(lambda _: 1).run_inline(RUN)

    assert (outcome.outcome, outcome.reason, outcome.step) == ("not_scorable", "a test run", "prepare_run")


def test_misuse_is_raised() -> None:
    @scorer(id="y")
    def simple(run: AgentRun) -> float:
        return 1.0

    untyped: Any = simple
    for call, message in (
        (lambda: untyped.run_sync(), "give a run, or output="),
        (lambda: untyped.run_sync(RUN, output="x"), "a run or its parts, not both"),
        (lambda: untyped.run_sync("Sunny."), "expected a run, not str; give text as output="),
    ):
        with pytest.raises(InputError, match=message):
            call()
