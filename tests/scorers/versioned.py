"""Scorers whose versions are pinned: every Python that runs the tests must give the same."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pydantic import BaseModel, field_validator

from tracescore import AgentRun, Judge, ScoreValue, create_scorer, filter_run, not_scorable, scorer

LIMIT = 280
WORDS = frozenset({"sunny", "rain"})
PATTERN = re.compile(r"\d+")


class Verdict(Enum):
    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class Weights:
    tone: float = 0.5
    words: tuple[str, ...] = ("a", "b")
    extra: dict[str, float] = field(default_factory=dict)


class Claims(BaseModel):
    claims: list[str]
    verdict: Verdict = Verdict.NO

    @field_validator("claims")
    @classmethod
    def not_blank(cls, claims: list[str]) -> list[str]:
        return [claim for claim in claims if keep(claim)]


def keep(claim: str) -> bool:
    return bool(claim.strip())


def tally(text: str, *, weights: Weights = Weights(tone=0.25)) -> dict[str, float]:
    def counted(word: str) -> float:
        return weights.tone * text.count(word)

    return {word: counted(word) for word in sorted(WORDS)}


@scorer(id="brevity")
def brevity(run: AgentRun) -> float:
    """Is it short?"""
    # Comments do not count.
    return 1.0 if len(run.output.text) < LIMIT else 0.5


numbers = create_scorer(id="numbers", type="agent").generate_score(
    lambda ctx: 1.0 if PATTERN.search(f"{ctx.run.output.text!s:>{LIMIT}} # no comment") else 0.0
)

four = (
    create_scorer(
        id="four",
        type="agent",
        prepare_run=filter_run(part_types=["text"], max_remembered_messages=10),
        reads=["usage"],
    )
    .preprocess(lambda ctx: [json.loads(call.name) for call in ctx.run.output.tool_calls if call.name])
    .analyze(lambda ctx: tally(ctx.run.output.text))
    .generate_score(
        lambda ctx: (
            ScoreValue(score=0.5, sub_scores=ctx.results.analyze_step_result)
            if ctx.results.preprocess_step_result
            else not_scorable("no calls")
        )
    )
    .generate_reason(lambda ctx: f"It is {ctx.score:.2f}.")
)

judged = create_scorer(
    id="judged",
    type="agent",
    score_range=(0, 10),
    judge=Judge(model="openai/gpt-5-mini", instructions="You check facts.", temperature=0, api_key="secret"),
).generate_score(
    description="List the claims",
    create_prompt=lambda ctx: f"List the claims of:\n{ctx.fenced(ctx.run.output.text)}",
    output_schema=Claims,
    calculate_score=lambda ctx: 10.0 if ctx.output.verdict is Verdict.YES else 0.0,
)


async def later(ctx: Any) -> float:
    total = 0.0
    async for number in numbered(ctx):
        total += number
    return total


async def numbered(ctx: Any) -> AsyncIterator[int]:
    for number in (1, 2):
        yield number


waiting = create_scorer(id="waiting", score_range=None, output_type=dict[str, list[int]]).generate_score(later)

EXPECTED = {
    "brevity": "1-f3d0b0e0a3e0a64e",
    "numbers": "1-bca76c54c009b41c",
    "four": "1-eb50a8c27f5b73d5",
    "judged": "1-a47f9d6e1608fcc3",
    "waiting": "1-0ab8bc71b300e806",
}
