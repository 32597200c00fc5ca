"""The seam to where scores are written back: one method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracescore.errors import TracescoreError
from tracescore.model import ScoreSource, SubScore, Target


class SinkError(TracescoreError):
    """A sink did not take what it was given; it is given it again later."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One outcome as a sink sees it: read only the fields you need.

    ``score_key`` stays the same over revisions and repeats: a sink that can, upserts by it, since a delivery may come
    more than once. ``outcome`` is ``"score"``, ``"failure"`` or ``"not_scorable"``; only the first has a ``score``.
    """

    score_key: str
    score_id: str
    project: str
    run_id: str
    target: Target | None
    scorer_id: str
    scorer_version: str
    outcome: str
    score: float | None
    reason: str | None
    error_type: str | None = None
    sub_scores: tuple[SubScore, ...] = ()
    score_range: tuple[float, float] | None = None
    higher_is_better: bool = True
    source: ScoreSource = "live"
    probability: float = 1.0
    counted: bool = True
    """False for a number that tells nothing of the run, and belongs in no mean."""
    scored_ns: int = 0


class Sink(Protocol):
    """Where outcomes are written back."""

    @property
    def name(self) -> str:
        """Give the name under which this sink is owed outcomes; it stays the same over restarts."""
        ...

    async def submit(self, items: Sequence[Delivery]) -> None:
        """Write outcomes, all or as many as can be; giving them again must do no harm.

        Raises:
            SinkError: they were not taken; all are given again later.
        """
        ...
