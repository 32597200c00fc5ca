"""``tracescore explain``: why the runs of a trace are what they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.options import AsJson, Project, Store, settings

if TYPE_CHECKING:
    from rich.console import Group

    from tracescore.model import Trace
    from tracescore.pipeline.assembly import ExplainedSpan, Explanation
    from tracescore.settings import Settings

_NAME_LIMIT = 60
_READ_LIMIT = 200
_DEEPEST = 40
"""Columns by which a line is set in at most."""


def explain(
    what: Annotated[str, typer.Argument(metavar="TRACE_ID|FILE", help="A stored trace, or a file of spans.")],
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
) -> None:
    """Show the spans of a trace, what each was read as and what became of it, then the runs."""
    from tracescore.cli.screen import console, print_json
    from tracescore.pipeline.assembly import explain as explained
    from tracescore.pipeline.explaining import explanation_to_json

    chosen = settings(store=data, project=project)
    traces, code = _of_file(Path(what)) if Path(what).exists() else (_stored(what, chosen), 0)
    found = [explained(trace, project=chosen.project) for trace in traces]
    if as_json:
        print_json([explanation_to_json(one) for one in found])
    else:
        out = console()
        for one in found:
            _print(one, out)
        if not found:
            out.print("No spans in this file.")
    if code:
        raise typer.Exit(code)


def _of_file(path: Path) -> tuple[list[Trace], int]:
    from tracescore.cli.reading import UNREADABLE
    from tracescore.cli.screen import note
    from tracescore.sources import read_files

    read = read_files([path])
    for problem in read.problems:
        note(f"tracescore: {problem.path}: {problem.message}")
    return read.traces, UNREADABLE if any(problem.unread for problem in read.problems) else 0


def _stored(trace_id: str, chosen: Settings) -> list[Trace]:
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import stop
    from tracescore.pipeline.explaining import load_trace

    if len(trace_id) != 32 or any(digit not in "0123456789abcdefABCDEF" for digit in trace_id):
        stop(f"{trace_id!r} is neither a file nor a trace id (32 hex digits)", code=2)
    with opened_store(chosen.store) as store:
        trace = asyncio.run(load_trace(store, chosen.project, trace_id.lower()))
    if trace is None:
        stop(f"nothing of trace {trace_id} is stored in {chosen.store} for project {chosen.project!r}")
    return [trace]


def _print(explanation: Explanation, out: Any) -> None:
    from rich.text import Text

    from tracescore.cli.cards import card
    from tracescore.cli.screen import counted

    numbers = {run.run.run_id: number for number, run in enumerate(explanation.runs, 1)}
    out.print(Text(f"trace {explanation.trace_id}", style="bold"))
    for span in explanation.spans:
        out.print(_lines(span, numbers))
    if explanation.left_out:
        out.print(f"{counted(explanation.left_out, 'span')} of tracescore's own left out")
    out.print()
    for number, run in enumerate(explanation.runs, 1):
        out.print(Text(f"run {number}", style="bold"))
        out.print(card(run.run))
    if not explanation.runs:
        out.print("No run: no span of the trace is an agent, a model call or a retrieval.")


def _lines(span: ExplainedSpan, numbers: dict[str, int]) -> Group:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from tracescore.cli.screen import one_line

    name = Text(one_line(span.name, limit=_NAME_LIMIT) or "(no name)", style="bold")
    name.append(f"  {span.role or '-'}", style="not bold cyan")
    if span.dialects:
        name.append(f" by {', '.join(span.dialects)}", style="not bold dim")
    run = f" [run {numbers[span.run_id]}]" if span.run_id in numbers else ""
    lines = [(0, name), (2, Text(f"→ {one_line(span.became)}{run}"))]
    if span.read:
        lines.append((4, Text(one_line("; ".join(span.read), limit=_READ_LIMIT), style="dim")))
    if span.error is not None:
        lines.append((2, Text(f"✗ error  {one_line(span.error)}", style="red")))
    # What wraps goes on below where it began; of a deep tree enough of the line is left to read.
    return Group(*(Padding(text, (0, 0, 0, min(2 * span.depth, _DEEPEST) + by), expand=False) for by, text in lines))
