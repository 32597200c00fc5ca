"""Runs as they are stored and planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """One assembled run as it goes into the store; ``body`` is ``dump_run``'s bytes."""

    run_id: str
    kind: str
    trace_id: str | None
    span_id: str | None
    parent_run_id: str | None
    session_id: str | None
    agent_name: str | None
    service: str | None
    environment: str | None
    status: str
    started_ns: int
    ended_ns: int
    first_arrival_ns: int
    outermost: bool
    content_hash: str
    plan_hash: str
    body: bytes
    settled: bool = True
    paused: bool = False
    """By its own spans, whether or not another run took it up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplacedRuns:
    """The run ids that changed; ``refused`` where a later version of the trace was assembled before.

    ``beside`` are traces to be looked at again: a run of theirs was taken up by one that is gone, or took one up.
    """

    new: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    refused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """A stored run."""

    project: str
    run_id: str
    kind: str
    trace_id: str | None
    span_id: str | None
    parent_run_id: str | None
    session_id: str | None
    agent_name: str | None
    service: str | None
    environment: str | None
    status: str
    started_ns: int
    ended_ns: int
    first_arrival_ns: int
    outermost: bool
    content_hash: str
    revision: int
    withdrawn: bool
    created_ns: int
    updated_ns: int
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRow:
    """A run of a session, as another run of that session may have to do with it."""

    run_id: str
    trace_id: str
    parent_run_id: str | None
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannableRun:
    """A run that a planner has not seen in this state."""

    seq: int
    run_id: str
    revision: int
    first_arrival_ns: int
    body: bytes
    withdrawn: bool
    changed: bool
    """The run was in the store before, in another state: scorers that no longer match it may have jobs and scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilters:
    """Which runs to list; None does not filter. Times are those of the run's start."""

    kind: str | None = None
    trace_id: str | None = None
    session_id: str | None = None
    agent_name: str | None = None
    service: str | None = None
    environment: str | None = None
    status: str | None = None
    outermost: bool | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    withdrawn: bool | None = False
