"""What type checkers must infer of rubrics, completion and steps that ask; never run, checked by ``make check``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, assert_type

from pydantic import BaseModel

from tracescore import (
    AgentOutput,
    AgentRun,
    AskingContext,
    CompletionResult,
    Judge,
    Messages,
    RubricCriterion,
    Scorer,
    ScorerRun,
    TaskCompletion,
    TaskResult,
    TaskStep,
    TraceScore,
    create_rubric_scorer,
    create_scorer,
    filter_run,
    is_task_complete,
    is_task_complete_sync,
    run_until_complete,
    run_until_complete_sync,
    scorer,
)
from tracescore.completion import ChatMessage, CompletionVerdict
from tracescore.scorers import BeforeScore


class Claims(BaseModel):
    claims: list[str]


# An async function that is given with judge= may ask, and gets what its schema says.
async def ask(ctx: AskingContext[AgentRun, None, None]) -> list[str]:
    assert_type(ctx.run.output, AgentOutput)
    assert_type(await ctx.ask("Why?"), str)
    assert_type(await ctx.ask("Which?", output_schema={"type": "object"}), dict[str, Any])
    return assert_type(await ctx.ask(ctx.fenced("text"), output_schema=Claims), Claims).claims


asking = create_scorer(id="asking", type="agent").analyze(ask, judge=Judge(temperature=0))
assert_type(asking, BeforeScore[AgentRun, None, list[str]])
asking.generate_score(lambda ctx: len(ctx.results.analyze_step_result))
create_scorer(id="asking", type="agent").preprocess(ask, judge=Judge()).generate_score(
    lambda ctx: len(ctx.results.preprocess_step_result)
)

# A rubric is text or a list of criteria in any of three forms, and the scorer is one like any other.
rubric = create_rubric_scorer(model="openai/gpt-5-mini", criteria="- A\n- B")
create_rubric_scorer(criteria=["A", RubricCriterion(description="B", required=False), {"description": "C"}])
create_rubric_scorer(criteria=[{"description": "A", "required": False}], graded=True, scale=10, evidence="text")
create_rubric_scorer(judge=Judge(temperature=0), prepare_run=filter_run(max_output_messages=3))
scored: Scorer[Any, Any, Any] = rubric
TraceScore(scorers=[rubric])


@scorer(id="brevity")
def brevity(run: AgentRun) -> float:
    return 1.0


# A check gives a value that says whether, and why.
async def checked(run: AgentRun) -> bool:
    done = await is_task_complete(run, [rubric, brevity], strategy="any", timeout=None, request_context={"rubric": "A"})
    assert_type(done, TaskCompletion)
    assert_type(done.results, tuple[CompletionResult, ...])
    assert_type(done.results[0].verdict, CompletionVerdict)
    assert_type(is_task_complete_sync(ScorerRun(output="text"), [brevity]), TaskCompletion)
    return bool(done) or assert_type(done.complete, bool)


# An agent is any callable: sync, async or a stream.
def plain(messages: list[ChatMessage]) -> str:
    return assert_type(messages[-1]["content"], str)


async def later(messages: list[ChatMessage]) -> Messages:
    return Messages()


def untyped_messages(messages: list[Any]) -> Mapping[str, Any]:
    return {"role": "assistant", "content": "text"}


def stream(messages: list[ChatMessage]) -> Iterator[str]:
    yield "text"


async def stream_later(messages: list[ChatMessage]) -> AsyncIterator[str]:
    yield "text"


async def looped() -> None:
    result = await run_until_complete(plain, "Write it", [rubric], max_steps=3, on_complete=print)
    assert_type(result, TaskResult)
    assert_type(result.steps, tuple[TaskStep, ...])
    assert_type(result.completion, TaskCompletion)
    assert_type(result.run, AgentRun)
    assert_type(result.text, str)
    await run_until_complete(later, [{"role": "user", "content": "Write it"}], [brevity])
    await run_until_complete(untyped_messages, "Write it", [brevity])
    await run_until_complete(stream, "Write it", [brevity])
    await run_until_complete(stream_later, "Write it", [brevity], suppress_feedback=True)
    assert_type(run_until_complete_sync(lambda messages: "text", "Write it", [brevity]), TaskResult)
