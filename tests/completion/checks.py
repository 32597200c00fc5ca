"""Scorers that say what a test tells them to."""

# pyright: reportUnknownLambdaType=false
# Scorers and agents are untyped here: they are given what a user may get wrong.
from __future__ import annotations

from typing import Any

from tracescore import AgentRun, Scorer, create_scorer

ANSWERED = AgentRun(run_id="run-1")


def giving(score: Any, *, id: str = "fixed", reason: str | None = None, **options: Any) -> Scorer[Any, Any, Any]:
    """Give a scorer of one value; one that raises it where it is an exception."""

    def step(ctx: Any) -> float:
        if isinstance(score, BaseException):
            raise score
        return score

    scored = create_scorer(id=id, version="1", **options).generate_score(step)
    return scored if reason is None else scored.generate_reason(lambda ctx: reason)


def wanting(word: str, *, id: str = "wants") -> Scorer[Any, Any, Any]:
    """Give a scorer that passes once the last text of the output holds a word."""
    return (
        create_scorer(id=id, type="agent", version="1")
        .generate_score(lambda ctx: 1.0 if word in ctx.run.output.text else 0.0)
        .generate_reason(lambda ctx: "it is there" if ctx.score else f"say {word!r}")
    )
