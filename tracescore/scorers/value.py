"""What a score step may give: a number, or a number with more to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NoReturn, TypeAlias

from tracescore.errors import TracescoreError
from tracescore.model import SubScore


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreValue:
    """A score with named sub-scores, a reason, or both.

    Sub-scores are finite; they need not be in the scorer's range. A ``generate_reason`` step wins over ``reason``.
    ``counted=False`` says that the number tells nothing of the run, as where there was nothing to hold it to: it stays
    out of production means.

    Example:
        >>> ScoreValue(score=0.5, sub_scores={"tone": 1.0, "facts": 0.0}, reason="One fact is wrong.").score
        0.5
    """

    score: float
    sub_scores: Mapping[str, float] | Sequence[SubScore] = field(default_factory=dict)
    reason: str | None = None
    counted: bool = True


ScoreLike: TypeAlias = float | ScoreValue


class InvalidScore(TracescoreError):
    """A score step gave what is no score: not a number, not finite, or outside the scorer's range."""


class NotScorableSignal(BaseException):
    """Carry ``not_scorable`` out of a step; no ``except Exception`` of a step's own catches it by mistake."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def not_scorable(reason: str) -> NoReturn:
    """End the run here: there is nothing to score, and ``reason`` says why.

    It raises, so that a forgotten ``return`` does no harm. In ``generate_reason`` it only drops the reason.
    """
    raise NotScorableSignal(reason)


def checked_score(value: Any, score_range: tuple[float, float] | None) -> float:
    """Give a step's value as a score.

    Raises:
        InvalidScore: what is no finite number, or lies outside the range; nothing is ever clamped.
    """
    if isinstance(value, bool) or not isinstance(value, (float, Real)):
        raise InvalidScore(f"a score is a number, not {type(value).__name__}: {value!r:.200}")
    score = float(value)
    if not math.isfinite(score):
        raise InvalidScore(f"a score is finite, not {score!r}")
    if score_range is not None and not score_range[0] <= score <= score_range[1]:
        raise InvalidScore(f"the score {score!r} is outside the range {score_range[0]:g} to {score_range[1]:g}")
    return score


def checked_sub_scores(given: Mapping[str, float] | Sequence[SubScore]) -> tuple[SubScore, ...]:
    """Give sub-scores in one form.

    Raises:
        InvalidScore: a value that is no finite number, an empty name, or a name used twice.
    """
    if isinstance(given, Mapping):
        sub_scores = [SubScore(name=name, value=value) for name, value in given.items()]
    else:
        sub_scores = list(given)
    checked: dict[str, SubScore] = {}
    for sub_score in sub_scores:
        if not sub_score.name or sub_score.name in checked:
            raise InvalidScore(f"sub-scores need names of their own, not {sub_score.name!r}")
        try:
            value = checked_score(sub_score.value, None)
        except InvalidScore as error:
            raise InvalidScore(f"sub-score {sub_score.name!r}: {error}") from error
        checked[sub_score.name] = SubScore(name=sub_score.name, value=value, reason=sub_score.reason)
    return tuple(checked.values())
