"""Runs out of files: read, assemble, and say what could not be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracescore.cli.screen import note
from tracescore.model import DEFAULT_PROJECT, AgentRun, RunKind, ScorerRun

UNREADABLE = 2
"""The exit code where a file could not be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The agents' runs of some files, those of other kinds as asked for, and whether each file could be read."""

    runs: list[AgentRun]
    others: list[ScorerRun[Any, Any]]
    all_read: bool


def read_runs(
    files: Sequence[Path], *, kinds: Collection[RunKind] = frozenset(), project: str = DEFAULT_PROJECT
) -> Reading:
    """Read files and assemble their runs; what is wrong with a file is said on stderr, and the rest goes on."""
    from tracescore.pipeline.in_process import runs_of
    from tracescore.sources import read_files

    read = read_files(files)
    for problem in read.problems:
        note(f"tracescore: {problem.path}: {problem.message}")
    runs, others = runs_of(read.traces, kinds, project=project)
    return Reading(runs=runs, others=others, all_read=not any(problem.unread for problem in read.problems))
