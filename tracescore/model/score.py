"""The three outcomes of scoring: a score, a failure, and nothing to score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias

from tracescore.model.cut import Cut
from tracescore.model.target import Target

ScoreSource: TypeAlias = Literal["live", "backfill", "manual", "eval", "gate", "external"]
StepName: TypeAlias = Literal["prepare_run", "preprocess", "analyze", "generate_score", "generate_reason"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RawReply:
    """One reply of a judge as it came, before any processor.

    ``native`` tells how it is to be read (see ``JudgeReply``), ``problem`` why it was not the answer.
    """

    text: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    request_id: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    native: bool = True
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeCall:
    """The evidence of one judge call. Times in milliseconds, cost in US dollars; keys and headers are never kept.

    A call is one question of one step: at most two replies, the second to a re-ask. ``raw_reply``, ``model_answered``
    and ``request_id`` are the last one's; ``usage`` and ``cost`` are the sum of all.
    """

    step: StepName
    prompt: str
    messages: tuple[Mapping[str, Any], ...] = ()
    raw_reply: str | None = None
    parsed: Any = None
    model_asked: str = ""
    model_answered: str | None = None
    request_id: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = None
    attempts: int = 1
    """Requests made: the first, its retries, those without a refused setting, and the re-ask with its own."""
    duration_ms: float = 0.0
    error: str | None = None
    reused: bool = False
    """True where only stored replies were used: no request was made."""
    replies: tuple[RawReply, ...] = ()
    """Every reply, in the order they came."""
    notes: tuple[str, ...] = ()
    """What was not done as asked: a setting that the model refuses, a request that was retried and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What stands behind an outcome: step results (bounded, JSON only), judge calls, what was cut, what was judged."""

    judged_hash: str = ""
    """Hash of the run as the steps saw it, after prepare_run."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """By step name: the value, or a bounded description where it is not JSON."""
    judge_calls: tuple[JudgeCall, ...] = ()
    cut: Mapping[str, int] = field(default_factory=dict)
    """What prepare_run removed, by field: the number of messages or entries."""
    cuts: tuple[Cut, ...] = ()
    """What filters cut, before planning and after, rule by rule."""
    redaction: str = ""
    """The version of the redaction policy under which this was stored.

    Empty where there was none, and in process, where nothing is stored: the judge's door stood there all the same.
    """
    notes: tuple[str, ...] = ()
    duration_ms: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SubScore:
    """A named score beside the main one."""

    name: str
    value: float
    reason: str | None = None


class _NotANumber:
    """Refuse to pass for a number or a truth value: an error is never a score."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} has no truth value; look at .ok or its type")

    def __float__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is not a number; look at .ok or its type")


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A finite number with its reason and evidence.

    ``score_range`` is ``(low, high)``, ``None`` for a free scale. ``reason_error`` says why a reason step failed: the
    score stands all the same. One that is not ``counted`` stays out of production means.
    """

    run_id: str
    scorer_id: str
    scorer_version: str
    score: float
    reason: str | None = None
    sub_scores: tuple[SubScore, ...] = ()
    score_range: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    target: Target | None = None
    evidence: Evidence = field(default_factory=Evidence)
    reason_error: str | None = None
    counted: bool = True
    outcome: Literal["score"] = "score"

    def __post_init__(self) -> None:
        if not math.isfinite(self.score):
            raise ValueError(f"score of scorer {self.scorer_id!r} is not finite: {self.score!r}")

    @property
    def ok(self) -> Literal[True]:
        """Tell that this is a score."""
        return True

    def __float__(self) -> float:
        return self.score


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreFailure(_NotANumber):
    """Could not score, and why. ``error_type`` is the exception's class name, ``failed_step`` where it was raised."""

    run_id: str
    scorer_id: str
    scorer_version: str
    failed_step: StepName | None
    error_type: str
    message: str
    completed_steps: tuple[StepName, ...] = ()
    target: Target | None = None
    evidence: Evidence = field(default_factory=Evidence)
    transient: bool = False
    """True where the same call may well succeed later (429, 5xx, connection)."""
    outcome: Literal["failure"] = "failure"

    @property
    def ok(self) -> Literal[False]:
        """Tell that this is no score."""
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class NotScorable(_NotANumber):
    """Nothing here to score, and why."""

    run_id: str
    scorer_id: str
    scorer_version: str
    reason: str
    step: StepName | None = None
    target: Target | None = None
    evidence: Evidence = field(default_factory=Evidence)
    outcome: Literal["not_scorable"] = "not_scorable"

    @property
    def ok(self) -> Literal[False]:
        """Tell that this is no score."""
        return False


ScoreOutcome: TypeAlias = Score | ScoreFailure | NotScorable
