from __future__ import annotations

import math

import pytest

from tracescore.model import NotScorable, Score, ScoreFailure, ScoreOutcome
from tracescore.model.ids import job_id, run_id, score_key

FAILURE = ScoreFailure(
    run_id="r", scorer_id="s", scorer_version="1", failed_step="analyze", error_type="ValueError", message="no"
)
NOTHING = NotScorable(run_id="r", scorer_id="s", scorer_version="1", reason="empty")


@pytest.mark.parametrize("outcome", [FAILURE, NOTHING])
@pytest.mark.parametrize("convert", [bool, float])
def test_what_is_no_score_refuses_to_be_a_number(outcome: ScoreOutcome, convert: type) -> None:
    with pytest.raises(TypeError, match=type(outcome).__name__):
        convert(outcome)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="scorer 's' is not finite"):
        Score(run_id="r", scorer_id="s", scorer_version="1", score=value)


def test_ids_are_the_same_on_every_machine() -> None:
    # The literals pin the derivation: another value would orphan every stored score.
    run = run_id(kind="agent", trace_id="a" * 32, span_id="b" * 16)

    assert run == "77766994eb0a55c981039ea872b8d396"
    assert (
        job_id(run_id=run, planned_hash="p", scorer_id="s", scorer_version="1-x") == "b83e7e775ca352b0977457d4817d3716"
    )
    assert score_key(run_id=run, scorer_id="s") == "50f16d25a30a585f8c566bd9d09cfa56"
