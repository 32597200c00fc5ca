"""A trajectory beside what was expected: what is there, what is missing, what is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from tracescore.arguments import an, check
from tracescore.model.expectation import ExpectedStep, TrajectoryExpectation
from tracescore.model.trajectory import TOOL_TYPES, Trajectory, TrajectoryStep

Measure: TypeAlias = Literal["steps", "tokens", "duration_ms"]
Steps: TypeAlias = Sequence[TrajectoryStep]


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What was allowed, and what was used: None where nothing measured it, which is not within any limit."""

    measure: Measure
    limit: float
    used: float | None

    @property
    def kept(self) -> bool:
        """Tell whether it was kept to."""
        return self.used is not None and self.used <= self.limit


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryFindings:
    """What a comparison found.

    ``matched`` pairs the place of each expected step with that of the step that was it. ``retries`` counts, by tool,
    calls right after a failed call of the same tool. ``inside`` holds the findings of the expected steps that say what
    should be done inside them, by their place; where such a step is missing, it is in ``missing`` alone.
    """

    matched: tuple[tuple[int, int], ...] = ()
    missing: tuple[ExpectedStep, ...] = ()
    extra: tuple[TrajectoryStep, ...] = ()
    repeated: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()
    redundant: tuple[TrajectoryStep, ...] = ()
    blacklisted: tuple[str, ...] = ()
    retries: dict[str, int] = field(default_factory=dict)
    inside: dict[int, TrajectoryFindings] = field(default_factory=dict)
    ok: bool = True
    """True where all that the expectation asks for was found, and nothing that it forbids."""


_ARGUMENTS = {
    "trajectory": an(Trajectory, "a Trajectory, such as a trajectory scorer's ctx.run.output"),
    "expectation": an(TrajectoryExpectation, "a TrajectoryExpectation; TrajectoryExpectation.read(...) makes one"),
}


def compare_trajectory(trajectory: Trajectory, expectation: TrajectoryExpectation) -> TrajectoryFindings:
    """Compare a trajectory with what was expected of it.

    Example:
        >>> done = Trajectory(steps=(TrajectoryStep(name="search"), TrajectoryStep(name="book")))
        >>> compare_trajectory(done, TrajectoryExpectation.read(["search", "pay"])).missing[0].name
        'pay'
    """
    check("compare_trajectory", _ARGUMENTS, {"trajectory": trajectory, "expectation": expectation})
    steps, expected = trajectory.steps, expectation.steps
    # Whether model calls are known depends on what recorded the run, so they count only where one is asked for.
    asks_for_models = expected is not None and any(step.type == "model_generation" for step in expected)
    counted = [step for step in steps if asks_for_models or step.type != "model_generation"]
    matched = () if expected is None else _matched(counted, expected, expectation.ordering)
    found = dict(matched)
    missing = tuple(step for place, step in enumerate(expected or ()) if place not in found)
    used = {place for _, place in matched}
    extra = () if expected is None else tuple(step for place, step in enumerate(counted) if place not in used)
    repeated = tuple(name for name, count in Counter(step.name for step in counted).items() if count > 1)
    calls = [step for step in steps if step.type in TOOL_TYPES]
    redundant = tuple(
        step
        for before, step in pairwise(calls)
        if (before.name, before.arguments) == (step.name, step.arguments) and before.success is not False
    )
    inside: dict[int, TrajectoryFindings] = {}
    for place, at in matched:
        children = expected[place].children if expected is not None else None
        if children is not None:
            done = counted[at]
            inside[place] = compare_trajectory(Trajectory(steps=done.children, duration_ms=done.duration_ms), children)
    budgets = _budgets(len(counted), trajectory, expectation)
    blacklisted = _blacklisted(trajectory, expectation)
    retries = _retries(calls)
    return TrajectoryFindings(
        matched=matched,
        missing=missing,
        extra=extra,
        repeated=repeated,
        budgets=budgets,
        redundant=redundant,
        blacklisted=blacklisted,
        retries=retries,
        inside=inside,
        ok=not missing
        and not (extra and expectation.ordering == "strict")
        and (expectation.allow_repeated_steps or not repeated)
        and all(budget.kept for budget in budgets)
        and not (expectation.no_redundant_calls and redundant)
        and not blacklisted
        and all(count <= expectation.max_retries_per_tool for count in retries.values())
        and all(findings.ok for findings in inside.values()),
    )


def _matched(steps: Steps, expected: Sequence[ExpectedStep], ordering: str) -> tuple[tuple[int, int], ...]:
    if ordering == "strict":
        pairs = enumerate(zip(expected, steps, strict=False))
        return tuple((place, place) for place, (wanted, step) in pairs if wanted.matches(step))
    return _in_order(steps, expected) if ordering == "relaxed" else _in_any_order(steps, expected)


def _in_order(steps: Steps, expected: Sequence[ExpectedStep]) -> tuple[tuple[int, int], ...]:
    """Find as many expected steps as there are in their order; a missing one hides none behind it."""
    rest = [[0] * (len(steps) + 1) for _ in range(len(expected) + 1)]
    matches = [[wanted.matches(step) for step in steps] for wanted in expected]
    for wanted in reversed(range(len(expected))):
        for at in reversed(range(len(steps))):
            rest[wanted][at] = max(
                rest[wanted + 1][at],
                rest[wanted][at + 1],
                rest[wanted + 1][at + 1] + 1 if matches[wanted][at] else 0,
            )
    pairs: list[tuple[int, int]] = []
    wanted = at = 0
    while wanted < len(expected) and at < len(steps):
        if matches[wanted][at] and rest[wanted][at] == rest[wanted + 1][at + 1] + 1:
            pairs.append((wanted, at))
            wanted, at = wanted + 1, at + 1
        elif rest[wanted][at] == rest[wanted][at + 1]:
            at += 1
        else:
            wanted += 1
    return tuple(pairs)


def _in_any_order(steps: Steps, expected: Sequence[ExpectedStep]) -> tuple[tuple[int, int], ...]:
    """Find a step for as many expected ones as can be: one that asks for more may need the step that another took."""
    taken: dict[int, int] = {}

    def find(wanted: int, tried: set[int]) -> bool:
        for at, step in enumerate(steps):
            if at in tried or not expected[wanted].matches(step):
                continue
            tried.add(at)
            if at not in taken or find(taken[at], tried):
                taken[at] = wanted
                return True
        return False

    for wanted in range(len(expected)):
        find(wanted, set())
    return tuple(sorted((wanted, at) for at, wanted in taken.items()))


def _budgets(steps: int, whole: Trajectory, expectation: TrajectoryExpectation) -> tuple[Budget, ...]:
    measured: tuple[tuple[Measure, float | None, float | None], ...] = (
        ("steps", expectation.max_steps, steps),
        ("tokens", expectation.max_total_tokens, whole.total_tokens),
        ("duration_ms", expectation.max_total_duration_ms, whole.duration_ms),
    )
    return tuple(Budget(measure=name, limit=limit, used=used) for name, limit, used in measured if limit is not None)


def _blacklisted(whole: Trajectory, expectation: TrajectoryExpectation) -> tuple[str, ...]:
    """Name the forbidden tools and sequences that were used, at any depth."""
    called = {step.name for step in whole.tool_calls}
    found = [tool for tool in expectation.blacklisted_tools if tool in called]
    if expectation.blacklisted_sequences:
        levels = [whole.steps, *(step.children for step in whole.walk() if step.children)]
        names = [[step.name for step in level if step.type != "model_generation"] for level in levels]
        for sequence in expectation.blacklisted_sequences:
            if any(_holds(level, sequence) for level in names):
                found.append(" > ".join(sequence))
    return tuple(found)


def _holds(names: Sequence[str], sequence: Sequence[str]) -> bool:
    length = len(sequence)
    return any(tuple(names[at : at + length]) == tuple(sequence) for at in range(len(names) - length + 1))


def _retries(calls: Steps) -> dict[str, int]:
    counts: dict[str, int] = {}
    for before, step in pairwise(calls):
        if before.name == step.name and before.success is False:
            counts[step.name] = counts.get(step.name, 0) + 1
    return counts
