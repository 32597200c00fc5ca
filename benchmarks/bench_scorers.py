"""A four-step function scorer in memory, and what a judge call costs on top of the client that makes it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.figures import Stopwatch, report
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Judge,
    Message,
    Messages,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    text_message,
)
from tracescore.judge import JudgeRequest, resolve_model

RUNS = 20_000
CALLS = 1_000
IN_FLIGHT = 64
LATENCY = 0.2

four_steps = (
    create_scorer(id="four-steps", type="agent")
    .preprocess(lambda ctx: ctx.run.output.text.split())
    .analyze(lambda ctx: {"words": len(ctx.results.preprocess_step_result)})
    .generate_score(lambda ctx: min(1.0, ctx.results.analyze_step_result["words"] / 10))
    .generate_reason(lambda ctx: f"The score is {ctx.score}.")
)


def small_run(number: int) -> AgentRun:
    """Give a run with a system message, a question, a tool call and an answer."""
    call = ToolInvocationPart(name="weather", arguments={"city": "Paris"}, result="sunny")
    answer = Message(role="assistant", parts=(call, TextPart(text="It is sunny in Paris today.")))
    return AgentRun(
        run_id=f"{number:032x}",
        input=AgentInput(
            input_messages=Messages([text_message("user", "What is the weather in Paris?")]),
            system_messages=Messages([text_message("system", "You are helpful.")]),
        ),
        output=AgentOutput([answer]),
    )


def bare(run: AgentRun) -> str:
    """Do what the four steps do, as plain code."""
    analyzed = {"words": len(run.output.text.split())}
    return f"The score is {min(1.0, analyzed['words'] / 10)}."


def rate(function: Callable[[AgentRun], object], runs: Sequence[AgentRun]) -> float:
    """Give how many runs a CPU second takes."""
    with Stopwatch() as watch:
        for run in runs:
            function(run)
    return len(runs) / watch.cpu


def function_scorer() -> None:
    """Score fresh runs with no loop, hashes apart."""
    assert four_steps.run_inline(small_run(0)).ok
    figure = max(rate(four_steps.run_inline, [small_run(number) for number in range(RUNS)]) for _ in range(3))
    limit = max(rate(bare, [small_run(number) for number in range(RUNS)]) for _ in range(3))
    report(
        benchmark="function scorer in memory",
        unit="runs per CPU second",
        figure=figure,
        cpu_ms_per_unit=1000 / figure,
        limit=limit,
        limit_is="the same four steps as plain code, per CPU second",
        target_ratio=0.08,
    )


async def keep_in_flight(call: Callable[[], Awaitable[object]], count: int) -> None:
    """Make calls, so many at once."""
    numbers = iter(range(count))

    async def one_after_the_other() -> None:
        for _ in numbers:
            await call()

    await asyncio.gather(*(one_after_the_other() for _ in range(IN_FLIGHT)))


async def measured(call: Callable[[], Awaitable[object]]) -> Stopwatch:
    """Measure calls after some to warm up."""
    await keep_in_flight(call, IN_FLIGHT * 2)
    with Stopwatch() as watch:
        await keep_in_flight(call, CALLS)
    return watch


async def judge_calls(base_url: str) -> None:
    """Score with one prompt, and make the same calls with the client alone."""
    judge = Judge(model="openai/stand-in", instructions="You grade.", base_url=base_url, api_key="none")
    judged = create_scorer(id="judged", type="agent", judge=judge).generate_score(
        description="Grade the answer", create_prompt=lambda ctx: f"Grade:\n{ctx.fenced(ctx.run.output.text * 100)}"
    )
    run = small_run(0)
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
    messages = [{"role": "system", "content": "You grade."}, {"role": "user", "content": "x" * 2800}]
    request = JudgeRequest(messages=messages, schema=schema)
    scored: list[Stopwatch] = []
    client: list[Stopwatch] = []
    for _ in range(3):  # in turn, so that a busy machine slows both
        scored.append(await measured(lambda: judged.run(run)))
        client.append(await measured(lambda: resolve_model(judge).ask(request)))
    scored_cpu, client_cpu = (min(watch.cpu for watch in watches) for watches in (scored, client))
    report(
        benchmark="judged scorer",
        unit="judge calls per second",
        figure=CALLS / min(watch.wall for watch in scored),
        cpu_ms_per_unit=scored_cpu * 1000 / CALLS,
        limit=IN_FLIGHT / LATENCY,
        limit_is=f"{IN_FLIGHT} in flight at {LATENCY * 1000:.0f} ms",
        target_ratio=0.85,
    )
    report(
        benchmark="judged scorer beside its client",
        unit="judge calls per CPU second",
        figure=CALLS / scored_cpu,
        cpu_ms_per_unit=scored_cpu * 1000 / CALLS,
        limit=CALLS / client_cpu,
        limit_is="the same calls by the judge's client alone, per CPU second",
        target_ratio=0.8,
    )


def main() -> None:
    """Run all of them."""
    function_scorer()
    command = [sys.executable, "-m", "tracescore.testing.model_server", "--latency", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            asyncio.run(judge_calls(server.stdout.readline().strip()))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
