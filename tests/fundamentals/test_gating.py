"""Scorers can gate an agent's own loop: in process, with no store and no queue."""

from __future__ import annotations

from typing import Any

from tracescore import (
    Score,
    ScorerRun,
    create_rubric_scorer,
    is_task_complete_sync,
    run_until_complete_sync,
    scorer,
)
from tracescore.testing import FakeJudge


def test_a_rubric_is_a_checklist_that_a_judge_goes_through() -> None:
    """Each line is a criterion; the score is 1 if all required ones are met, and each is a sub-score."""
    judge = FakeJudge(
        lambda request: {
            "c1": {"reasoning": "Section 2 analyses the costs.", "satisfied": True},
            "c2": {"reasoning": "It recommends nothing.", "satisfied": False},
        }
    )
    rubric = create_rubric_scorer(model=judge, criteria="- Includes an analysis\n- Includes recommendations")

    score = rubric.run_sync(input="Research AI in education", output="1 Summary 2 Costs")

    assert isinstance(score, Score)
    assert score.score == 0.0
    assert {sub.name: sub.value for sub in score.sub_scores} == {
        "Includes an analysis": 1.0,
        "Includes recommendations": 0.0,
    }
    assert "Left to do:\n- Includes recommendations" in (score.reason or "")


def test_a_task_is_complete_when_every_scorer_gives_its_full_score() -> None:
    """The answer is true where it is, and says what is left to do where it is not."""

    @scorer(id="brief")
    def brief(run: Any) -> float:
        return 1.0 if len(run.output.text) < 20 else 0.0

    assert is_task_complete_sync(ScorerRun(output="300 m"), [brief])

    done = is_task_complete_sync(ScorerRun(output="The tower is 300 m high."), [brief])

    assert not done
    assert "brief: not passed" in done.feedback


def test_an_agent_goes_on_until_its_task_is_complete() -> None:
    """The reasons are handed back to the agent as its next message."""

    @scorer(id="polite")
    def polite(run: Any) -> float:
        return 1.0 if "please" in run.output.text else 0.0

    def agent(messages: list[Any]) -> str:
        told = messages[-1]["content"]
        return "Sit down, please." if "polite: not passed" in told else "Sit down."

    result = run_until_complete_sync(agent, "Ask them to sit down.", [polite], max_steps=3)

    assert result.complete
    assert result.text == "Sit down, please."
    assert [step.completion.complete for step in result.steps] == [False, True]
