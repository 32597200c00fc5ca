"""What an outcome amounts to in rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tracescore.model import Score, ScoreFailure, ScoreOutcome, SubScore
from tracescore.model.ids import score_key
from tracescore.store.encoding import dump_json, maybe_id_bytes, maybe_storable, storable
from tracescore.store.records import OutcomeName

_Pair = tuple[str, bytes, str]

MAX_ERROR = 2000


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job whose lease the finishing worker still holds, with its run's target."""

    job_id: bytes
    token: int
    project: str
    run_id: bytes
    revision: int
    scorer_id: str
    scorer_version: str
    generation: int
    probability: float
    rule_set: str
    source: str
    trace_id: bytes | None
    span_id: bytes | None
    withdrawn: int | None
    """0 or 1 as the database gives it; None where the run is not there."""
    standing_revision: int | None

    @property
    def pair(self) -> _Pair:
        """Give what has one current outcome at most."""
        return self.project, self.run_id, self.scorer_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """An outcome as its columns hold it."""

    outcome: OutcomeName
    score: float | None = None
    reason: str | None = None
    reason_error: str | None = None
    error_type: str | None = None
    failed_step: str | None = None
    transient: bool = False
    range_low: float | None = None
    range_high: float | None = None
    higher_is_better: bool = True
    counted: bool = True
    sub_scores: tuple[SubScore, ...] = ()
    trace_id: bytes | None
    span_id: bytes | None
    judged_hash: str
    cost: float | None
    duration_ms: float
    evidence: bytes

    @property
    def error(self) -> str | None:
        """Give what the job keeps of a failure."""
        if self.outcome != "failure":
            return None
        return f"{self.error_type}: {self.reason}"[:MAX_ERROR]


def judged(outcome: ScoreOutcome) -> Judged:
    """Give an outcome's columns; done before the transaction, since evidence may be large."""
    evidence = outcome.evidence
    costs = [call.cost for call in evidence.judge_calls if call.cost is not None and not call.reused]
    target = outcome.target
    common: dict[str, Any] = {
        "outcome": outcome.outcome,
        "trace_id": maybe_id_bytes(target.trace_id) if target else None,
        "span_id": maybe_id_bytes(target.span_id) if target else None,
        "judged_hash": evidence.judged_hash,
        "cost": sum(costs) if costs else None,
        "duration_ms": evidence.duration_ms,
        "evidence": dump_json(evidence),
    }
    if isinstance(outcome, Score):
        for sub in outcome.sub_scores:
            if not math.isfinite(sub.value):  # SQLite would make NULL of it
                raise ValueError(f"sub-score {sub.name!r} of scorer {outcome.scorer_id!r} is not finite: {sub.value!r}")
        low, high = outcome.score_range or (None, None)
        return Judged(
            score=outcome.score,
            reason=maybe_storable(outcome.reason),
            reason_error=maybe_storable(outcome.reason_error),
            range_low=low,
            range_high=high,
            higher_is_better=outcome.higher_is_better,
            counted=outcome.counted,
            sub_scores=outcome.sub_scores,
            **common,
        )
    if isinstance(outcome, ScoreFailure):
        return Judged(
            reason=storable(outcome.message),
            error_type=storable(outcome.error_type),
            failed_step=outcome.failed_step,
            transient=outcome.transient,
            **common,
        )
    return Judged(reason=storable(outcome.reason), failed_step=outcome.step, **common)


def score_rows(held: HeldJob, outcome: Judged, score_id: bytes, now_ns: int, current: bool) -> list[tuple[Any, ...]]:
    """Give the row of an outcome, then those of its sub-scores, in the order of their table."""
    run_id = held.run_id.hex()
    trace_id, span_id = outcome.trace_id, outcome.span_id
    if trace_id is None:
        trace_id, span_id = held.trace_id, held.span_id

    def row(
        row_id: bytes, parent_id: bytes | None, name: str, score: float | None, reason: str | None
    ) -> tuple[Any, ...]:
        main = parent_id is None
        return (
            held.project,
            row_id,
            parent_id,
            name,
            bytes.fromhex(score_key(run_id=run_id, scorer_id=held.scorer_id, name=name)),
            held.job_id,
            held.run_id,
            held.revision,
            held.revision,
            trace_id,
            span_id,
            held.scorer_id,
            held.scorer_version,
            held.generation,
            outcome.outcome,
            score,
            reason,
            outcome.reason_error if main else None,
            outcome.error_type,
            outcome.failed_step,
            outcome.transient,
            outcome.range_low,
            outcome.range_high,
            outcome.higher_is_better,
            outcome.counted,
            held.probability,
            held.rule_set,
            held.source,
            outcome.judged_hash,
            outcome.cost if main else None,
            outcome.duration_ms if main else None,
            int(current),
            now_ns,
        )

    rows = [row(score_id, None, "", outcome.score, outcome.reason)]
    for place, sub in enumerate(outcome.sub_scores, 1):
        # The ids behind the main row's: they keep the order in which the scorer gave its sub-scores.
        row_id = ((int.from_bytes(score_id, "big") + place) % 2**128).to_bytes(16, "big")
        rows.append(row(row_id, score_id, storable(sub.name), sub.value, maybe_storable(sub.reason)))
    return rows
