"""What is stored of traces as they come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

TraceStage: TypeAlias = Literal["assemble", "drop", "compact"]
"""What is done with a trace when it is due: dropped where no agent is in it, compacted an hour after it settled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """How many copies were not stored before, and how many were dropped because their trace is at its cap."""

    new_spans: int
    new_logs: int
    capped: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSeen:
    """A stored trace, and when something of it came last."""

    trace_id: str
    last_arrival_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceClaim:
    """A trace that is due to be assembled."""

    project: str
    trace_id: str
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSpan:
    """The copies of one span: at most 8, those with the smallest hashes, in their order."""

    span_id: str
    copies: tuple[bytes, ...]
    arrived_ns: int
    """When its first copy arrived."""
    last_arrived_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredLog:
    """One copy of a log record."""

    span_id: str
    body: bytes
    arrived_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTrace:
    """All that is stored of one trace, spans and logs in the order of their ids and hashes."""

    trace_id: str
    version: int
    spans: tuple[StoredSpan, ...]
    logs: tuple[StoredLog, ...]
    complete: bool
    """Someone said that nothing more will come."""
    capped: bool
    """Something came that was not kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SettledTrace:
    """How far one assembly of a trace has come; None where nothing is left to wait for.

    ``then`` is what is to be done at that time; ``changed`` says that its runs are others now.
    """

    project: str
    trace_id: str
    version: int
    next_check_ns: int | None
    then: TraceStage = "assemble"
    changed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingTrace:
    """A trace that is still settling."""

    project: str
    trace_id: str
    version: int
    span_count: int
    first_arrival_ns: int
    last_arrival_ns: int
    ready_at_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceCounts:
    """What is stored and what is waiting; ``due`` are settling traces whose check time has come."""

    traces: int
    spans: int
    logs: int
    settling: int
    due: int
    oldest_due_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionClaim:
    """A conversation that is due to be looked at."""

    project: str
    session_id: str
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTurn:
    """An outermost run of a session, and when its first span arrived."""

    body: bytes
    first_arrival_ns: int
