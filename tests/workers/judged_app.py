"""Apps with judged and code scorers, for worker processes; the judge is where ``TEST_MODEL_URL`` says."""

from __future__ import annotations

import os

from tracescore.app import TraceScore
from tracescore.judge import Judge
from tracescore.model import AgentRun
from tracescore.pipeline.rules import Rule
from tracescore.scorers import create_scorer, scorer

judge = Judge(
    model="openai/stand-in",
    base_url=os.environ.get("TEST_MODEL_URL", "http://127.0.0.1:9/v1"),
    api_key="none",
    instructions="You are strict.",
)
judged = create_scorer(id="judged", type="agent", version="1", judge=judge).generate_score(
    description="judge it", create_prompt=lambda ctx: f"Judge {ctx.run.run_id}: {ctx.run.output.text}"
)
polite = create_scorer(id="polite", type="agent", version="1", judge=judge).generate_score(
    description="is it polite?", create_prompt=lambda ctx: f"Polite, {ctx.run.run_id}: {ctx.run.output.text}"
)


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return min(len(run.output.text) / 100, 1.0)


app = TraceScore([judged, length])
judged_only = TraceScore([judged])
code_only = TraceScore([length])
three = TraceScore(
    [judged, polite, length], rules=[Rule(judged, sample_rate=1.0), Rule(polite, sample_rate=1.0), Rule(length)]
)
