"""A four-step function scorer in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.figures import Stopwatch, report
from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Message,
    Messages,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    text_message,
)

RUNS = 20_000

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


def main() -> None:
    """Run it."""
    function_scorer()


if __name__ == "__main__":
    main()
