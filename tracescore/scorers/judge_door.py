"""The judge's door where a scorer runs without a worker."""

from __future__ import annotations

import os
from typing import Any

from tracescore.judge import UNSET, Given
from tracescore.model import ScorerRun
from tracescore.redaction import Redaction, TextRedactor, policy_of


def judge_door(redaction: Given[Redaction | None], run: ScorerRun[Any, Any]) -> TextRedactor | None:
    """Give what the texts of a run go through before a judge sees them.

    Where no policy is given it is the one that holds for workers, so that a judge is told in a notebook, or in an
    agent's own loop, what it would be told in production.

    Raises:
        ConfigurationError: ``TRACESCORE_REDACTION`` names no policy.
    """
    policy = policy_of(os.environ) if redaction is UNSET else redaction
    return None if policy is None else policy.judge_redactor(run)
