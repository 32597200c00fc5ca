"""The demo's end: every run with its scores, the sum, the verdict, and how to go on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracescore.cli.demo_expected import ExpectedRun, pairs_of
from tracescore.cli.demo_progress import Progress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from tracescore.cli.outcomes import ShownOutcome

SIDE_BY_SIDE = 116
"""From which width on a run's content and its scores stand side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmet:
    """A run that was owed an outcome and has none, or one that is a failure."""

    file: str
    run_id: str
    what: str


def print_runs(out: Console, expected: Mapping[str, ExpectedRun], progress: Progress) -> None:
    """Print each run with its input, tool calls and output beside its scores and reasons."""
    from rich import box
    from rich.table import Table

    wide = out.width >= SIDE_BY_SIDE
    table = Table(
        box=box.SIMPLE_HEAD if wide else None, show_lines=wide, pad_edge=False, header_style="dim", expand=True
    )
    table.add_column("agent run", ratio=10, overflow="fold")
    if wide:
        table.add_column("scores and reasons", ratio=11, overflow="fold")
    for run_id, item in expected.items():
        outcomes = [outcome for scorer_id in item.scorer_ids if (outcome := progress.outcomes.get((run_id, scorer_id)))]
        content, judged = _content(item), _outcomes(outcomes)
        if wide:
            table.add_row(content, judged)
        else:
            table.add_row(content)
            table.add_row(judged)
            table.add_row("")
    out.print(table)


def print_sum(out: Console, expected: Mapping[str, ExpectedRun], progress: Progress) -> None:
    """Print what each scorer came to over all runs."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("scorer", style="magenta", no_wrap=True)
    for title in ("mean", "lowest", "scores", "not scorable", "failures", "owed"):
        table.add_column(title, justify="right", no_wrap=True)
    for scorer_id in dict.fromkeys(scorer_id for item in expected.values() for scorer_id in item.scorer_ids):
        table.add_row(scorer_id, *_sum_row(scorer_id, expected, progress))
    out.print(table)


def print_all(
    out: Console, expected: Mapping[str, ExpectedRun], progress: Progress, *, files: int, seconds: float
) -> None:
    """Print runs, sum and verdict; problems of one kind are one line."""
    from rich.padding import Padding
    from rich.text import Text

    print_runs(out, expected, progress)
    print_sum(out, expected, progress)
    problems = unmet(expected, progress)
    owed = len(pairs_of(expected))
    first_by_what: dict[str, list[Unmet]] = {}
    for problem in problems:
        first_by_what.setdefault(problem.what, []).append(problem)
    counted = f"{len(progress.outcomes)} of {owed} outcomes, {files} exports, {len(expected)} runs, {seconds:.1f} s"
    for what, same in first_by_what.items():
        others = f" and {len(same) - 1} more runs" if len(same) > 1 else ""
        line = Text(f"✗ {same[0].file}{others}: {what}", style="red")
        out.print(Padding(line, (0, 0, 0, 2)))
    if problems:
        verdict = Text(f"✗ {len(problems)} missing or failed: {counted}", style="bold red")
    else:
        verdict = Text(f"✓ All there, none failed: {counted}", style="bold green")
    out.print(Padding(verdict, (0, 0, 1, 2)))


def unmet(expected: Mapping[str, ExpectedRun], progress: Progress) -> list[Unmet]:
    """Find each run × scorer that has no outcome or failed."""
    found: list[Unmet] = []
    for run_id, item in expected.items():
        for scorer_id in item.scorer_ids:
            outcome = progress.outcomes.get((run_id, scorer_id))
            if outcome is None:
                what = f"no outcome by {scorer_id}; the run is {progress.ways.get(run_id, 'unknown')}"
                found.append(Unmet(file=item.file, run_id=run_id, what=what))
            elif outcome.outcome == "failure":
                found.append(Unmet(file=item.file, run_id=run_id, what=f"{scorer_id} failed: {outcome.words}"))
    return found


def report_json(
    expected: Mapping[str, ExpectedRun], progress: Progress, *, folder: Path, app: str, seconds: float
) -> dict[str, Any]:
    """Give the whole demo as one JSON value."""
    from tracescore.model import run_to_json

    return {
        "ok": not unmet(expected, progress),
        "data": str(folder),
        "app": app,
        "seconds": round(seconds, 2),
        "expected": len(pairs_of(expected)),
        "outcomes": len(progress.outcomes),
        "problems": [asdict(problem) for problem in unmet(expected, progress)],
        "runs": [
            {
                "file": item.file,
                "way": progress.ways.get(run_id),
                "run": run_to_json(item.run),
                "scores": [
                    asdict(outcome)
                    for scorer_id in item.scorer_ids
                    if (outcome := progress.outcomes.get((run_id, scorer_id)))
                ],
            }
            for run_id, item in expected.items()
        ],
    }


def go_on(folder: Path, app: str) -> list[tuple[str, str]]:
    """Give three commands to go on with, as (command, what it does)."""
    me, data = command_name(), _quoted(str(folder))
    return [
        (f"{me} scores --data {data}", "the scores, with their reasons"),
        (f"{me} runs --data {data}", "the runs as they were rebuilt from the spans"),
        (f"TRACESCORE_APP={app} {me} up --data {data}", "start it again, and point an OTLP exporter at it"),
    ]


def command_name() -> str:
    """Give the command as this user has to type it: it need not be on the path."""
    if shutil.which("tracescore"):
        return "tracescore"
    path = Path(sys.argv[0])
    try:
        return _quoted(os.path.relpath(path)) if path.exists() else "tracescore"
    except ValueError:  # another drive
        return _quoted(str(path))


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text) if os.name == "posix" else f'"{text}"' if " " in text else text


def _content(item: ExpectedRun) -> RenderableType:
    from rich.console import Group

    from tracescore.cli.cards import content_grid, heading, input_rows, output_rows

    rows = [*input_rows(item.run), *output_rows(item.run)]
    if not any(label in ("tool", "output") for label, _ in rows):
        rows.append(("output", "(none)"))
    return Group(heading(item.run, facts=False).append(f"  {item.file}", style="dim"), content_grid(rows))


def _outcomes(outcomes: list[ShownOutcome]) -> RenderableType:
    from rich.text import Text

    from tracescore.cli.cards import outcome_grid

    return outcome_grid(outcomes) if outcomes else Text("  no rule wants it", style="dim")


def _sum_row(scorer_id: str, expected: Mapping[str, ExpectedRun], progress: Progress) -> list[str]:
    owed = [(run_id, scorer_id) for run_id, item in expected.items() if scorer_id in item.scorer_ids]
    outcomes = [outcome for key in owed if (outcome := progress.outcomes.get(key))]
    scores = [outcome for outcome in outcomes if outcome.outcome == "score"]
    values = [outcome.score for outcome in scores if outcome.counted and outcome.score is not None]
    return [
        f"{sum(values) / len(values):.2f}" if values else "–",
        f"{min(values):.2f}" if values else "–",
        str(len(scores)),
        str(sum(outcome.outcome == "not_scorable" for outcome in outcomes)),
        str(sum(outcome.outcome == "failure" for outcome in outcomes)),
        str(len(owed)),
    ]
