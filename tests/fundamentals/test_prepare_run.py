"""A scorer may prepare the run before its steps see it: cut it, or leave parts out."""

from __future__ import annotations

from dataclasses import replace

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Message,
    Messages,
    ScoreFailure,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    filter_run,
    text_message,
)

RUN = AgentRun(
    run_id="run-1",
    input=AgentInput(
        input_messages=Messages([text_message("user", "And in Rome?")]),
        remembered_messages=Messages(
            [text_message("user", "What is the weather in Paris?"), text_message("assistant", "Sunny.")]
        ),
    ),
    output=AgentOutput(
        [
            Message(role="assistant", parts=(ToolInvocationPart(name="weather", result="rain"),)),
            Message(role="assistant", parts=(TextPart(text="It rains in Rome."),)),
        ]
    ),
    ground_truth="rain",
)


def test_filter_run_keeps_what_a_scorer_needs() -> None:
    """`filter_run` drops whole messages and fields; what was cut stands in the evidence."""
    focused = create_scorer(
        id="focused",
        type="agent",
        prepare_run=filter_run(part_types=["tool-invocation"], max_remembered_messages=0, drop_ground_truth=True),
    ).generate_score(
        lambda ctx: float(
            [call.name for call in ctx.run.output.tool_calls] == ["weather"]
            and len(ctx.run.output) == 1
            and not ctx.run.input.remembered_messages
            and ctx.run.ground_truth is None
        )
    )

    score = focused.run_sync(RUN)

    assert float(score) == 1.0
    assert score.evidence.cut == {"remembered_messages": 2, "output": 1, "ground_truth": 1}


def test_prepare_run_is_any_function_of_a_run() -> None:
    """It may be `def` or `async def`, and gives the run that the steps see."""

    async def anonymous(run: AgentRun) -> AgentRun:
        return replace(run, user_id=None)

    unnamed = create_scorer(id="unnamed", type="agent", prepare_run=anonymous).generate_score(
        lambda ctx: 1.0 if ctx.run.user_id is None else 0.0
    )

    assert float(unnamed.run_sync(replace(RUN, user_id="ada"))) == 1.0


def test_a_failing_prepare_run_is_a_failure() -> None:
    """It is reported as a step of its own, like a change of the run's id or target."""
    renaming = create_scorer(
        id="renaming", type="agent", prepare_run=lambda run: replace(run, run_id="another")
    ).generate_score(lambda ctx: 1.0)

    failure = renaming.run_sync(RUN)

    assert isinstance(failure, ScoreFailure)
    assert (failure.failed_step, failure.message) == (
        "prepare_run",
        "prepare_run may not change the run id ('run-1' to 'another')",
    )


def test_a_budget_of_tokens_cuts_the_least_needed_first() -> None:
    """Filters join with `|`. The input and the final answer are never cut; the record says what was."""
    cheap = filter_run(drop_parts=["reasoning"]) | filter_run(max_tokens=20, encoding=None)
    short = create_scorer(id="short", type="agent", prepare_run=cheap).generate_score(
        lambda ctx: 1.0 if (ctx.run.input.text, ctx.run.output.text) == ("And in Rome?", "It rains in Rome.") else 0.0
    )

    score = short.run_sync(RUN)

    assert float(score) == 1.0
    assert [(cut.rule, cut.what, cut.messages, cut.tokens) for cut in score.evidence.cuts] == [
        ("max_tokens=20", "remembered_messages", 2, 18),
        ("max_tokens=20", "output", 1, 7),
    ]
