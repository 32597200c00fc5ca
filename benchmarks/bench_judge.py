"""What a judge call costs beside a bare request, and how near a scorer of three prompts comes to its ideal."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable

import aiohttp
import orjson

from benchmarks.bench_scorers import small_run
from benchmarks.figures import Stopwatch, report
from tracescore import Judge, create_scorer

CALLS = 1_024
RUNS = 640
IN_FLIGHT = 64
LATENCY = 0.2
PROMPTS = 3


async def keep_in_flight(call: Callable[[], Awaitable[object]], count: int) -> None:
    """Make calls, so many at once."""
    numbers = iter(range(count))

    async def one_after_the_other() -> None:
        for _ in numbers:
            await call()

    await asyncio.gather(*(one_after_the_other() for _ in range(IN_FLIGHT)))


async def measured(call: Callable[[], Awaitable[object]], count: int = CALLS) -> Stopwatch:
    """Measure calls after some to warm up."""
    await keep_in_flight(call, IN_FLIGHT * 2)
    with Stopwatch() as watch:
        await keep_in_flight(call, count)
    return watch


def judge_at(base_url: str) -> Judge:
    """Give a judge whose replies have a price, as in production."""
    return Judge(model="openai/gpt-5-mini", instructions="You grade.", base_url=base_url, api_key="none")


async def judge_calls(base_url: str) -> None:
    """Score with one prompt: prompt, request, reading, check, price and evidence; and make the bare requests."""
    judged = create_scorer(id="judged", type="agent", judge=judge_at(base_url)).generate_score(
        description="Grade the answer", create_prompt=lambda ctx: f"Grade:\n{ctx.fenced(ctx.run.output.text * 100)}"
    )
    run = small_run(0)
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
    form = {"name": "score", "schema": schema, "strict": True}
    body = orjson.dumps(
        {
            "model": "gpt-5-mini",
            "messages": [{"role": "system", "content": "You grade."}, {"role": "user", "content": "x" * 2800}],
            "response_format": {"type": "json_schema", "json_schema": form},
        }
    )
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def bare() -> None:
            headers = {"content-type": "application/json"}
            async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                await response.read()

        scored: list[Stopwatch] = []
        limits: list[Stopwatch] = []
        for _ in range(3):  # in turn, so that a busy machine slows both
            scored.append(await measured(lambda: judged.run(run)))
            limits.append(await measured(bare))
    cpu, limit = (min(watch.cpu for watch in watches) for watches in (scored, limits))
    report(
        benchmark="judged scorer",
        unit="judge calls per second",
        figure=CALLS / min(watch.wall for watch in scored),
        cpu_ms_per_unit=cpu * 1000 / CALLS,
        limit=IN_FLIGHT / LATENCY,
        limit_is=f"{IN_FLIGHT} in flight at {LATENCY * 1000:.0f} ms",
        target_ratio=0.85,
    )
    report(
        benchmark="judged scorer beside bare requests",
        unit="judge calls per CPU second",
        figure=CALLS / cpu,
        cpu_ms_per_unit=cpu * 1000 / CALLS,
        limit=CALLS / limit,
        limit_is="the same requests by bare aiohttp, per CPU second (0.13 ms each where a call may cost 0.5 ms)",
        target_ratio=0.26,
    )


async def three_prompts(base_url: str) -> None:
    """Score runs with three prompts each, one after the other."""
    judged = (
        create_scorer(id="three-prompts", type="agent", judge=judge_at(base_url))
        .analyze(
            description="List the claims",
            create_prompt=lambda ctx: f"List the claims:\n{ctx.fenced(ctx.run.output.text * 100)}",
            output_schema={
                "type": "object",
                "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
                "required": ["claims"],
            },
        )
        .generate_score(description="Grade them", create_prompt=lambda ctx: "Grade the claims.")
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Explain {ctx.score}.")
    )
    numbers = iter(range(RUNS * 10))

    async def score() -> None:
        assert (await judged.run(small_run(next(numbers)))).ok

    watches = [await measured(score, RUNS) for _ in range(2)]
    report(
        benchmark="judged scorer of three prompts",
        unit="runs per second, each three calls one after the other",
        figure=RUNS / min(watch.wall for watch in watches),
        cpu_ms_per_unit=min(watch.cpu for watch in watches) * 1000 / RUNS,
        limit=IN_FLIGHT / LATENCY / PROMPTS,
        limit_is=f"{IN_FLIGHT} in flight at {PROMPTS} times {LATENCY * 1000:.0f} ms",
        target_ratio=0.9,
    )


async def measure(base_url: str) -> None:
    """Run all of them on one loop."""
    await judge_calls(base_url)
    await three_prompts(base_url)


def main() -> None:
    """Run all of them against a stand-in in a process of its own."""
    command = [sys.executable, "-m", "tracescore.testing.model_server", "--latency", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            asyncio.run(measure(server.stdout.readline().strip()))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
