"""Outcomes as they are shown: a number with its reason, a failure, or nothing to score."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tracescore.cli.screen import one_line
from tracescore.model import NotScorable, Score, ScoreFailure, ScoreOutcome

if TYPE_CHECKING:
    from rich.text import Text

    from tracescore.store import ScoreRow

OutcomeKind = Literal["score", "failure", "not_scorable"]

GOOD, FAIR = 0.8, 0.5
"""From which share of its range a score is shown green, and yellow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownOutcome:
    """One outcome, wherever it comes from. ``reason`` is a failure's message where it is one."""

    scorer_id: str
    outcome: OutcomeKind
    score: float | None = None
    reason: str = ""
    score_range: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    counted: bool = True

    @property
    def figure(self) -> str:
        """Give the outcome in a few characters."""
        if self.outcome == "failure":
            return "failed"
        if self.outcome == "not_scorable" or self.score is None:
            return "–"
        return f"{self.score:.2f}" if self.score_range else f"{self.score:g}"

    @property
    def style(self) -> str:
        """Give the colour that says how good it is; a free scale has none."""
        if self.outcome == "failure":
            return "bold red"
        if self.outcome == "not_scorable" or self.score is None:
            return "dim"
        if self.score_range is None:
            return "bold"
        low, high = self.score_range
        share = (self.score - low) / (high - low) if high > low else 1.0
        share = share if self.higher_is_better else 1.0 - share
        return "green" if share >= GOOD else "yellow" if share >= FAIR else "red"

    @property
    def words(self) -> str:
        """Say why, on one line."""
        said = one_line(self.reason, limit=400)
        return f"not scorable: {said}" if self.outcome == "not_scorable" else said

    def text(self) -> Text:
        """Give the figure in its colour."""
        from rich.text import Text

        return Text(self.figure, style=self.style)


def shown(outcome: ScoreOutcome) -> ShownOutcome:
    """Show what a scorer gave in this process."""
    match outcome:
        case Score():
            reason = outcome.reason or (f"(no reason: {outcome.reason_error})" if outcome.reason_error else "")
            return ShownOutcome(
                scorer_id=outcome.scorer_id,
                outcome="score",
                score=outcome.score,
                reason=reason,
                score_range=outcome.score_range,
                higher_is_better=outcome.higher_is_better,
                counted=outcome.counted,
            )
        case ScoreFailure():
            step = f" in {outcome.failed_step}" if outcome.failed_step else ""
            reason = f"{outcome.error_type}{step}: {outcome.message}"
            return ShownOutcome(scorer_id=outcome.scorer_id, outcome="failure", reason=reason)
        case NotScorable():
            return ShownOutcome(scorer_id=outcome.scorer_id, outcome="not_scorable", reason=outcome.reason)


def shown_row(row: ScoreRow) -> ShownOutcome:
    """Show a stored outcome."""
    reason = row.reason or ""
    if row.outcome == "failure":
        step = f" in {row.failed_step}" if row.failed_step else ""
        reason = f"{row.error_type or 'error'}{step}: {reason}"
    elif row.outcome == "score" and not reason and row.reason_error:
        reason = f"(no reason: {row.reason_error})"
    return ShownOutcome(
        scorer_id=row.scorer_id,
        outcome=row.outcome,
        score=row.score,
        reason=reason,
        score_range=row.score_range,
        higher_is_better=row.higher_is_better,
        counted=row.counted,
    )


def outcome_to_json(outcome: ScoreOutcome) -> dict[str, Any]:
    """Give an outcome as JSON, its fields named as in the API.

    What it has not is null, so that all three have one shape; ``reason`` is a failure's message where it is one.
    """
    target = outcome.target
    score = outcome if isinstance(outcome, Score) else None
    failure = outcome if isinstance(outcome, ScoreFailure) else None
    return {
        "run_id": outcome.run_id,
        "trace_id": target.trace_id if target else None,
        "span_id": target.span_id if target else None,
        "scorer_id": outcome.scorer_id,
        "scorer_version": outcome.scorer_version,
        "outcome": outcome.outcome,
        "score": score.score if score is not None else None,
        "reason": outcome.message if isinstance(outcome, ScoreFailure) else outcome.reason,
        "reason_error": score.reason_error if score is not None else None,
        "error_type": failure.error_type if failure is not None else None,
        "failed_step": failure.failed_step if failure is not None else None,
        "transient": failure.transient if failure is not None else False,
        "score_range": score.score_range if score is not None else None,
        "higher_is_better": score.higher_is_better if score is not None else None,
        "counted": score.counted if score is not None else None,
        "sub_scores": [asdict(sub_score) for sub_score in score.sub_scores] if score is not None else [],
        "duration_ms": outcome.evidence.duration_ms,
        "judge_calls": len(outcome.evidence.judge_calls),
    }
