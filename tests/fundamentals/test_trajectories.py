"""A scorer may look at the way that an agent took, not only at its answer."""

from __future__ import annotations

from tracescore import (
    AgentOutput,
    AgentRun,
    Message,
    Score,
    TextPart,
    ToolInvocationPart,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryStep,
    compare_trajectory,
    create_scorer,
)

searched = ToolInvocationPart(name="search", arguments={"city": "Paris"}, result=["Hotel A"])
booked = ToolInvocationPart(name="book", arguments={"hotel": "Hotel A"}, result="done")
RUN = AgentRun(
    output=AgentOutput(
        [
            Message(role="assistant", parts=(searched, booked, TextPart(text="Booked."))),
        ]
    ),
    expected_trajectory=["search", "book"],
)


def test_a_trajectory_is_the_steps_of_a_run() -> None:
    """`type="trajectory"` makes `ctx.run.output` the steps; here the messages alone show them."""
    names = create_scorer(id="names", type="trajectory").generate_score(
        lambda ctx: 1.0 if [step.name for step in ctx.run.output.steps] == ["search", "book"] else 0.0
    )

    assert float(names.run_sync(RUN)) == 1.0


def test_what_was_expected_stands_beside_it() -> None:
    """What the run expects is read into a `TrajectoryExpectation`, and compared."""
    followed = (
        create_scorer(id="followed", type="trajectory")
        .analyze(lambda ctx: compare_trajectory(ctx.run.output, ctx.run.expected_trajectory or TrajectoryExpectation()))
        .generate_score(lambda ctx: 1.0 if ctx.results.analyze_step_result.ok else 0.0)
        .generate_reason(lambda ctx: f"missing: {[step.name for step in ctx.results.analyze_step_result.missing]}")
    )

    score = followed.run_sync(RUN)

    assert isinstance(score, Score)
    assert (float(score), score.reason) == (1.0, "missing: []")


def test_an_expectation_has_budgets_and_forbidden_tools() -> None:
    """Order, steps, tokens, time, repeated and forbidden calls: each is a finding of its own."""
    expected = TrajectoryExpectation.read(
        {
            "steps": ["search", {"name": "book", "arguments": {"hotel": "Hotel A"}}],
            "ordering": "strict",
            "max_steps": 2,
            "blacklisted_tools": ["cancel"],
        }
    )
    done = Trajectory(
        steps=(
            TrajectoryStep(name="search", success=True),
            TrajectoryStep(name="book", arguments={"hotel": "Hotel A"}, success=True),
            TrajectoryStep(name="cancel", success=True),
        )
    )

    findings = compare_trajectory(done, expected)

    assert not findings.ok
    assert [step.name for step in findings.extra] == ["cancel"]
    assert findings.blacklisted == ("cancel",)
    assert [(budget.measure, budget.used, budget.kept) for budget in findings.budgets] == [("steps", 3, False)]


def test_steps_hold_what_was_done_inside_them() -> None:
    """Spans show agents inside tool calls, and model calls with their tokens; a run from spans carries them."""
    bot = TrajectoryStep(
        name="bot",
        type="agent_run",
        children=(TrajectoryStep(name="small", type="model_generation", input_tokens=100, output_tokens=20),),
    )
    run = AgentRun(trajectory=Trajectory(steps=(TrajectoryStep(name="ask_bot", children=(bot,)),)))
    thrifty = create_scorer(id="thrifty", type="trajectory", reads=["usage"]).generate_score(
        lambda ctx: 1.0 if (ctx.run.output.total_tokens or 0) < 1_000 else 0.0
    )

    assert float(thrifty.run_sync(run)) == 1.0
