"""What a command says on stderr as it starts, of what would else go wrong in silence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tracescore.settings import unknown_variables

if TYPE_CHECKING:
    from tracescore.app import TraceScore


def warn_of_unknown_variables() -> None:
    """Say which variables look like settings and are none: a misspelt one would be ignored."""
    from tracescore.cli.screen import note

    for said in unknown_variables(os.environ):
        note(f"tracescore: {said}")


def warn_of_no_rules(app: TraceScore) -> None:
    """Say that an app scores nothing by itself, where that is so."""
    from tracescore.cli.screen import note

    if not app.rule_set.rules:
        note(f"tracescore: {no_rules(app)}")


def no_rules(app: TraceScore) -> str:
    """Say of an app without rules what to do."""
    if not app.scorers:
        return "the app has no scorers, so nothing is scored; give TraceScore(scorers=[...])"
    return (
        "the app has no rules, so no run is scored by itself; give TraceScore(rules=[Rule(...)]), or leave rules= out "
        "for a rule on every scorer"
    )
