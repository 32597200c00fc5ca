"""Prepare runs for planning: what the app's and the rules' ``prepare_run`` leave of a run is what is queued."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import orjson

from tracescore.bridge import run_sync
from tracescore.model import NotScorable, ScoreFailure, ScorerRun, content_hash, dump_run
from tracescore.pipeline.described import PrepareRun
from tracescore.scorers import NotScorableSignal, Scorer
from tracescore.scorers.frozen import freeze_run
from tracescore.scorers.prepare import check_prepared, with_its_own_way

AnyRun: TypeAlias = ScorerRun[Any, Any]

_HASHED = frozenset(("input", "output", "status", "ground_truth", "expected_trajectory", "contexts", "cuts"))
"""Fields that the content hash covers, and the record of what was cut, whose tokens are counted as a machine can."""


class NothingToScore(Exception):
    """A ``prepare_run`` said that there is nothing to score in a run."""


class PrepareFailed(Exception):
    """A ``prepare_run`` failed, or did what it may not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """What is queued: its hash, and its bytes where it is not the run as it is stored."""

    planned_hash: str
    body: bytes | None = None


def refused(
    why: NothingToScore | PrepareFailed, *, run_id: str, scorer: Scorer[Any, Any, Any]
) -> NotScorable | ScoreFailure:
    """Give the outcome of a run that was to be scored and that its preparation ended."""
    if isinstance(why, NothingToScore):
        return NotScorable(
            run_id=run_id, scorer_id=scorer.id, scorer_version=scorer.version, reason=str(why), step="prepare_run"
        )
    return ScoreFailure(
        run_id=run_id,
        scorer_id=scorer.id,
        scorer_version=scorer.version,
        failed_step="prepare_run",
        error_type=type(why.__cause__ or why).__name__,
        message=str(why.__cause__ or why)[:1000],
    )


class RunPreparation:
    """One run on its way through the stages of several scorers; what these share is run once.

    Call it off the loop: a stage may take its time, and an ``async`` one is waited for here.
    """

    def __init__(self, run: AnyRun) -> None:
        self._run = run
        self._known: dict[tuple[int, ...], AnyRun | NothingToScore | PrepareFailed] = {}

    def through(self, stages: Sequence[PrepareRun]) -> AnyRun:
        """Give what the stages leave of the run.

        Raises:
            NothingToScore: one of them gave None or called ``not_scorable``.
            PrepareFailed: one of them failed, or changed the run id or the target.
        """
        if not stages:
            return self._run
        key = tuple(map(id, stages))
        if key not in self._known:
            try:
                self._known[key] = _stage(stages[-1], self.through(stages[:-1]))
            except (NothingToScore, PrepareFailed) as refusal:
                self._known[key] = refusal
        found = self._known[key]
        if isinstance(found, Exception):
            raise found
        return found

    def planned(self, stages: Sequence[PrepareRun], *, reads: Sequence[str]) -> PlannedRun:
        """Give what is to be queued for a scorer; raises what ``through`` raises."""
        prepared = self.through(stages)
        if prepared is self._run or prepared == self._run:
            return PlannedRun(planned_hash=content_hash(self._run, reads=reads))
        planned_hash = content_hash(prepared, reads=reads)
        # What the content hash leaves out tells apart jobs that would score different bytes.
        others = {
            field.name: getattr(prepared, field.name)
            for field in fields(prepared)
            if field.name not in _HASHED and getattr(prepared, field.name) != getattr(self._run, field.name)
        }
        if others:
            text = orjson.dumps(others, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
            planned_hash = hashlib.sha256(planned_hash.encode() + text).hexdigest()[:32]
        return PlannedRun(planned_hash=planned_hash, body=dump_run(prepared))


def _stage(stage: PrepareRun, run: AnyRun) -> AnyRun:
    freeze_run(run)
    try:
        prepared = stage(run)
        if hasattr(type(prepared), "__await__"):
            prepared = run_sync(_wait(prepared))
        if prepared is None:
            raise NothingToScore("prepare_run gave None")
        check_prepared(run, prepared)
        prepared = with_its_own_way(run, prepared)
        freeze_run(prepared, again=True)
    except NothingToScore:
        raise
    except NotScorableSignal as signal:
        raise NothingToScore(signal.reason) from None
    except (Exception, SystemExit) as error:  # a user's code: whatever it raises, planning goes on
        raise PrepareFailed(f"{type(error).__name__}: {error}"[:1000]) from error
    return prepared


async def _wait(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
