"""Jobs from plan to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracescore.model import ScoreOutcome, ScoreSource

Queue: TypeAlias = Literal["live", "backfill"]
JobState: TypeAlias = Literal["pending", "leased", "done", "not_scorable", "failed", "superseded", "cancelled"]
OutcomeName: TypeAlias = Literal["score", "failure", "not_scorable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJob:
    """A job as planned."""

    job_id: str
    run_id: str
    revision: int
    scorer_id: str
    scorer_version: str
    generation: int = 0
    planned_hash: str
    prepared: bytes | None = None
    """What is to be scored, where preparing left other than the run as it is stored."""
    probability: float = 1.0
    rule_set: str = ""
    source: ScoreSource = "live"
    queue: Queue = "live"
    due_at_ns: int = 0
    batch_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Retired:
    """A run that no rule of the app gives to this scorer any more."""

    run_id: str
    scorer_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionCount:
    """How often planning decided so within one hour (``hour`` is Unix hours)."""

    rule_set: str
    scorer_id: str
    hour: int
    outcome: str
    count: int
    example: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """How often planning decided so; ``example`` is the newest run that it happened to, with the reason."""

    scorer_id: str
    outcome: str
    count: int
    example: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """What a worker can score."""

    project: str
    scorer_id: str
    scorer_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CurrentOutcome:
    """The current outcome of the same run, scorer and version: what a job may be done by reference to."""

    score_id: str
    outcome: OutcomeName
    judged_hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedJob:
    """A job that the claiming worker holds until its lease ends; ``token`` is its right to finish."""

    project: str
    job_id: str
    token: int
    run_id: str
    revision: int
    scorer_id: str
    scorer_version: str
    source: ScoreSource
    queue: Queue
    probability: float
    rule_set: str
    generation: int
    batch_id: str | None
    leases_taken: int
    attempts: int
    run_body: bytes
    """The run as it was prepared for planning, where that left other than the run itself."""
    as_planned: bool = True
    """The run is in the state that was planned; else nothing has prepared it for planning."""
    current: CurrentOutcome | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedJob:
    """The end of a job: an outcome, or the row id of the score that stands for it (``by_reference``)."""

    project: str
    job_id: str
    token: int
    outcome: ScoreOutcome | None = None
    by_reference: str | None = None
    sinks: tuple[str, ...] = ()
    finished_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DueJob:
    """A job that could be claimed now."""

    job_id: str
    queue: Queue


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRow:
    """A stored job; ``due_at_ns`` is the end of its lease where it is leased."""

    project: str
    job_id: str
    run_id: str
    revision: int
    scorer_id: str
    scorer_version: str
    generation: int
    state: JobState
    source: ScoreSource
    queue: Queue
    due_at_ns: int
    leased_by: str | None
    leases_taken: int
    attempts: int
    error: str | None
    batch_id: str | None
    score_id: str | None
    created_ns: int
    finished_ns: int | None
