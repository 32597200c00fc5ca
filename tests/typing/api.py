"""What type checkers must infer of the public API; never run, checked by ``test_types.py``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    CalculateContext,
    Judge,
    JudgeModel,
    JudgeReply,
    JudgeRequest,
    Messages,
    NotScorable,
    ReasonContext,
    Rule,
    RunFilter,
    Score,
    ScoreFailure,
    ScoreOutcome,
    Scorer,
    ScorerRun,
    ScoreValue,
    StepContext,
    StepResults,
    TraceScore,
    TraceScoreSpanExporter,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryFindings,
    TrajectoryRun,
    TrajectoryStep,
    compare_trajectory,
    create_scorer,
    filter_run,
    not_scorable,
    scorer,
)
from tracescore.scorers import BeforeAnalyze, BeforePreprocess, BeforeReason, BeforeScore


class Claims(BaseModel):
    claims: list[str]


class Question(TypedDict):
    query: str


@dataclass
class Answer:
    text: str
    confidence: float


# Runs of other kinds are typed by what they hold: of a model call its messages, of a tool its arguments and result.
asked = create_scorer(id="asked", input_type=Messages, output_type=Messages)
assert_type(asked, BeforePreprocess[ScorerRun[Messages, Messages]])
asked_score = asked.generate_score(lambda ctx: len(ctx.run.output.text) / 100)
assert_type(asked_score, BeforeReason[ScorerRun[Messages, Messages], None, None, None])
tool_score = create_scorer(id="tool", output_type=str).generate_score(lambda ctx: len(ctx.run.output) / 100)
called = Rule(tool_score, kind="tool", where={"tool": "search"}, paused=True)
assert_type(called.paused, bool)
assert_type(AgentRun().conversation, Messages)

# type="agent" types the run of every step, and each result goes on to the next.
agent = create_scorer(id="agent", type="agent")
assert_type(agent, BeforePreprocess[AgentRun])
words = agent.preprocess(lambda ctx: ctx.run.output.text.split())
assert_type(words, BeforeAnalyze[AgentRun, list[str]])
lengths = words.analyze(lambda ctx: {word: len(word) for word in ctx.results.preprocess_step_result})
assert_type(lengths, BeforeScore[AgentRun, list[str], dict[str, int]])
scored = lengths.generate_score(lambda ctx: sum(ctx.results.analyze_step_result.values()) / 10)
assert_type(scored, BeforeReason[AgentRun, list[str], dict[str, int], None])
steps = scored.generate_reason(lambda ctx: f"{ctx.score:.2f}")
assert_type(steps, Scorer[AgentRun, list[str], dict[str, int]])


def inputs(ctx: StepContext[AgentRun, None, None]) -> None:
    assert_type(ctx.run.input, AgentInput)
    assert_type(ctx.run.output, AgentOutput)
    assert_type(ctx.results.preprocess_step_result, None)
    assert_type(ctx.fenced(ctx.run.output), str)


# A coroutine's result is typed through where it is an ``async def``.
async def fetch(ctx: StepContext[AgentRun, None, None]) -> set[str]:
    return {ctx.run.output.text}


assert_type(agent.preprocess(fetch), BeforeAnalyze[AgentRun, set[str]])
assert_type(agent.analyze(fetch), BeforeScore[AgentRun, None, set[str]])

# A prompt's schema types its result.
claims = agent.preprocess(
    description="List the claims",
    create_prompt=lambda ctx: ctx.run.output.text,
    output_schema=Claims,
    judge=Judge(temperature=0),
)
assert_type(claims, BeforeAnalyze[AgentRun, Claims])
claims.generate_score(lambda ctx: len(ctx.results.preprocess_step_result.claims))
listed = agent.analyze(description="d", create_prompt=lambda ctx: "p", output_schema=list[str])
assert_type(listed, BeforeScore[AgentRun, None, list[str]])
raw = agent.analyze(description="d", create_prompt=lambda ctx: "p", output_schema={"type": "object"})
assert_type(raw, BeforeScore[AgentRun, None, dict[str, Any]])


# calculate_score and the reason see the judge's validated answer.
def calculate(ctx: CalculateContext[AgentRun, None, None, Answer]) -> float:
    return assert_type(ctx.output, Answer).confidence


def explain(ctx: ReasonContext[AgentRun, None, None, Answer]) -> str:
    return f"{assert_type(ctx.output, Answer).text} {assert_type(ctx.score, float):.2f}"


calculated = agent.generate_score(
    description="d", create_prompt=lambda ctx: "p", output_schema=Answer, calculate_score=calculate
)
assert_type(calculated, BeforeReason[AgentRun, None, None, Answer])
assert_type(calculated.generate_reason(explain), Scorer[AgentRun, None, None])
agent.generate_score(
    description="d",
    create_prompt=lambda ctx: "p",
    output_schema=Answer,
    calculate_score=lambda ctx: ctx.output.confidence,
).generate_reason(lambda ctx: ctx.output.text)
plain = agent.generate_score(description="d", create_prompt=lambda ctx: "p")
assert_type(plain, BeforeReason[AgentRun, None, None, dict[str, Any]])
plain.generate_reason(description="d", create_prompt=lambda ctx: f"{ctx.output['score']} {ctx.score}")


# What calculate_score is given beside the answer, and that it may be a coroutine, is typed like any step's.
def weigh(ctx: CalculateContext[AgentRun, Claims, set[str], dict[str, Any]]) -> ScoreValue:
    assert_type(ctx.output, dict[str, Any])
    assert_type(ctx.results.preprocess_step_result, Claims)
    assert_type(ctx.results.analyze_step_result, set[str])
    assert_type(ctx.run, AgentRun)
    assert_type(ctx.results, StepResults[Claims, set[str]])
    return ScoreValue(score=len(ctx.results.analyze_step_result))


async def weigh_later(ctx: CalculateContext[AgentRun, None, None, Question]) -> float:
    return len(assert_type(ctx.output, Question)["query"])


async def ask_later(ctx: StepContext[AgentRun, None, None]) -> str:
    return ctx.run.output.text


weighed = claims.analyze(lambda ctx: set(ctx.results.preprocess_step_result.claims)).generate_score(
    description="d", create_prompt=lambda ctx: "p", output_schema={"type": "object"}, calculate_score=weigh
)
assert_type(weighed, BeforeReason[AgentRun, Claims, set[str], dict[str, Any]])
later_weighed = agent.generate_score(
    description="d", create_prompt=ask_later, output_schema=Question, calculate_score=weigh_later, judge=Judge(seed=1)
)
assert_type(later_weighed, BeforeReason[AgentRun, None, None, Question])
later_weighed.generate_reason(lambda ctx: ctx.output["query"])

# type="trajectory" types the run as the way that was taken.
travelled = create_scorer(id="way", type="trajectory")
assert_type(travelled, BeforePreprocess[TrajectoryRun])


def way(ctx: StepContext[TrajectoryRun, None, None]) -> TrajectoryFindings:
    assert_type(ctx.run.output, Trajectory)
    assert_type(ctx.run.output.steps, tuple[TrajectoryStep, ...])
    assert_type(ctx.run.input, AgentInput)
    assert_type(ctx.run.expected_trajectory, TrajectoryExpectation | None)
    assert_type(ctx.run.output.total_tokens, int | None)
    return compare_trajectory(ctx.run.output, ctx.run.expected_trajectory or TrajectoryExpectation())


compared = travelled.analyze(way)
assert_type(compared, BeforeScore[TrajectoryRun, None, TrajectoryFindings])
compared_score = compared.generate_score(lambda ctx: len(ctx.results.analyze_step_result.matched) / 10)
assert_type(compared_score, BeforeReason[TrajectoryRun, None, TrajectoryFindings, None])


def short(run: TrajectoryRun) -> TrajectoryRun:
    return replace(run, output=replace(run.output, steps=run.output.steps[:3]))


create_scorer(id="way", type="trajectory", prepare_run=short, reads=["usage", "timing"])
create_scorer(id="way", type="trajectory", prepare_run=filter_run(drop_expected_trajectory=True))


def steps_of(ctx: StepContext[AgentRun, None, None]) -> int:
    taken = assert_type(ctx.run.trajectory, Trajectory | None)
    return 0 if taken is None else len(taken.steps)


create_scorer(id="agent", type="agent", reads=["trajectory"]).generate_score(steps_of)

# Custom types are those of the run.
typed = create_scorer(id="custom", input_type=Question, output_type=Answer)
assert_type(typed, BeforePreprocess[ScorerRun[Question, Answer]])
custom = typed.generate_score(lambda ctx: ctx.run.output.confidence * len(ctx.run.input["query"]))
assert_type(custom, BeforeReason[ScorerRun[Question, Answer], None, None, None])
assert_type(create_scorer(id="out", output_type=Answer), BeforePreprocess[ScorerRun[Any, Answer]])
assert_type(create_scorer(id="untyped"), BeforePreprocess[ScorerRun[Any, Any]])
create_scorer(id="untyped").generate_score(lambda ctx: float(ctx.run.output["anything"]))

# Score steps give numbers or ScoreValue, or end the run.
agent.generate_score(lambda ctx: ScoreValue(score=1, sub_scores={"a": 0.5}))
agent.generate_score(lambda ctx: 1 if ctx.run.output else not_scorable("nothing"))
agent.generate_score(lambda ctx: True)


# @scorer makes a scorer of a function, sync or async.
@scorer(id="brevity")
def brevity(run: AgentRun) -> float:
    return 1.0


@scorer(id="later")
async def later(run: AgentRun) -> ScoreValue:
    return ScoreValue(score=1)


assert_type(brevity, Scorer[AgentRun, None, None])
assert_type(later, Scorer[AgentRun, None, None])


# prepare_run takes and gives the scorer's run.
def anonymous(run: AgentRun) -> AgentRun:
    return replace(run, user_id=None)


async def anonymous_later(run: AgentRun) -> AgentRun:
    return run


create_scorer(id="p", type="agent", prepare_run=anonymous)
create_scorer(id="p", type="agent", prepare_run=anonymous_later)
create_scorer(id="p", type="agent", prepare_run=filter_run(part_types=["text"]))
create_scorer(id="p", input_type=str, output_type=str, prepare_run=filter_run(drop_ground_truth=True))
assert_type(filter_run(), RunFilter)
assert_type(filter_run()(AgentRun()), AgentRun)
assert_type((filter_run() | filter_run())(AgentRun()), AgentRun)
create_scorer(id="p", type="agent", prepare_run=filter_run() | filter_run(max_tokens=1000))


# Outcomes are told apart by their class, or by what they say.
async def outcomes(run: AgentRun) -> float:
    outcome = await steps.run(run)
    assert_type(outcome, ScoreOutcome)
    assert_type(brevity.run_sync(output="text", input="text", ground_truth=1), ScoreOutcome)
    assert_type(brevity.run_inline(run), ScoreOutcome)
    if isinstance(outcome, ScoreFailure):
        return len(assert_type(outcome.message, str))
    if isinstance(outcome, NotScorable):
        return len(assert_type(outcome.reason, str))
    assert_type(outcome, Score)
    return assert_type(float(outcome), float)


async def many(runs: list[AgentRun], others: Iterable[ScorerRun[Any, Any]]) -> list[float]:
    outcomes = await steps.run_many(runs, concurrency=4)
    assert_type(outcomes, list[ScoreOutcome])
    assert_type(await compared_score.run_many(others), list[ScoreOutcome])
    return [float(outcome) for outcome in outcomes if outcome.ok]


async def prepared(run: ScorerRun[Question, Answer]) -> ScoreOutcome:
    ready = await custom.prepare(run)
    assert_type(ready.run, ScorerRun[Question, Answer])
    return await custom.run_prepared(ready)


# Any object with the one method is a judge model.
class Echo:
    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        return JudgeReply(text=str(assert_type(request.sampling, Mapping[str, Any])))


echo: JudgeModel = Echo()
Judge(model=Echo(), instructions="You grade.")


def an_exporter_for_the_same_process(app: TraceScore) -> None:
    def on_outcome(run: AgentRun, outcome: ScoreOutcome) -> None: ...

    exporter = TraceScoreSpanExporter(app=app, on_outcome=on_outcome, slots=4)
    assert_type(exporter, TraceScoreSpanExporter)
    assert_type(exporter.outcomes, deque[ScoreOutcome])
    assert_type(exporter.force_flush(), bool)
