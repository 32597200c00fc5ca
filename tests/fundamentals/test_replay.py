"""A score can be rebuilt from its own evidence, and a judge that was asked once need not be asked again."""

from __future__ import annotations

from tracescore import Judge, Score, create_scorer
from tracescore.scorers.replaying import from_evidence
from tracescore.testing import FakeJudge, run


def test_a_score_is_rebuilt_from_the_raw_replies_in_its_evidence() -> None:
    judge = FakeJudge([{"score": 0.8}, "It answers the question."])
    helpful = (
        create_scorer(id="helpful", type="agent", judge=Judge(model=judge, instructions="You are strict."))
        .generate_score(description="Grade it", create_prompt=lambda ctx: f"Grade {ctx.run.output.text}")
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Why {ctx.score}?")
    )
    asked = run(input="Capital of France?", output="Paris.")
    score = helpful.run_sync(asked)
    again = from_evidence(helpful, score.evidence.judge_calls).run_sync(asked)

    assert isinstance(again, Score)
    assert (again.score, again.reason) == (0.8, "It answers the question.")
    assert len(judge.requests) == 2
