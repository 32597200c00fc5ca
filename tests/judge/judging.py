"""A scorer with one prompt, at a stand-in server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracescore import Judge, JudgeCall, ScoreOutcome, create_scorer
from tracescore.testing import ModelServer

Serve = Callable[..., ModelServer]


def judge_at(server: ModelServer, **options: Any) -> Judge:
    given: dict[str, Any] = {
        "model": "openai/gpt-5-mini",
        "base_url": server.base_url,
        "api_key": "sk-test",
        "instructions": "You grade.",
    }
    return Judge(**{**given, **options})


def scored(judge: Judge, prompt: str = "Grade.") -> ScoreOutcome:
    """Score once with a plain score prompt."""
    return (
        create_scorer(id="judged", type="agent", judge=judge)
        .generate_score(description="d", create_prompt=lambda ctx: prompt)
        .run_sync(output="Sunny.")
    )


def call_of(outcome: ScoreOutcome) -> JudgeCall:
    """Give the evidence of the one call."""
    [call] = outcome.evidence.judge_calls
    return call
