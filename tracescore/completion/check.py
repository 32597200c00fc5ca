"""``is_task_complete``: score a run in process, and say whether that will do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeAlias

from tracescore.arguments import FLAG, FUNCTION, MAPPING, an, check, number, optional
from tracescore.bridge import run_sync
from tracescore.completion.results import (
    CompletionResult,
    CompletionVerdict,
    Strategy,
    TaskCompletion,
    result_of,
    task_completion,
)
from tracescore.completion.step_threads import StepThreads
from tracescore.errors import ConfigurationError, InputError, TracescoreError
from tracescore.judge import UNSET, Given
from tracescore.model import ScorerRun
from tracescore.redaction import Redaction
from tracescore.scorers import Scorer, Stage
from tracescore.scorers.judge_door import judge_door

AnyScorer: TypeAlias = Scorer[Any, Any, Any]

DEFAULT_TIMEOUT = 600.0
"""Seconds for all scorers of one check."""
GRACE = 1.0
"""Seconds that a scorer has to end once it is told to."""


async def is_task_complete(
    run: ScorerRun[Any, Any],
    scorers: Sequence[AnyScorer],
    *,
    strategy: Strategy = "all",
    parallel: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,  # noqa: ASYNC109  # what is not done by then is part of the answer
    request_context: Mapping[str, Any] | None = None,
    redaction: Given[Redaction | None] = UNSET,
) -> TaskCompletion:
    """Score what an agent did so far, and say whether the task is complete; the answer is true where it is.

    A scorer passes with its full score: the upper end of its range, or the lower one where lower is better. One that
    fails or does not finish in time does not pass, and says so. One for which there is nothing to score has no say; if
    that holds for all of them, the task is not complete.

    Args:
        run: the run to score, such as ``ScorerRun(input="the task", output="the answer")``.
        scorers: who is asked.
        strategy: ``"all"`` must pass, or ``"any"`` one of them.
        parallel: ask all at the same time; else one after the other, no further than is needed to know.
        timeout: seconds for all of them together; None waits as long as it takes.
        request_context: what scorers see in ``ctx.run.request_context``, over what the run has; a rubric, for example.
        redaction: what judges are not told, as in ``Scorer.run``.

    Raises:
        ConfigurationError: no scorers, one that cannot run or has no full score, an unknown strategy.
        InputError: what is no run.

    Example:
        >>> from tracescore import scorer
        >>> @scorer(id="brevity")
        ... def brevity(run):
        ...     return 1.0 if len(run.output.text) < 280 else 0.5
        >>> done = is_task_complete_sync(ScorerRun(input="How high?", output="300 m"), [brevity])
        >>> bool(done), done.results[0].score
        (True, 1.0)
    """
    asked = checked_scorers(
        scorers,
        strategy=strategy,
        timeout=timeout,
        parallel=parallel,
        request_context=request_context,
        redaction=redaction,
    )
    if not isinstance(run, ScorerRun):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"is_task_complete needs a run, such as ScorerRun(input=..., output=...), not {run!r:.80}")
    if request_context:
        run = replace(run, request_context={**run.request_context, **request_context})
    started = perf_counter()
    deadline = None if timeout is None else started + timeout
    if parallel:
        results = await _within(asked, run, deadline, redaction)
    else:
        results = []
        for scorer in asked:
            (result,) = await _within([scorer], run, deadline, redaction)
            results.append(result)
            decided = result.passed if strategy == "any" else result.verdict not in ("passed", "not_scorable")
            if decided:
                break
    return task_completion(results, strategy=strategy, duration=perf_counter() - started)


def is_task_complete_sync(
    run: ScorerRun[Any, Any],
    scorers: Sequence[AnyScorer],
    *,
    strategy: Strategy = "all",
    parallel: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
    request_context: Mapping[str, Any] | None = None,
    redaction: Given[Redaction | None] = UNSET,
) -> TaskCompletion:
    """Do as ``is_task_complete`` does, from plain code, a notebook or inside a running loop."""
    return run_sync(
        is_task_complete(
            run,
            scorers,
            strategy=strategy,
            parallel=parallel,
            timeout=timeout,
            request_context=request_context,
            redaction=redaction,
        )
    )


_ARGUMENTS = {
    "timeout": optional(
        number("a number of seconds greater than 0", lambda value: value > 0), "None to wait as long as it takes"
    ),
    "parallel": FLAG,
    "suppress_feedback": FLAG,
    "request_context": optional(MAPPING),
    "redaction": optional(an(Redaction, "a Redaction"), "None for no redaction"),
    "on_complete": optional(FUNCTION),
}


def checked_scorers(
    scorers: Sequence[Any], *, strategy: str, redaction: Given[Redaction | None], **others: Any
) -> list[AnyScorer]:
    """Give the scorers of a check, each able to run.

    Raises:
        ConfigurationError: as ``is_task_complete``; better here than after an agent was paid for.
    """
    if strategy not in ("all", "any"):
        raise ConfigurationError(f"strategy {strategy!r:.80} is unknown: give 'all' or 'any'")
    check("is_task_complete", _ARGUMENTS, others if redaction is UNSET else {**others, "redaction": redaction})
    if isinstance(scorers, (Scorer, Stage)) or not isinstance(scorers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"scorers= takes a list of scorers, such as [scorer], not {scorers!r:.80}")
    checked: list[AnyScorer] = []
    for scorer in scorers:
        if isinstance(scorer, Stage):
            scorer.refuse()
        if not isinstance(scorer, Scorer):
            raise ConfigurationError(f"scorers= takes scorers, not {scorer!r:.80}")
        scorer.check()
        _full_score(scorer)
        checked.append(scorer)
    if not checked:
        raise ConfigurationError("scorers= is empty: without a scorer nothing says when a task is complete")
    return checked


async def _within(
    scorers: Sequence[AnyScorer],
    run: ScorerRun[Any, Any],
    deadline: float | None,
    redaction: Given[Redaction | None],
) -> list[CompletionResult]:
    """Ask scorers at the same time, and give up those that are not done at the deadline."""
    started = perf_counter()
    left = None if deadline is None else max(0.0, deadline - started)
    tasks = [asyncio.ensure_future(_result(scorer, run, redaction)) for scorer in scorers]
    try:
        await asyncio.wait(tasks, timeout=left)
        done = [task.done() for task in tasks]
    finally:
        await _end(tasks)
    results: list[CompletionResult] = []
    for scorer, task, finished in zip(scorers, tasks, done, strict=True):
        seconds = perf_counter() - started
        if not finished:
            why = "the scorer did not finish within the timeout of the check"
            results.append(_without_outcome(scorer, "timed_out", why, seconds))
        elif task.cancelled():  # by itself: nobody else has told it to stop yet
            results.append(_without_outcome(scorer, "error", "the scorer cancelled itself", seconds))
        else:
            results.append(task.result())
    return results


async def _end(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Stop what still runs; what does not heed that is left behind, so that no scorer can hold up its caller."""
    running = [task for task in tasks if task.cancel()]
    if running:
        await asyncio.wait(running, timeout=GRACE)


async def _result(scorer: AnyScorer, run: ScorerRun[Any, Any], redaction: Given[Redaction | None]) -> CompletionResult:
    started = perf_counter()
    try:
        prepared = await scorer.prepare(run)
        redactor = judge_door(redaction, run) if scorer.needs_judge else None
        # In threads, so that a step that blocks holds up neither the others nor the deadline.
        outcome = await scorer.run_prepared(prepared, threads=StepThreads(), redactor=redactor)
    except TracescoreError as error:
        why = f"the scorer failed: {type(error).__name__}: {error}"
        return _without_outcome(scorer, "error", why, perf_counter() - started)
    return result_of(
        outcome, scorer_name=scorer.name, full_score=_full_score(scorer), duration=perf_counter() - started
    )


def _without_outcome(scorer: AnyScorer, verdict: CompletionVerdict, reason: str, seconds: float) -> CompletionResult:
    return CompletionResult(
        scorer_id=scorer.id,
        scorer_name=scorer.name,
        verdict=verdict,
        full_score=_full_score(scorer),
        reason=reason,
        duration=seconds,
    )


def _full_score(scorer: AnyScorer) -> float:
    if scorer.score_range is None:
        raise ConfigurationError(
            f"scorer {scorer.id!r} has a free scale (score_range=None), so no full score at which a task is complete"
        )
    return scorer.score_range[1 if scorer.higher_is_better else 0]
