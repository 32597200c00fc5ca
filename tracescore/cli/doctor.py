"""``tracescore doctor``: is everything there that scoring needs?"""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from typing import Annotated

import typer

from tracescore.cli.options import App, AsJson, Broker, Project, Store, find_modules_here, settings

_MARK = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "bold red")}


def doctor(
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
    broker: Broker = None,
    app_name: App = None,
    spans: Annotated[
        bool,
        typer.Option("--spans", help="List the services seen instead: readable, without content, no agents."),
    ] = False,
) -> None:
    """Check store, broker, workers, app and judge.

    Each is a line with what to do about it; exit code 1 where something has failed.
    """
    if spans:
        from tracescore.cli.doctor_spans import show_spans

        show_spans(settings(store=data, project=project), as_json=as_json)
        return
    from tracescore.cli.checks import check_all
    from tracescore.cli.screen import console, one_line, print_json

    find_modules_here()
    chosen = settings(store=data, project=project, broker=broker, app=app_name)
    found = asyncio.run(check_all(chosen, os.environ))
    failed = any(check.state == "fail" for check in found)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in found]})
    else:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, style="bold")
        grid.add_column(overflow="fold")
        for check in found:
            mark, style = _MARK[check.state]
            said = Text(one_line(check.message))
            if check.todo:
                said.append(f"\n→ {one_line(check.todo)}", style="cyan")
            grid.add_row(Text(mark, style=style), check.name, said)
        console().print(grid)
    if failed:
        raise typer.Exit(1)
