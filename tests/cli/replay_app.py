"""An app with a judge that needs no network, for the command ``replay``."""

from __future__ import annotations

from tracescore.app import TraceScore
from tracescore.judge import Judge
from tracescore.scorers import create_scorer
from tracescore.testing import FakeJudge

judge = FakeJudge(lambda request: "Short enough." if request.schema is None else {"score": 0.5})

judged = (
    create_scorer(id="judged", type="agent", judge=Judge(model=judge, instructions="You are strict."))
    .generate_score(description="Judge it", create_prompt=lambda ctx: f"Judge:\n{ctx.fenced(ctx.run.output.text)}")
    .generate_reason(description="Say why", create_prompt=lambda ctx: f"Why {ctx.score}?")
)
lax = (
    create_scorer(id="judged", type="agent", judge=Judge(model=judge, instructions="You are lax."))
    .generate_score(lambda ctx: 1.0)
    .generate_reason(lambda ctx: "It is fine.")
)

app = TraceScore([judged])
changed = TraceScore([lax])
APP = "tests.cli.replay_app:app"
CHANGED = "tests.cli.replay_app:changed"
