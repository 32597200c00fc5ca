"""Jobs as they are planned, whoever plans them: prepared, hashed, named."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from tracescore.model import ScorerRun, ScoreSource
from tracescore.model.ids import job_id
from tracescore.pipeline.leases import NS
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.preparing import NothingToScore, PrepareFailed, RunPreparation
from tracescore.scorers import Scorer
from tracescore.store import DecisionCount, NewJob, Queue

logger = logging.getLogger(__name__)

HOUR_NS = 3600 * NS

Refusal: TypeAlias = Literal["not_scorable", "prepare_failed"]


class Planner:
    """Make the jobs of one chunk of runs, and count what was decided on the way. For one thread."""

    def __init__(self, app: ScoringApp, *, now_ns: int) -> None:
        self._app = app
        self._now_ns = now_ns
        self._preparation: RunPreparation | None = None
        self._of: ScorerRun[Any, Any] | None = None
        self._decided: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def count(self, scorer_id: str, outcome: str, *, example: str | None = None) -> None:
        """Count a decision; the newest example is kept."""
        self._decided[scorer_id, outcome] += 1
        if example is not None:
            self._examples[scorer_id, outcome] = example

    def counts(self) -> Sequence[DecisionCount]:
        """Give what was counted."""
        return [
            DecisionCount(
                rule_set=self._app.rule_set.hash,
                scorer_id=scorer_id,
                hour=self._now_ns // HOUR_NS,
                outcome=outcome,
                count=count,
                example=self._examples.get((scorer_id, outcome)),
            )
            for (scorer_id, outcome), count in self._decided.items()
        ]

    def job(
        self,
        run: ScorerRun[Any, Any],
        scorer: Scorer[Any, Any, Any],
        *,
        revision: int,
        probability: float,
        rule_set: str = "",
        source: ScoreSource,
        queue: Queue,
        generation: int = 0,
        batch_id: str | None = None,
    ) -> NewJob | Refusal:
        """Make the job of a run and a scorer; where preparing the run left nothing to queue, count and say why."""
        if self._of is not run or self._preparation is None:
            self._of, self._preparation = run, RunPreparation(run)
        try:
            planned = self._preparation.planned(self._app.rule_set.stages(scorer.id), reads=scorer.reads)
        except NothingToScore as refusal:
            self.count(scorer.id, "not_scorable", example=f"run {run.run_id}: {refusal}")
            return "not_scorable"
        except PrepareFailed as error:
            logger.warning("run %s is not planned for scorer %s: prepare_run: %s", run.run_id, scorer.id, error)
            self.count(scorer.id, "prepare_failed", example=f"run {run.run_id}: {error}")
            return "prepare_failed"
        return NewJob(
            job_id=job_id(
                run_id=run.run_id,
                planned_hash=planned.planned_hash,
                scorer_id=scorer.id,
                scorer_version=scorer.version,
                generation=generation,
            ),
            run_id=run.run_id,
            revision=revision,
            scorer_id=scorer.id,
            scorer_version=scorer.version,
            generation=generation,
            planned_hash=planned.planned_hash,
            prepared=planned.body,
            probability=probability,
            rule_set=rule_set,
            source=source,
            queue=queue,
            due_at_ns=self._now_ns,
            batch_id=batch_id,
        )
