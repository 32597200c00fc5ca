"""Two versions of one app and another app beside it, without rules: their jobs are put. Each score says whose it is."""

from __future__ import annotations

import time
from typing import Any

from tracescore.app import TraceScore
from tracescore.model import AgentRun
from tracescore.scorers import Scorer, scorer

SCORES = {("slow", "1"): 0.1, ("slow", "2"): 0.2, ("other", "1"): 0.3}


def _scorer(id: str, version: str, *, seconds: float) -> Scorer[Any, Any, Any]:
    value = SCORES[id, version]

    @scorer(id=id, version=version)
    def made(run: AgentRun) -> float:
        time.sleep(seconds)
        return value

    return made


old = TraceScore([_scorer("slow", "1", seconds=0.1)], rules=[])
new = TraceScore([_scorer("slow", "2", seconds=0.0)], rules=[])
other = TraceScore([_scorer("other", "1", seconds=0.0)], rules=[], name="other")
