"""Replay: rebuild a stored outcome from its evidence alone, then hold it against what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tracescore.errors import InputError
from tracescore.model import JudgeCall, RawReply, ScoreOutcome, ScorerRun, load_any_run
from tracescore.pipeline.comparing import Difference, differences
from tracescore.pipeline.offers import ScoringApp
from tracescore.pipeline.preparing import NothingToScore, PrepareFailed, RunPreparation, refused
from tracescore.pipeline.redacting import judge_door, storable_outcome
from tracescore.redaction import Redaction
from tracescore.scorers import PreparedRun, Scorer
from tracescore.scorers.replaying import from_evidence
from tracescore.store import JudgedScore, ScoreRow, Store

_REPLY_FIELDS = frozenset(field.name for field in fields(RawReply))


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """What came of a replay. ``outcome`` is made without any look at the stored one."""

    stored: ScoreRow
    version: str
    """The version of the scorer as the app has it now."""
    outcome: ScoreOutcome
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Tell whether the stored outcome is what its evidence gives."""
        return not self.differences


async def replay(
    store: Store,
    app: ScoringApp,
    score_id: str,
    *,
    project: str,
    live: bool = False,
    redaction: Redaction | None = None,
) -> Replay:
    """Rebuild an outcome from its raw replies, or ``live`` by asking the judge again, and compare.

    Steps that are code run again. Nothing is stored, and unless ``live`` is True no judge is asked. ``redaction`` is
    the workers' policy: prompts and texts go through it as theirs did.

    Raises:
        InputError: there is no such outcome, its run is gone, or the app has no such scorer.
    """
    found = await store.scores.judged(score_id, project=project)
    if found is None:
        raise InputError(f"no outcome {score_id!r:.80} in project {project!r}: `tracescore scores --json` lists ids")
    row = found.score
    scorer = app.scorers.get(row.scorer_id)
    if scorer is None:
        raise InputError(
            f"the app has no scorer {row.scorer_id!r}; it has {', '.join(sorted(app.scorers)) or 'none'}: "
            "name the app that made the score with --app"
        )
    if found.run_body is None:
        raise InputError(f"the run {row.run_id} of this outcome is no longer in the store")
    problems: list[Difference] = []
    if not found.intact:
        problems.append(
            Difference(what="evidence", stored="not what was written", replayed="its digest is that of other bytes")
        )
    prepared, run = await _prepared(found, app, scorer)
    if isinstance(prepared, PreparedRun):
        problems += _other_run(found, prepared)
        asked = scorer if live else from_evidence(scorer, stored_calls(row.evidence or {}))
        redactor = judge_door(redaction, run) if scorer.needs_judge else None
        outcome = await asked.run_prepared(prepared, redactor=redactor)
    else:
        outcome = prepared
    outcome = storable_outcome(redaction, outcome)
    compared = differences(row, outcome, calls=not live, prompts=not live and scorer.version == row.scorer_version)
    return Replay(
        stored=row,
        version=scorer.version,
        outcome=outcome,
        differences=(*problems, *compared),
        notes=_notes(row, scorer),
    )


def _notes(row: ScoreRow, scorer: Scorer[Any, Any, Any]) -> tuple[str, ...]:
    if scorer.version == row.scorer_version:
        return ()
    return (
        f"{row.scorer_id} is version {scorer.version} now; version {row.scorer_version} made the stored outcome "
        "(`tracescore scorers --diff` says what changed): prompts are not compared",
    )


async def _prepared(
    found: JudgedScore, app: ScoringApp, scorer: Scorer[Any, Any, Any]
) -> tuple[PreparedRun[Any] | ScoreOutcome, ScorerRun[Any, Any]]:
    """Take the run to where its steps saw it, as the worker did; with it, the run as the judge's door reads it."""
    run = load_any_run(found.run_body or b"")
    if not found.as_planned:
        try:
            run = RunPreparation(run).through(app.rule_set.stages(scorer.id))
        except (NothingToScore, PrepareFailed) as refusal:
            return refused(refusal, run_id=found.score.run_id, scorer=scorer), run
    return await scorer.prepare(run), run


def _other_run(found: JudgedScore, prepared: PreparedRun[Any]) -> list[Difference]:
    if prepared.outcome is not None or not found.score.judged_hash:
        return []
    if prepared.judged_hash == found.score.judged_hash:
        return []
    was, now = found.score.revision, found.run_revision
    if was == now:
        words = "the run that is stored leaves something else to judge"
    else:
        words = f"revision {now} of the run leaves something else to judge"
    return [Difference(what="judged run", stored=f"revision {was}, {found.score.judged_hash}", replayed=words)]


def stored_calls(evidence: Mapping[str, Any]) -> list[JudgeCall]:
    """Read what a replay needs of stored judge calls; whoever changed them may have made anything of them."""
    return [
        JudgeCall(
            step=item["step"],
            prompt="",
            replies=_replies(item.get("replies")),
            error=item.get("error"),
        )
        for item in _list(evidence.get("judge_calls"))
        if isinstance(item, dict) and isinstance(item.get("step"), str)
    ]


def _replies(given: Any) -> tuple[RawReply, ...]:
    return tuple(
        RawReply(**{name: value for name, value in item.items() if name in _REPLY_FIELDS})
        for item in _list(given)
        if isinstance(item, dict)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
