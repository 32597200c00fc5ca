"""Outcomes made fit for the store: reasons, error texts and evidence may quote what a span never held."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from tracescore.model import Evidence, NotScorable, Score, ScoreFailure, ScoreOutcome
from tracescore.redaction.markers import Hashed
from tracescore.redaction.policy import Redaction

_IDS = {"judged_hash", "redaction", "request_id", "model_asked", "model_answered"}
"""Fields that nobody's text is in, and that must stay what they are."""


def redacted_outcome(redaction: Redaction, outcome: ScoreOutcome) -> ScoreOutcome:
    """Give an outcome with its texts redacted as at the store's door; its evidence names the policy.

    Raises:
        RedactionError: a rule raised; the outcome must not be stored.
    """
    if redaction.store_door.passes(outcome):  # nearly all do: a look at each of its texts would cost ten times that
        return replace(outcome, evidence=replace(outcome.evidence, redaction=redaction.version))
    salt = outcome.target.trace_id if outcome.target is not None else outcome.run_id
    door = redaction.store_redactor(salt)
    evidence = _evidence(outcome.evidence, door, redaction.version)
    match outcome:
        case Score():
            return replace(
                outcome,
                reason=_maybe(outcome.reason, door),
                reason_error=_maybe(outcome.reason_error, door),
                sub_scores=tuple(
                    sub if sub.reason is None else replace(sub, reason=door.redact(sub.reason))
                    for sub in outcome.sub_scores
                ),
                evidence=evidence,
            )
        case ScoreFailure():
            return replace(outcome, message=door.redact(outcome.message), evidence=evidence)
        case NotScorable():
            return replace(outcome, reason=door.redact(outcome.reason), evidence=evidence)


def _evidence(evidence: Evidence, door: Hashed, version: str) -> Evidence:
    return replace(_redacted(evidence, door), redaction=version)


def _redacted(value: Any, door: Hashed) -> Any:
    """Give records, and records of records, with their texts redacted; the same object where nothing was found."""
    if is_dataclass(value) and not isinstance(value, type):
        before = {field.name: getattr(value, field.name) for field in fields(value) if field.name not in _IDS}
        after = {name: _redacted(item, door) for name, item in before.items()}
        changed = {name: item for name, item in after.items() if item is not before[name]}
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        items = tuple(_redacted(item, door) for item in value)
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    return door.redact_json(value)


def _maybe(text: str | None, door: Hashed) -> str | None:
    return None if text is None else door.redact(text)
