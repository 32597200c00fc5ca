"""Score runs in this process, without a store or a queue: what the rules choose, prepared as it would be queued."""

from __future__ import annotations

import asyncio
from typing import Any

from tracescore.model import AgentRun, ScoreOutcome
from tracescore.pipeline.preparing import NothingToScore, PrepareFailed, RunPreparation, refused
from tracescore.pipeline.redacting import judge_door
from tracescore.pipeline.rules import RuleSet
from tracescore.redaction import Redaction
from tracescore.scorers import Scorer


async def score_here(
    rules: RuleSet, scorer: Scorer[Any, Any], run: AgentRun, *, redaction: Redaction | None
) -> ScoreOutcome:
    """Prepare a run as the app and its rules say, and score it; an error is an outcome, never raised.

    A judge sees it through its door of the redaction policy, as it does from a worker.
    """
    stages = rules.stages(scorer.id)
    try:
        prepared = await asyncio.to_thread(RunPreparation(run).through, stages) if stages else run
    except (NothingToScore, PrepareFailed) as refusal:
        return refused(refusal, run_id=run.run_id, scorer=scorer)
    redactor = judge_door(redaction, run) if scorer.needs_judge else None
    return await scorer.run_prepared(await scorer.prepare(prepared), redactor=redactor)
