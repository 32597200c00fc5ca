"""Workers and what they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracescore.model import ScoreSource
from tracescore.store.records.jobs import Queue


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferRecord:
    """What a worker says of one scorer that it can run."""

    scorer_id: str
    version: str
    score_range: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    needs_judge: bool = False
    reads: tuple[str, ...] = ()
    """What else than its content a run is hashed by for this scorer."""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferRow:
    """An offer, and who made it when."""

    project: str
    app: str
    worker: str
    seen_ns: int
    offer: OfferRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerRow:
    """A worker process that was seen."""

    worker: str
    info: Mapping[str, Any]
    started_ns: int
    seen_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferedVersion:
    """Since when some worker or other has offered a version without a gap, and until when."""

    scorer_id: str
    version: str
    since_ns: int
    seen_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedVersion:
    """What a version of a scorer was made of when it was first offered; ``seen_ns`` is when it was offered last."""

    scorer_id: str
    version: str
    body: bytes
    seen_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingJobs:
    """How many jobs of one version are due and held by nobody."""

    scorer_id: str
    version: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingJob:
    """A job that is due and held by nobody, and its run as it is now."""

    job_id: str
    run_id: str
    revision: int
    probability: float
    source: ScoreSource
    queue: Queue
    generation: int
    batch_id: str | None
    run_revision: int | None
    withdrawn: bool
    body: bytes | None
