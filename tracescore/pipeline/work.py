"""One claimed job and how it is scored: prepared, compared with what was judged before, run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tracescore.errors import StoreError, StoreUnavailable
from tracescore.model import ScoreFailure, ScoreOutcome, ScorerRun, load_any_run
from tracescore.pipeline.described import PrepareRun
from tracescore.pipeline.preparing import NothingToScore, PrepareFailed, RunPreparation, refused
from tracescore.pipeline.redacting import judge_door, storable_failure, storable_outcome, storable_reply
from tracescore.redaction import Redaction, RedactionError
from tracescore.scorers import PreparedRun, Scorer
from tracescore.store import ClaimedJob, FinishedJob, Store

logger = logging.getLogger(__name__)

RUNS_KEPT = 64
"""Several scorers look at one run, mostly one after the other: it is read once for them."""
LARGEST_KEPT = 64 * 1024
RETRY_AFTER = 0.5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Work:
    """A claimed job with the scorer that it names, and the sinks that its outcome is owed to."""

    job: ClaimedJob
    scorer: Scorer[Any, Any, Any]
    sinks: tuple[str, ...] = ()
    redaction: Redaction | None = None
    stages: tuple[PrepareRun, ...] = ()
    """What the run is still to go through before the scorer's own prepare_run."""

    @property
    def claim(self) -> tuple[str, int]:
        """Give the job's id and the token of this claim."""
        return (self.job.job_id, self.job.token)


def score_inline(work: Work) -> FinishedJob:
    """Score with a scorer that is plain code, in the caller's thread; raises nothing."""
    try:
        prepared = work.scorer.prepare_inline(_staged(work))
        if (score_id := _judged_before(work, prepared)) is not None:
            return _finished(work, by_reference=score_id)
        return _finished(work, outcome=storable_outcome(work.redaction, work.scorer.run_inline(prepared)))
    except (NothingToScore, PrepareFailed) as refusal:
        return _finished(work, outcome=_refused(work, refusal))
    except BaseException as error:  # noqa: BLE001 - a job whose claim nobody ends would be held for ever
        return _finished(work, outcome=_broken(work, error))


async def score_on_loop(work: Work, *, store: Store, threads: Executor) -> FinishedJob:
    """Score with a scorer that waits; its ``def`` steps run in ``threads``. Raises nothing but a cancellation."""
    try:
        run = (
            await asyncio.get_running_loop().run_in_executor(threads, _staged, work)
            if work.stages
            else read_run(work.job.run_body)
        )
        prepared = await work.scorer.prepare(run)
        if (score_id := _judged_before(work, prepared)) is not None:
            return _finished(work, by_reference=score_id)
        replies = await JobReplies.open(store, work.job, work.redaction) if work.scorer.needs_judge else None
        redactor = judge_door(work.redaction, run) if work.scorer.needs_judge else None
        outcome = await work.scorer.run_prepared(prepared, replies=replies, threads=threads, redactor=redactor)
        return _finished(work, outcome=storable_outcome(work.redaction, outcome))
    except (NothingToScore, PrepareFailed) as refusal:
        return _finished(work, outcome=_refused(work, refusal))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the same
        return _finished(work, outcome=_broken(work, error))


class JobReplies:
    """The stored judge replies of one job: read once, written as they arrive."""

    def __init__(
        self, store: Store, job: ClaimedJob, stored: dict[tuple[str, str], str], redaction: Redaction | None
    ) -> None:
        self._store = store
        self._job_id = job.job_id
        self._run_id = job.run_id
        self._stored = stored
        self._redaction = redaction

    @classmethod
    async def open(cls, store: Store, job: ClaimedJob, redaction: Redaction | None) -> JobReplies:
        """Read the replies of a job; one that was never claimed before has none."""
        claimed_before = job.leases_taken > 1 or job.attempts > 1 or job.token > 1
        while claimed_before:
            try:
                return cls(store, job, await store.jobs.load_replies(job.job_id), redaction)
            except StoreUnavailable as error:  # no fault of the scorer's, and what is stored was paid for: wait for it
                logger.warning("job %s: its replies cannot be read, trying again: %s", job.job_id, error)
                await asyncio.sleep(RETRY_AFTER)
        return cls(store, job, {}, redaction)

    async def get(self, step: str, prompt_hash: str, /) -> str | None:
        """Give the stored reply, or None."""
        return self._stored.get((step, prompt_hash))

    async def put(self, step: str, prompt_hash: str, reply: str, /) -> None:
        """Keep a reply, durably when this returns: no kill has more calls made again than there are slots."""
        reply = storable_reply(self._redaction, reply, run_id=self._run_id)
        try:
            await self._store.jobs.save_reply(self._job_id, step, prompt_hash, reply)
        except StoreError as error:  # the score that it leads to can still be had
            logger.warning("job %s: the reply to %s is not kept: %s", self._job_id, step, error)


def read_run(body: bytes) -> ScorerRun[Any, Any]:
    """Read a stored run; a small one that was read just before is not read again."""
    return _recent_run(body) if len(body) <= LARGEST_KEPT else load_any_run(body)


_recent_run: Callable[[bytes], ScorerRun[Any, Any]] = lru_cache(maxsize=RUNS_KEPT)(load_any_run)


def _staged(work: Work) -> ScorerRun[Any, Any]:
    run = read_run(work.job.run_body)
    return RunPreparation(run).through(work.stages) if work.stages else run


def _judged_before(work: Work, prepared: PreparedRun[Any]) -> str | None:
    """Give the score that stands already for exactly what the steps would see.

    The hash is always worked out, since it is stored with the outcome. A failure stands for nothing, and whoever asked
    for a new generation wants to see the scorer run.
    """
    if prepared.outcome is not None:
        return None
    judged_hash, current = prepared.judged_hash, work.job.current
    if current is None or current.outcome == "failure" or work.job.generation > 0:
        return None
    return current.score_id if current.judged_hash == judged_hash else None


def _finished(work: Work, *, outcome: ScoreOutcome | None = None, by_reference: str | None = None) -> FinishedJob:
    return FinishedJob(
        project=work.job.project,
        job_id=work.job.job_id,
        token=work.job.token,
        outcome=outcome,
        by_reference=by_reference,
        sinks=work.sinks if outcome is not None else (),
        finished_ns=time.time_ns(),
    )


def _refused(work: Work, why: NothingToScore | PrepareFailed) -> ScoreOutcome:
    outcome = refused(why, run_id=work.job.run_id, scorer=work.scorer)
    try:
        return storable_outcome(work.redaction, outcome)
    except RedactionError as error:
        return _broken(work, error)


def _broken(work: Work, error: BaseException) -> ScoreOutcome:
    """Give the failure of a job that could not even be tried, such as one whose stored run cannot be read."""
    logger.error("job %s of scorer %s could not be scored", work.job.job_id, work.job.scorer_id, exc_info=error)
    failure = ScoreFailure(
        run_id=work.job.run_id,
        scorer_id=work.job.scorer_id,
        scorer_version=work.job.scorer_version,
        failed_step=None,
        error_type=type(error).__name__,
        message=f"{error}"[:1000],
    )
    return storable_failure(work.redaction, failure)
