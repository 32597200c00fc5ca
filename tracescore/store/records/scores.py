"""Outcomes, and who is owed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracescore.model import ScoreSource, SubScore
from tracescore.store.records.jobs import OutcomeName


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRow:
    """A stored outcome. ``score`` is None and never NaN where there is none; ``evidence`` is only read by ``get``."""

    project: str
    score_id: str
    score_key: str
    job_id: str | None
    run_id: str
    trace_id: str | None
    span_id: str | None
    scorer_id: str
    scorer_version: str
    outcome: OutcomeName
    score: float | None
    reason: str | None
    reason_error: str | None
    error_type: str | None
    failed_step: str | None
    transient: bool
    score_range: tuple[float, float] | None
    higher_is_better: bool
    sub_scores: tuple[SubScore, ...]
    source: ScoreSource
    generation: int
    revision: int
    probability: float
    rule_set: str
    judged_hash: str
    current: bool
    created_ns: int
    counted: bool = True
    """False where the number tells nothing of the run: it stays out of production means."""
    evidence: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxItem:
    """A score that a sink is owed."""

    id: int
    sink: str
    score_id: str
    attempts: int
    payload: ScoreRow
