"""Runs that came before an app's rules were first seen: none of the rules scores them, a backfill does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.rules import rule_hash
from tracescore.store import BackfillSpec, Store

MOST = 10_000
"""Runs are counted no further: it is a hint, and a store may hold millions."""
_LATEST = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """How many runs a rule's scorer never got to see."""

    scorer_id: str
    runs: int


async def missed_runs(store: Store, project: str, *, app: ScoringApp | None = None) -> list[Missed]:
    """Count by scorer the runs that came too early for a rule: the app's, or those that the store last saw.

    Of conditions on tags, models, tools, names and attributes nothing is looked at: it may be fewer.
    """
    found: dict[str, int] = {}
    for name, specs in (await _rules(store, project, app)).items():
        seen = await store.control.first_seen(project, name, [rule_hash(spec) for spec in specs])
        for spec in specs:
            runs = await store.backfills.missed(
                project,
                spec["scorer"],
                BackfillSpec(kind=spec["kind"], where=spec["where"]),
                before_ns=seen.get(rule_hash(spec), _LATEST),
                most=MOST,
            )
            found[spec["scorer"]] = max(runs, found.get(spec["scorer"], 0))
    return [Missed(scorer_id=scorer_id, runs=runs) for scorer_id, runs in found.items() if runs]


async def _rules(store: Store, project: str, app: ScoringApp | None) -> Mapping[str, list[dict[str, Any]]]:
    if app is not None:
        return {app.name: app.rule_set.spec()}
    return {name: orjson.loads(spec) for name, spec in (await store.control.kept_rules(project)).items()}
