"""What a completion check found: each scorer's verdict, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracescore.model import Score, ScoreFailure, ScoreOutcome, ScoreSource

Strategy: TypeAlias = Literal["all", "any"]
CompletionVerdict: TypeAlias = Literal["passed", "not_passed", "error", "timed_out", "not_scorable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionResult:
    """What one scorer says of a task. ``duration`` is in seconds.

    Only the full score passes. ``outcome`` is what the scorer gave, with its evidence; None where it did not finish.
    """

    scorer_id: str
    scorer_name: str
    verdict: CompletionVerdict
    score: float | None = None
    full_score: float
    reason: str
    duration: float
    outcome: ScoreOutcome | None = None
    source: ScoreSource = "gate"

    @property
    def passed(self) -> bool:
        """Tell whether the scorer gave its full score."""
        return self.verdict == "passed"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskCompletion:
    """Whether a task is complete; true where it is.

    ``reason`` says why. ``feedback`` is the message for the agent that is to go on, ``""`` where the task is complete.
    ``duration`` is in seconds; ``timed_out`` tells that a scorer did not finish in time.
    """

    complete: bool
    results: tuple[CompletionResult, ...]
    reason: str
    feedback: str
    duration: float
    timed_out: bool

    def __bool__(self) -> bool:
        return self.complete


def result_of(outcome: ScoreOutcome, *, scorer_name: str, full_score: float, duration: float) -> CompletionResult:
    """Give what an outcome says of a task: a failure says nothing, and is not complete."""
    score = None
    if isinstance(outcome, Score):
        score = outcome.score
        verdict: CompletionVerdict = "passed" if score == full_score else "not_passed"
        reason = outcome.reason or f"the score is {score:g}, the full score {full_score:g}"
    elif isinstance(outcome, ScoreFailure):
        verdict = "error"
        where = f" in {outcome.failed_step}" if outcome.failed_step else ""
        reason = f"the scorer failed{where}: {outcome.error_type}: {outcome.message}"
    else:
        verdict, reason = "not_scorable", outcome.reason
    return CompletionResult(
        scorer_id=outcome.scorer_id,
        scorer_name=scorer_name,
        verdict=verdict,
        score=score,
        full_score=full_score,
        reason=reason,
        duration=duration,
        outcome=outcome,
    )


def task_completion(results: Sequence[CompletionResult], *, strategy: Strategy, duration: float) -> TaskCompletion:
    """Give what the results come to; what is not scorable has no say, and nothing is complete by that alone."""
    asked = [result for result in results if result.verdict != "not_scorable"]
    passed = [result for result in asked if result.passed]
    complete = bool(passed) and (strategy == "any" or len(passed) == len(asked))
    if complete:
        reason = "\n".join(_named(result) for result in passed)
    elif not asked:
        reason = "no scorer could say whether the task is complete: " + "; ".join(_named(result) for result in results)
    else:
        reason = "\n".join(_named(result) for result in asked if not result.passed)
    return TaskCompletion(
        complete=complete,
        results=tuple(results),
        reason=reason,
        feedback="" if complete else _feedback(results, asked=len(asked), passed=len(passed), strategy=strategy),
        duration=duration,
        timed_out=any(result.verdict == "timed_out" for result in results),
    )


def _named(result: CompletionResult) -> str:
    return f"{result.scorer_name}: {result.reason}"


def _feedback(results: Sequence[CompletionResult], *, asked: int, passed: int, strategy: Strategy) -> str:
    rule = "every check must pass" if strategy == "all" else "one check must pass"
    parts = [f"The task is not complete: {passed} of {asked} checks passed, and {rule}."]
    parts += [f"{_headline(result)}\n{result.reason}" for result in results]
    if any(result.verdict == "not_passed" for result in results):
        parts.append("Go on with the task: put right what did not pass, and give the whole result again.")
    else:
        parts.append("Nothing was found wrong so far. Go on with the task, and give the whole result again.")
    return "\n\n".join(parts)


def _headline(result: CompletionResult) -> str:
    name = result.scorer_name
    title = f"## {name}" if name == result.scorer_id else f"## {name} ({result.scorer_id})"
    match result.verdict:
        case "passed":
            return f"{title}: passed"
        case "not_passed":
            return f"{title}: not passed ({result.score:g}, full score {result.full_score:g})"
        case "timed_out" | "error":
            return f"{title}: could not be checked"
        case "not_scorable":
            return f"{title}: does not apply"
