"""Scorers to begin with, for tests of what becomes of them."""

from __future__ import annotations

from typing import Any

from tracescore import AgentRun, Judge, Target, create_scorer
from tracescore.testing import FakeJudge

RUN = AgentRun(run_id="run-1", target=Target(trace_id="a" * 32, span_id="b" * 16))
JUDGE = Judge(model=FakeJudge(lambda request: {"score": 0.5}), instructions="You grade.")


def agent(**options: Any) -> Any:
    """Begin a scorer; untyped, since the steps in these tests are wrong on purpose."""
    return create_scorer(id="x", type="agent", version="7", **options)
