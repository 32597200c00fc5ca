"""``tracescore runs``: the runs in files, or those that the store holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.options import FILES_HELP, AsJson, Limit, Project, Store, settings

if TYPE_CHECKING:
    from tracescore.model import ScorerRun
    from tracescore.settings import Settings
    from tracescore.store import RunFilters


def runs(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help=FILES_HELP),
    ] = None,
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
    limit: Limit = 20,
    trace: Annotated[str | None, typer.Option("--trace", metavar="ID", help="Stored runs of this trace.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Stored runs of this agent.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Stored runs of this kind.")] = None,
) -> None:
    """Show the agent runs in files, or those in the store.

    Without a file: the store's, newest first.
    """
    if files:
        _of_files(files, as_json=as_json)
    else:
        from tracescore.cli.ids import checked_id
        from tracescore.store import RunFilters

        filters = RunFilters(trace_id=checked_id(trace, option="--trace"), agent_name=agent, kind=kind)
        _of_store(settings(store=data, project=project), filters, limit=limit, as_json=as_json)


def _of_files(files: list[Path], *, as_json: bool) -> None:
    from tracescore.cli.reading import UNREADABLE, read_runs

    reading = read_runs(files)
    _print(reading.runs, as_json=as_json, none="No runs: these files hold no spans." if reading.all_read else "")
    if not reading.all_read:
        raise typer.Exit(UNREADABLE)


def _of_store(chosen: Settings, filters: RunFilters, *, limit: int, as_json: bool) -> None:
    from tracescore.cli.opening import opened_store
    from tracescore.cli.paging import first_items, say_more
    from tracescore.model import load_any_run
    from tracescore.store import RunFilters

    with opened_store(chosen.store) as store:
        rows, more = asyncio.run(
            first_items(
                lambda size, after: store.runs.list(chosen.project, filters=filters, limit=size, after=after), limit
            )
        )
    _print(
        [load_any_run(row.body) for row in rows],
        as_json=as_json,
        none=f"No runs in {chosen.store}{' for that' if filters != RunFilters() else ' yet'}.",
    )
    if more:
        say_more(len(rows))


def _print(found: Sequence[ScorerRun[Any, Any]], *, as_json: bool, none: str) -> None:
    from tracescore.cli.cards import card
    from tracescore.cli.screen import console, print_json
    from tracescore.model import run_to_json

    if as_json:
        print_json([run_to_json(run) for run in found])
        return
    out = console()
    for run in found:
        out.print(card(run))
    if not found and none:
        out.print(none)
