"""Batches and the outcomes of their targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchItem:
    """One target of a batch: what could not become a job carries its ``outcome`` and ``reason`` from the start."""

    trace_id: str | None = None
    span_id: str | None = None
    run_id: str | None = None
    job_id: str | None = None
    outcome: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchItemStatus:
    """One target's live outcome: an outcome's name, ``pending``, ``leased``, ``superseded`` or ``cancelled``."""

    trace_id: str | None
    span_id: str | None
    run_id: str | None
    job_id: str | None
    outcome: str
    reason: str | None
    score: float | None
    score_id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchStatus:
    """A batch and its targets in their order."""

    project: str
    batch_id: str
    kind: str
    created_ns: int
    items: tuple[BatchItemStatus, ...]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Tell whether every target has its outcome."""
        return not (self.counts.get("pending", 0) or self.counts.get("leased", 0))
