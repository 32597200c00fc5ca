"""The code blocks of the two seed documents, scorers and rubrics, in our words; each does what its document says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    CalculateContext,
    Judge,
    JudgeRequest,
    Messages,
    Score,
    ScoreFailure,
    ScorerRun,
    StepContext,
    StreamErrorRetryProcessor,
    TraceScore,
    create_rubric_scorer,
    create_scorer,
    run_until_complete,
    run_until_complete_sync,
    text_message,
)
from tracescore.bridge import run_sync
from tracescore.model import dump_run, load_run
from tracescore.testing import FakeJudge, ModelReply, ModelServer


class Claims(BaseModel):
    claims: list[str]


class Verdicts(BaseModel):
    verdicts: list[bool]


def test_four_steps_of_which_three_ask_the_judge() -> None:
    """A name, a description, a type and a judge; steps are functions or prompts, chained one to the next."""
    prompts: list[str] = []

    def expert(request: JudgeRequest) -> Any:
        prompts.append(str(request.messages[-1]["content"]))
        return [{"claims": ["a", "b"]}, {"verdicts": [True, False]}, "One of two claims holds."][len(prompts) - 1]

    my_scorer = (
        create_scorer(
            id="my-custom-scorer",
            name="My Custom Scorer",
            description="Evaluates responses based on custom criteria",
            type="agent",
            judge=Judge(model=FakeJudge(expert), instructions="You are an expert evaluator..."),
        )
        .preprocess(
            description="List the claims",
            output_schema=Claims,
            create_prompt=lambda ctx: f"List the claims of: {ctx.run.output.text}",
        )
        .analyze(
            description="Judge the claims",
            output_schema=Verdicts,
            create_prompt=lambda ctx: f"Judge: {ctx.results.preprocess_step_result.claims}",
        )
        .generate_score(lambda ctx: sum(ctx.results.analyze_step_result.verdicts) / 2)
        .generate_reason(description="Explain", create_prompt=lambda ctx: f"Explain the score {ctx.score}.")
    )

    score = my_scorer.run_sync(output="a and b")

    assert isinstance(score, Score)
    assert (my_scorer.name, score.score, score.reason) == ("My Custom Scorer", 0.5, "One of two claims holds.")
    assert prompts == ["List the claims of: a and b", "Judge: ['a', 'b']", "Explain the score 0.5."]
    assert score.evidence.results == {"preprocess": {"claims": ["a", "b"]}, "analyze": {"verdicts": [True, False]}}


def test_the_name_is_the_id_unless_given_and_functions_ask_no_judge() -> None:
    """Only prompt steps ask the judge: a scorer of functions needs none."""
    plain = create_scorer(id="plain").generate_score(lambda ctx: 1.0)

    assert (plain.name, plain.needs_judge) == ("plain", False)
    assert float(plain.run_sync(output="anything")) == 1.0


def is_transient_network_error(error: BaseException) -> bool:
    return re.search(r"ECONNRESET|ETIMEDOUT|socket hang up", str(error), re.IGNORECASE) is not None


retry_processor = StreamErrorRetryProcessor(
    max_retries=2,
    max_retry_after=30,
    delay=lambda attempt: min(0.001 * 2**attempt.retry_count, 30),  # seconds; the document's are a thousand times these
    matchers=[is_transient_network_error],
    retry_unknown_errors=False,
)
response_quality = (
    create_scorer(
        id="response-quality",
        description="Scores response quality",
        type="agent",
        judge=Judge(
            model="openai/gpt-5-mini",
            api_key="sk-test",
            instructions="Return a score and concise reason.",
            error_processors=[retry_processor],
            max_processor_retries=2,
        ),
    )
    .generate_score(
        description="Score the response quality.", create_prompt=lambda ctx: f"Score: {ctx.run.output.text}"
    )
    .generate_reason(description="Explain the score.", create_prompt=lambda ctx: "Explain the score.")
)


def test_a_failed_request_is_made_three_times_at_most_and_only_its_step_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One budget of retries for a judge's request; a reason that is retried does not score again."""
    busy = ModelReply.rate_limited(retry_after=0.001)
    replies: list[Any] = [
        busy,
        ModelReply(status=400, text="read ECONNRESET"),
        {"score": 0.8},
        ModelReply.server_error(),
        "Clear.",
    ]
    with ModelServer(replies) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        score = response_quality.run_sync(output="Sunny.")

    assert isinstance(score, Score)
    assert (score.score, score.reason) == (0.8, "Clear.")
    assert [call.prompt for call in server.calls] == ["Score: Sunny."] * 3 + ["Explain the score."] * 2


def test_what_does_not_pass_fails_at_once_and_what_lasts_after_three_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, wrong requests and contexts that are too long are not retried; the last error is the one that is seen."""
    made: list[tuple[str, int]] = []
    for reply in (ModelReply(status=401), ModelReply(status=400, text="context too long"), ModelReply.server_error()):
        with ModelServer([reply] * 9) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            failure = response_quality.run_sync(output="Sunny.")
        assert isinstance(failure, ScoreFailure)
        made.append((failure.error_type, len(server.calls)))

    assert made == [("JudgeRefused", 1), ("JudgeError", 1), ("JudgeTransientError", 3)]


def test_a_step_overrides_the_processors_and_inherits_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step's list stands in the scorer's place; what the step does not say is the scorer's."""
    eager = StreamErrorRetryProcessor(max_retries=5)
    graded = create_scorer(id="graded", type="agent", judge=response_quality.judge).generate_score(
        description="Grade", create_prompt=lambda ctx: "Grade it.", judge=Judge(error_processors=[eager])
    )
    with ModelServer([ModelReply.server_error()] * 9) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        failure = graded.run_sync(output="Sunny.")

    assert (failure.outcome, len(server.calls)) == ("failure", 3)


def test_an_agents_run_is_typed_by_the_type_agent() -> None:
    """`type="agent"`: the input has messages, the output is a sequence of messages."""
    agent_scorer = (
        create_scorer(id="agent-response-quality", description="Evaluates agent responses", type="agent")
        .preprocess(lambda ctx: {"user_message": ctx.run.input.input_messages[0].content})
        .generate_score(lambda ctx: 1.0 if len(ctx.run.output[0].content) > 10 else 0.5)
        .generate_reason(lambda ctx: ctx.results.preprocess_step_result["user_message"])
    )

    long, short = (agent_scorer.run_sync(input="Weather?", output=text) for text in ("It is sunny today.", "Sunny."))

    assert isinstance(long, Score)
    assert (float(long), float(short), long.reason) == (1.0, 0.5, "Weather?")


class CustomInput(TypedDict):
    query: str
    context: list[str]


class CustomOutput(BaseModel):
    answer: str
    confidence: float


def test_types_of_ones_own() -> None:
    """The run's input and output have the types that are given, and are checked to have them."""
    custom_scorer = create_scorer(
        id="custom-scorer", description="Evaluates custom data", input_type=CustomInput, output_type=CustomOutput
    ).generate_score(lambda ctx: ctx.run.output.confidence)

    def run(confidence: Any) -> ScorerRun[Any, Any]:
        return ScorerRun(
            input={"query": "Weather?", "context": ["a"]}, output={"answer": "Sunny.", "confidence": confidence}
        )

    assert float(custom_scorer.run_sync(run(0.75))) == 0.75
    assert custom_scorer.run_sync(run("very")).outcome == "not_scorable"


def test_a_scorer_of_type_agent_scores_traces_too() -> None:
    """The same scorer, registered in an app, is handed runs that were rebuilt from traces."""
    agent_trace_scorer = create_scorer(
        id="agent-trace-length", description="Evaluates agent response length", type="agent"
    ).generate_score(lambda ctx: 0 if len(ctx.run.output[0].content) > 50 else 1)
    app = TraceScore(scorers=[agent_trace_scorer])
    stored = dump_run(
        AgentRun(
            input=AgentInput(input_messages=Messages([text_message("user", "Weather?")])),
            output=AgentOutput([text_message("assistant", "Sunny. " * 10)]),
        )
    )

    assert float(app.scorers["agent-trace-length"].run_sync(load_run(stored))) == 0.0


def test_a_step_sees_the_run_its_id_and_the_request_context() -> None:
    """`run.input`, `run.output`, `run.run_id`, `run.request_context`, and any value goes on to the next step."""
    told: list[Any] = []

    def look(ctx: StepContext[AgentRun, None, None]) -> object:
        told.extend((ctx.run.input.text, ctx.run.output.text, ctx.run.run_id, ctx.run.request_context["tenant"]))
        return told

    seen = (
        create_scorer(id="seen", type="agent")
        .preprocess(look)
        .generate_score(lambda ctx: 1.0 if ctx.results.preprocess_step_result is told else 0.0)
    )

    score = seen.run_sync(input="Weather?", output="Sunny.", run_id="run-1", request_context={"tenant": "a"})

    assert float(score) == 1.0
    assert told == ["Weather?", "Sunny.", "run-1", "a"]


def test_calculate_score_turns_the_judges_answer_into_the_score() -> None:
    """The seed promises `calculateScore` with the results of the steps before; here it gets them, and is heeded."""

    def calculate(ctx: CalculateContext[AgentRun, None, int, Verdicts]) -> float:
        return sum(ctx.output.verdicts) / ctx.results.analyze_step_result

    counted = (
        create_scorer(
            id="counted",
            type="agent",
            judge=Judge(model=FakeJudge(lambda request: {"verdicts": [True, True, False]}), instructions="You count."),
        )
        .analyze(lambda ctx: 4)
        .generate_score(
            description="Count what holds",
            output_schema=Verdicts,
            create_prompt=lambda ctx: f"Which of {ctx.results.analyze_step_result} hold?",
            calculate_score=calculate,
        )
    )

    assert float(counted.run_sync(output="Sunny.")) == 0.5


def test_a_steps_own_judge_stands_over_the_scorers() -> None:
    """Each prompt step may name a judge of its own; what that does not say is the scorer's."""
    strict = FakeJudge(lambda request: {"score": 0.0})
    kind = FakeJudge(lambda request: {"score": 1.0})
    judged = create_scorer(
        id="judged", type="agent", judge=Judge(model=strict, instructions="You grade.")
    ).generate_score(description="Grade", create_prompt=lambda ctx: "Grade it.", judge=Judge(model=kind))

    assert float(judged.run_sync(output="Sunny.")) == 1.0
    assert strict.requests == []
    assert kind.requests[0].messages[0]["content"] == "You grade."


def looking_for(**words: str) -> Judge:
    """Give a judge that finds a criterion met where its word stands in the work."""

    def answer(request: Any) -> dict[str, Any]:
        work = request.messages[1]["content"].partition("The rubric,")[0]
        asked = request.schema["properties"]
        return {id: {"reasoning": f"I looked for {words[id]}.", "satisfied": words[id] in work} for id in asked}

    return Judge(model=FakeJudge(answer))


def test_a_supervisor_goes_on_until_its_rubric_is_met() -> None:
    """Define the rubric once; the agent corrects itself until it is met, or its steps are used up."""
    rubric_scorer = create_rubric_scorer(
        criteria=[
            {"description": "The response includes an analysis section"},
            {"description": "The response includes concrete recommendations"},
        ],
        judge=looking_for(c1="Analysis", c2="Recommendations"),
    )

    async def supervisor(messages: list[Any]) -> AsyncIterator[str]:
        yield "## Analysis"
        if "concrete recommendations: not met" in messages[-1]["content"]:
            yield "\n## Recommendations"

    result = run_sync(
        run_until_complete(supervisor, "Research AI in education", [rubric_scorer], max_steps=10, strategy="all")
    )

    assert (result.complete, len(result.steps)) == (True, 2)


def test_a_rubric_as_text() -> None:
    """The list markers go, and each line is a required criterion."""
    rubric_scorer = create_rubric_scorer(
        criteria="""- All tests pass in the test suite
- The function is named find_duplicates and accepts a single list argument""",
        judge=looking_for(c1="2 passed", c2="def find_duplicates(items)"),
    )

    score = rubric_scorer.run_sync(output="def find_duplicates(items): ...")

    assert isinstance(score, Score)
    assert score.score == 0.0
    assert [sub.name for sub in score.sub_scores] == [
        "All tests pass in the test suite",
        "The function is named find_duplicates and accepts a single list argument",
    ]


def test_optional_criteria_are_reported_and_gate_nothing() -> None:
    rubric_scorer = create_rubric_scorer(
        criteria=[
            {"description": "Includes an analysis section", "required": True},
            {"description": "Includes citations", "required": False},
        ],
        judge=looking_for(c1="Analysis", c2="[1]"),
    )

    score = rubric_scorer.run_sync(output="## Analysis")

    assert isinstance(score, Score)
    assert score.score == 1.0
    assert "✗ [optional] Includes citations: not met" in (score.reason or "")


def test_a_rubric_for_each_run() -> None:
    """Without criteria, the rubric comes with the run; where there is none, the full score gates nothing."""
    rubric_scorer = create_rubric_scorer(judge=looking_for(c1="2 passed", c2="find_duplicates"))

    def writer(messages: list[Any]) -> str:
        return "find_duplicates: 2 passed" if len(messages) > 1 else "find_duplicates"

    gated = run_until_complete_sync(
        writer,
        "Write find_duplicates",
        [rubric_scorer],
        request_context={"rubric": "- All tests pass\n- The function is named find_duplicates"},
    )
    ungated = run_until_complete_sync(writer, "Write find_duplicates", [rubric_scorer])

    assert (gated.complete, len(gated.steps)) == (True, 2)
    assert (ungated.complete, len(ungated.steps)) == (True, 1)
