"""Scorers whose versions are pinned: every Python that runs the tests must give the same."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, field_validator

import tests.scorers.versioned_parts
from tests.scorers import versioned_parts as parts
from tracescore import AgentRun, Judge, Scorer, ScoreValue, create_scorer, filter_run, not_scorable, scorer
from tracescore.testing import FakeJudge

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


class Item(BaseModel):
    name: Annotated[str, AfterValidator(keep)]
    weight: float = LIMIT / 2


class Items(BaseModel):
    items: list[Item] = Field(default_factory=list[Item], max_length=LIMIT)
    verdict: Literal["yes", "no"] | None = None


either: Any = dict[str, Any] | None
optional: Any = Optional[Items]  # noqa: UP045  # both forms are used
nested = create_scorer(id="nested", input_type=either, output_type=optional).generate_score(
    description="Weigh them",
    create_prompt=lambda ctx: "Weigh them.",
    output_schema=Items,
    calculate_score=lambda ctx: sum(item.weight for item in ctx.output.items),
    judge=Judge(model=FakeJudge(name="stand-in"), instructions="You weigh.", seed=7),
)


@parts.clamped(0.75)
def clamped(ctx: Any) -> float:
    match [word for word in ctx.run.output.text.split() if (found := word.strip()) and found in WORDS]:
        case [first, *_]:
            return parts.doubled(len(f"{first!r:>{LIMIT}}{{}}"))
        case _:
            return tests.scorers.versioned_parts.FACTOR


decorated = create_scorer(id="decorated", type="agent").generate_score(clamped)


class Counter:
    """Counts."""

    step = 2

    def __init__(self, start: int) -> None:
        self.start = start

    def __call__(self, ctx: Any) -> float:
        class Local:
            size = LIMIT

        return float(self.start + self.step + Local.size + super().__sizeof__() * 0)

    @functools.cached_property
    def kept(self) -> int:
        return tally("a", weights=Weights())["rain"] > 0


counted = create_scorer(id="counted", score_range=(0, 1000)).generate_score(Counter(3))


@functools.lru_cache
def cached(text: str) -> int:
    return len(text)


def weighed(ctx: Any, /, factor: float, *, bonus: float = 1e-3, kinds: tuple[type, ...] = (int, float)) -> float:
    global_sum = sum(cached(str(kind)) for kind in kinds)
    return factor * bonus * global_sum


partial = create_scorer(id="partial", score_range=None).generate_score(functools.partial(weighed, factor=0.1))
Steps: TypeAlias = list[Callable[[Any], float]]
lambdas: Steps = [(lambda ctx: 0.25), (lambda ctx: 0.5), (lambda ctx, *, n=LIMIT: (lambda: n)())]  # fmt: skip
first, second, third = (create_scorer(id="lambdas", score_range=None).generate_score(step) for step in lambdas)


def versions() -> dict[str, str]:
    """Give the version of each scorer here, by the name that it has here."""
    return {name: value.version for name, value in globals().items() if isinstance(value, Scorer)}
