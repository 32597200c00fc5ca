"""An app with a code scorer that takes its time, for worker processes that are killed at it."""

from __future__ import annotations

import time

from tracescore.app import TraceScore
from tracescore.model import AgentRun
from tracescore.scorers import scorer


@scorer(id="slow", version="1")
def slow(run: AgentRun) -> float:
    time.sleep(0.05)
    return min(len(run.output.text) / 100, 1.0)


app = TraceScore([slow])
