"""``tracescore scorers``: what an app scores, or what the workers of a store offer."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.options import App, AsJson, Project, Store, find_modules_here, required_app, settings
from tracescore.errors import InputError

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.settings import Settings

LIVE_SECONDS = 60
"""How lately an offer must have been seen to count."""


def scorers(
    app_name: App = None,
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="What changed in the app's scorers since they were last offered.")
    ] = False,
    scorer_id: Annotated[str | None, typer.Option("--scorer", metavar="ID", help="With --diff: only this one.")] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="VERSION", help="With --diff: since this version, or what it begins with."),
    ] = None,
) -> None:
    """Show an app's scorers, or without --app what live workers offer."""
    from tracescore.cli.screen import console, print_json

    if diff:
        _diff(app_name, as_json, settings(store=data, project=project), scorer_id, against)
        return
    if scorer_id or against:
        raise InputError("--scorer and --against go with --diff")
    if app_name:
        from tracescore.app import load_app

        find_modules_here()
        found = scorers_of_app(load_app(app_name))
    else:
        found = _offered(settings(store=data, project=project))
    if as_json:
        print_json(found)
    elif not found:
        console().print(
            "No live worker offers a scorer. Start one with `tracescore up`, "
            "or list an app's scorers with --app module:attr."
        )
    else:
        _print(found)


def scorers_of_app(app: TraceScore) -> list[dict[str, Any]]:
    """Give an app's scorers as JSON."""
    return [
        {
            "scorer_id": scorer.id,
            "description": scorer.description,
            "type": scorer.type,
            "version": scorer.version,
            "score_range": scorer.score_range,
            "higher_is_better": scorer.higher_is_better,
            "needs_judge": scorer.needs_judge,
            "steps": [{"name": step.name, "kind": step.kind, "description": step.description} for step in scorer.steps],
            "app": app.name,
            "worker": None,
            "seen_at": None,
        }
        for scorer in app.scorers.values()
    ]


def _diff(app_name: str | None, as_json: bool, chosen: Settings, scorer_id: str | None, against: str | None) -> None:
    from tracescore.app import load_app
    from tracescore.cli.screen import print_json
    from tracescore.cli.version_diff import print_diffs, version_diffs

    find_modules_here()
    app = load_app(required_app(app_name))
    found = version_diffs(app, chosen, scorer_id=scorer_id, against=against)
    if as_json:
        print_json(found)
    else:
        print_diffs(found)


def _offered(chosen: Settings) -> list[dict[str, Any]]:
    from tracescore.cli.opening import exists, opened_store, shown
    from tracescore.cli.times import iso

    if not exists(chosen.store):
        raise InputError(
            "neither an app nor a store to look into: --app module:attr or TRACESCORE_APP lists an app's scorers; "
            f"what workers offer stands in a store, and there is none in {shown(chosen.store)!r} "
            "(`tracescore up` makes one, --data FOLDER looks into another)"
        )
    with opened_store(chosen.store) as store:
        rows = asyncio.run(store.control.offers(chosen.project, time.time_ns() - LIVE_SECONDS * 10**9))
    return [
        {
            "scorer_id": row.offer.scorer_id,
            "description": row.offer.description,
            "type": None,
            "version": row.offer.version,
            "score_range": row.offer.score_range,
            "higher_is_better": row.offer.higher_is_better,
            "needs_judge": row.offer.needs_judge,
            "steps": [],
            "app": row.app,
            "worker": row.worker,
            "seen_at": iso(row.seen_ns),
        }
        for row in rows
    ]


def _print(found: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from tracescore.cli.screen import console, one_line

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("scorer", style="magenta", no_wrap=True)
    table.add_column("range", no_wrap=True)
    table.add_column("how", no_wrap=True)
    table.add_column("what it looks at", ratio=1, overflow="fold")
    table.add_column("version", style="dim", no_wrap=True)
    table.add_column("offered by", style="dim", overflow="fold")
    for item in found:
        low_high = item["score_range"]
        arrow = "↑" if item["higher_is_better"] else "↓"
        table.add_row(
            Text(one_line(item["scorer_id"])),
            f"{low_high[0]:g}–{low_high[1]:g} {arrow}" if low_high else f"free {arrow}",
            "judge" if item["needs_judge"] else "code",
            Text(one_line(item["description"] or "")),
            Text(one_line(item["version"], limit=14)),
            Text(one_line(f"{item['app']} · {item['worker']}" if item["worker"] else item["app"], limit=48)),
        )
    console().print(table)
