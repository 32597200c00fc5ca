"""Runs out of files: read, assemble, and say what could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracescore.cli.screen import note
from tracescore.model import DEFAULT_PROJECT, AgentRun

UNREADABLE = 2
"""The exit code where a file could not be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The runs of some files, and whether each file could be read."""

    runs: list[AgentRun]
    all_read: bool


def read_runs(files: Sequence[Path], *, project: str = DEFAULT_PROJECT) -> Reading:
    """Read files and assemble their runs; what is wrong with a file is said on stderr, and the rest goes on."""
    from tracescore.pipeline.assembly import assemble
    from tracescore.sources import read_files

    read = read_files(files)
    for problem in read.problems:
        note(f"tracescore: {problem.path}: {problem.message}")
    return Reading(
        runs=[assembled.run for trace in read.traces for assembled in assemble(trace, project=project)],
        all_read=not any(problem.unread for problem in read.problems),
    )
