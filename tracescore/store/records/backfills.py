"""Backfills: stored runs that a scorer is to see afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tracescore.store.records.jobs import JobState

BackfillState: TypeAlias = Literal["planning", "planned", "cancelled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillSpec:
    """Which stored runs are to be scored; ``kind`` and ``where`` are a rule's. Times are those of the run's start."""

    kind: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    sample_rate: float = 1.0
    since_ns: int | None = None
    until_ns: int | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillMark:
    """How far planning has come: everything stored later than this run, and it, has been looked at."""

    created_ns: int
    run_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill:
    """A backfill as it stands; runs are looked at from the newest to the oldest.

    ``seen`` of ``total`` runs were looked at; of those ``planned`` became jobs, ``skipped`` have an outcome or a job in
    this version, and ``left_out`` were sampled out, or were nothing to score once prepared.
    """

    project: str
    batch_id: str
    scorer_id: str
    scorer_version: str
    spec: BackfillSpec
    state: BackfillState
    mark: BackfillMark
    total: int
    seen: int
    planned: int
    skipped: int
    left_out: int
    created_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillRun:
    """A stored run that may belong to a backfill; ``body`` is None where its outcome makes it needless to read."""

    created_ns: int
    run_id: str
    revision: int
    scored: bool
    body: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillStatus:
    """A backfill and its jobs by state."""

    backfill: Backfill
    jobs: Mapping[JobState, int]

    @property
    def open(self) -> int:
        """Give how many jobs have not ended."""
        return self.jobs.get("pending", 0) + self.jobs.get("leased", 0)

    @property
    def ended(self) -> int:
        """Give how many jobs have their outcome."""
        return sum(self.jobs.get(state, 0) for state in ("done", "not_scorable", "failed"))

    @property
    def done(self) -> bool:
        """Tell whether nothing more will come."""
        return self.backfill.state != "planning" and not self.open


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchSummary:
    """A batch in a list of them."""

    batch_id: str
    kind: str
    created_ns: int
