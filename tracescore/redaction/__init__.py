"""Redaction: one versioned policy with three doors, the store, the judge and the sink."""

from tracescore.redaction.loading import load_redaction, policy_of
from tracescore.redaction.markers import RedactionError, TextRedactor
from tracescore.redaction.outcomes import redacted_outcome
from tracescore.redaction.policy import DEFAULT_RULES, Redaction
from tracescore.redaction.rules import Door, RedactionRule
from tracescore.redaction.store_door import StoreDoor

__all__ = [
    "DEFAULT_RULES",
    "Door",
    "Redaction",
    "RedactionError",
    "RedactionRule",
    "StoreDoor",
    "TextRedactor",
    "load_redaction",
    "policy_of",
    "redacted_outcome",
]
