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
class JudgedScore:
    """A stored outcome with what it was made of: its evidence, and its run as far as it is still there."""

    score: ScoreRow
    intact: bool
    """Whether the evidence is byte by byte what was written; where it is no longer JSON it reads as empty."""
    run_body: bytes | None
    """The run that was queued for its job, else the run in its newest revision; None where it is gone."""
    run_revision: int | None
    """The newest revision of the run."""
    as_planned: bool
    """The run is as it was prepared for planning; else nothing has prepared it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxItem:
    """A score that a sink is owed."""

    id: int
    sink: str
    score_id: str
    attempts: int
    payload: ScoreRow


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingEvaluation:
    """An evaluation result of somebody else's that is not joined with its run yet; ``body`` is its JSON."""

    project: str
    evaluation_id: str
    trace_id: str | None
    span_id: str | None
    response_id: str | None
    arrived_ns: int
    attempts: int
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ExternalScore:
    """Such a result as a score of the run that holds its span."""

    evaluation_id: str
    run_id: str
    trace_id: str
    span_id: str
    scorer_id: str
    outcome: OutcomeName
    score: float | None
    reason: str | None
    error_type: str | None
    created_ns: int
    body: bytes
