"""The app that the pipeline's benchmark runs: a code scorer, or a judged one asking ``BENCH_MODEL_URL``."""

from __future__ import annotations

import os

from tracescore.app import TraceScore
from tracescore.judge import Judge
from tracescore.model import AgentRun
from tracescore.scorers import create_scorer, scorer


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return min(len(run.output.text) / 1000, 1.0)


judged = create_scorer(
    id="judged",
    type="agent",
    version="1",
    judge=Judge(
        model="openai/stand-in",
        base_url=os.environ.get("BENCH_MODEL_URL", "http://127.0.0.1:9/v1"),
        api_key="none",
        instructions="You are a strict judge of agents. Answer with a number from 0 to 1.",
    ),
).generate_score(
    description="How good is the answer?",
    create_prompt=lambda ctx: f"{ctx.fenced(ctx.run.input.input_messages)}\n{ctx.fenced(ctx.run.output)}",
)

code = TraceScore([length], rules=[], name="bench")
judging = TraceScore([judged], rules=[], name="bench")

ruled = TraceScore([length], name="bench")
