"""A run ends with a score, with a failure, or with nothing to score; all three are values."""

from __future__ import annotations

import pytest

from tracescore import AgentRun, NotScorable, Score, ScoreFailure, create_scorer, not_scorable, scorer


def test_a_step_that_raises_makes_a_failure() -> None:
    """Nothing is raised: the failure says which step failed, why, and in which line of yours."""

    @scorer(id="broken")
    def broken(run: AgentRun) -> float:
        return 1 / len(run.output.tool_calls)

    failure = broken.run_sync(output="Sunny.")

    assert isinstance(failure, ScoreFailure)
    assert (failure.failed_step, failure.error_type) == ("generate_score", "ZeroDivisionError")
    assert failure.message == "division by zero (tests/fundamentals/test_outcomes.py:15)"


def test_a_scorer_may_find_nothing_to_score() -> None:
    """`not_scorable` ends the run, and says why."""

    @scorer(id="tool-use")
    def tool_use(run: AgentRun) -> float:
        if not run.output.tool_calls:
            not_scorable("the agent called no tool")
        return 1.0

    outcome = tool_use.run_sync(output="Sunny.")

    assert isinstance(outcome, NotScorable)
    assert outcome.reason == "the agent called no tool"


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf"), True, "0.5", None])
def test_what_is_no_score_in_the_range_is_a_failure(value: float) -> None:
    """A score is a finite number within `score_range`, which is 0 to 1 unless given; nothing is clamped."""

    @scorer(id="odd")
    def odd(run: AgentRun) -> float:
        return value

    failure = odd.run_sync(output="Sunny.")

    assert isinstance(failure, ScoreFailure)
    assert failure.error_type == "InvalidScore"


def test_a_failing_reason_keeps_the_score() -> None:
    """What was scored stands, and the outcome says why it has no reason."""
    unexplained = (
        create_scorer(id="unexplained", type="agent")
        .generate_score(lambda ctx: 0.5)
        .generate_reason(lambda ctx: ctx.run.metadata["nowhere"])
    )

    score = unexplained.run_sync(output="Sunny.")

    assert isinstance(score, Score)
    assert (score.score, score.reason) == (0.5, None)
    assert score.reason_error == "KeyError: 'nowhere' (tests/fundamentals/test_outcomes.py:58)"


def test_a_failure_never_passes_for_a_number() -> None:
    """Neither a failure nor "not scorable" is 0 or false: to treat it so is an error."""

    @scorer(id="broken")
    def broken(run: AgentRun) -> float:
        raise RuntimeError("no")

    failure = broken.run_sync(output="Sunny.")

    assert not failure.ok
    with pytest.raises(TypeError, match="is not a number"):
        float(failure)
    with pytest.raises(TypeError, match="has no truth value"):
        bool(failure)
