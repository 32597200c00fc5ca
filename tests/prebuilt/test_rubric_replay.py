"""A rubric's score is rebuilt from what its judge replied, call by call, and nothing is asked again."""

from __future__ import annotations

from typing import Any

from tracescore import AgentRun, Score, create_rubric_scorer, text_message
from tracescore.model import AgentOutput
from tracescore.scorers.replaying import from_evidence
from tracescore.testing import FakeJudge

RUN = AgentRun(run_id="run-1", output=AgentOutput([text_message("assistant", "Done.")]))


def test_a_verdict_that_was_asked_for_once_more_is_replayed() -> None:
    def answer(request: Any) -> dict[str, Any]:
        asked = ["c1"] if len(judge.requests) == 1 else list(request.schema["properties"])
        return {id: {"reasoning": f"Call {len(judge.requests)}.", "satisfied": True} for id in asked}

    judge = FakeJudge(answer)
    rubric = create_rubric_scorer(model=judge, criteria="- A\n- B")
    first = rubric.run_sync(RUN)
    assert isinstance(first, Score)
    again = from_evidence(rubric, first.evidence.judge_calls).run_sync(RUN)

    assert isinstance(again, Score)
    assert (len(judge.requests), len(first.evidence.judge_calls)) == (2, 2)
    assert (again.score, again.reason, again.sub_scores) == (first.score, first.reason, first.sub_scores)
    assert again.scorer_version == first.scorer_version
