"""Workers and what they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferRecord:
    """What a worker says of one scorer that it can run."""

    scorer_id: str
    version: str
    score_range: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    needs_judge: bool = False
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
