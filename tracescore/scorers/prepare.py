"""The prepared run: what the steps see, what was cut from it, and the hash of what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic

from tracescore.errors import TracescoreError
from tracescore.model import (
    AgentInput,
    Messages,
    NotScorable,
    ScoreFailure,
    ScorerRun,
    as_output_shows,
    content_hash,
)
from tracescore.scorers.context import RunT

_ENTRIES = ("contexts", "request_context", "additional_context", "metadata")
_SINGLE = ("ground_truth", "expected_trajectory")
_INPUT_MESSAGES = ("input_messages", "remembered_messages", "system_messages", "tagged_system_messages")


class InvalidPreparedRun(TracescoreError):
    """A prepare_run gave what cannot be scored in place of the run."""


@dataclass(frozen=True, kw_only=True)
class PreparedRun(Generic[RunT]):
    """A run after ``prepare_run``.

    ``outcome`` is set where preparing it ended the scoring already: it failed, or the run is not for this scorer.
    """

    run: RunT
    cut: Mapping[str, int] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    outcome: ScoreFailure | NotScorable | None = None

    @cached_property
    def judged_hash(self) -> str:
        """Give the content hash of what the steps see; worked out when it is first asked for."""
        return content_hash(self.run, reads=self.reads)

    @property
    def known_hash(self) -> str:
        """Give the judged hash if somebody asked for it, else ``""``: a code scorer runs faster than it is hashed."""
        return str(self.__dict__.get("judged_hash", ""))


def check_prepared(before: ScorerRun[Any, Any], after: Any) -> None:
    """Refuse what prepare_run may not do.

    Raises:
        InvalidPreparedRun: it gave no run, or changed its run id or target.
    """
    if not isinstance(after, ScorerRun):
        raise InvalidPreparedRun(f"prepare_run must give a run, not {type(after).__name__}")
    if type(after) is not type(before):
        raise InvalidPreparedRun(f"prepare_run must give a {type(before).__name__}, not a {type(after).__name__}")
    if after.run_id != before.run_id:
        raise InvalidPreparedRun(f"prepare_run may not change the run id ({before.run_id!r} to {after.run_id!r})")
    if after.target != before.target:
        raise InvalidPreparedRun("prepare_run may not change the run's target")


def with_its_own_way(before: RunT, after: RunT) -> RunT:
    """Give a prepared run whose trajectory shows no tool call that was cut from its output."""
    if after.trajectory is None or after.output is before.output or after.trajectory is not before.trajectory:
        return after
    if not isinstance(after.output, Messages):
        return after
    return replace(after, trajectory=as_output_shows(after.trajectory, after.output))


def cut_counts(before: ScorerRun[Any, Any], after: ScorerRun[Any, Any]) -> dict[str, int]:
    """Count what prepare_run removed, by field: messages, entries, or 1 for a field that was dropped."""
    counts: dict[str, int] = {}
    if isinstance(before.input, AgentInput) and isinstance(after.input, AgentInput):
        for name in _INPUT_MESSAGES:
            _count(counts, name, getattr(before.input, name), getattr(after.input, name))
    if before.output is not after.output:
        _count(counts, "output", before.output, after.output)
    for name in _ENTRIES:
        _count(counts, name, getattr(before, name), getattr(after, name))
    for name in _SINGLE:
        if getattr(before, name) is not None and getattr(after, name) is None:
            counts[name] = 1
    return counts


def _count(counts: dict[str, int], name: str, before: Any, after: Any) -> None:
    try:
        removed = len(before) - len(after)
    except TypeError:  # a custom run's output need not be a collection
        return
    if removed > 0:
        counts[name] = removed
