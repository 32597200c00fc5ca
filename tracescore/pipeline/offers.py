"""What the pipeline needs to know of an app, and what its scorers come to as offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tracescore.pipeline.rules import RuleSet
from tracescore.scorers import Scorer
from tracescore.scorers.described import describe_scorer, dump_facts
from tracescore.store import DescribedVersion, Offered, OfferRecord


class ScoringApp(Protocol):
    """Scorers and the rules that choose runs for them: what a ``TraceScore`` is to the pipeline."""

    @property
    def name(self) -> str:
        """Give the app's name: its cursor and its rules are kept under it."""
        ...

    @property
    def scorers(self) -> Mapping[str, Scorer[Any, Any, Any]]:
        """Give the scorers by id."""
        ...

    @property
    def rule_set(self) -> RuleSet:
        """Give the rules."""
        ...


def offered(scorers: Sequence[Scorer[Any, Any, Any]], *, projects: Sequence[str]) -> list[Offered]:
    """Give what can be claimed for scorers in projects."""
    return [
        Offered(project=project, scorer_id=scorer.id, scorer_version=scorer.version)
        for project in projects
        for scorer in scorers
    ]


def offer_records(app: ScoringApp) -> list[OfferRecord]:
    """Give what a worker tells others of its app's scorers."""
    return [
        OfferRecord(
            scorer_id=scorer.id,
            version=scorer.version,
            score_range=scorer.score_range,
            higher_is_better=scorer.higher_is_better,
            needs_judge=scorer.needs_judge,
            reads=scorer.reads,
            description=scorer.description,
        )
        for scorer in app.scorers.values()
    ]


def described_versions(app: ScoringApp) -> list[DescribedVersion]:
    """Give what the versions of an app's scorers are made of."""
    return [
        DescribedVersion(scorer_id=scorer.id, version=scorer.version, body=dump_facts(describe_scorer(scorer)))
        for scorer in app.scorers.values()
    ]
