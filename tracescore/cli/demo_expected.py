"""What must come of the bundled traces, worked out in this process and apart from the system that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracescore.cli.demo_traffic import DemoFile
from tracescore.model import AgentRun

if TYPE_CHECKING:
    from tracescore.app import TraceScore


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedRun:
    """A run that must appear, and the scorers that owe it an outcome."""

    run: AgentRun
    file: str
    scorer_ids: tuple[str, ...]

    @property
    def trace_id(self) -> str:
        """Give the trace that the run is in."""
        return self.run.trace_id or ""


def expected_runs(app: TraceScore, files: Sequence[DemoFile], *, project: str) -> dict[str, ExpectedRun]:
    """Read and assemble the files, and match the app's rules: by run id, in the order of the files."""
    from tracescore.pipeline.assembly import assemble
    from tracescore.sources import read_files

    found: dict[str, ExpectedRun] = {}
    for file in files:
        for trace in read_files([file.traces]).traces:
            for assembled in assemble(trace, project=project):
                run = assembled.run
                planned = app.rule_set.match(run, source="live")
                found[run.run_id] = ExpectedRun(
                    run=run, file=file.name, scorer_ids=tuple(dict.fromkeys(item.scorer.id for item in planned))
                )
    return found


def pairs_of(expected: Mapping[str, ExpectedRun]) -> set[tuple[str, str]]:
    """Give every (run id, scorer id) that is owed an outcome."""
    return {(run_id, scorer_id) for run_id, item in expected.items() for scorer_id in item.scorer_ids}
