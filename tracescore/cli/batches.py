"""``tracescore batches``: what was asked for together, and how far it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.options import AsJson, Limit, Project, Store, settings

if TYPE_CHECKING:
    from tracescore.store import BatchSummary
    from tracescore.store import Store as OpenStore


def batches(
    batch_id: Annotated[str | None, typer.Argument(metavar="ID", help="Follow this one to its end.")] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel what is pending of it.")] = False,
    project: Project = None,
    limit: Limit = 20,
    as_json: AsJson = False,
    data: Store = None,
) -> None:
    """List batches, follow one, or cancel what is pending of it."""
    from tracescore.cli.opening import opened_store
    from tracescore.cli.paging import say_more
    from tracescore.cli.screen import console, print_json

    chosen = settings(store=data, project=project)
    if cancel and batch_id is None:
        raise typer.BadParameter("give the batch that is to be cancelled")
    with opened_store(chosen.store) as store:
        if batch_id is None:
            found = asyncio.run(_listed(store, chosen.project, limit + 1))
            more, found = len(found) > limit, found[:limit]
            if as_json:
                print_json(found)
            elif found:
                _print(found)
            else:
                console().print("No batches yet: `tracescore backfill --scorer ID` makes one.")
            if more:
                say_more(len(found))
        elif cancel:
            _cancel(store, chosen.project, batch_id, as_json=as_json)
        else:
            from tracescore.cli.batch_progress import follow

            raise typer.Exit(follow(store, chosen.project, batch_id, as_json=as_json))


def _cancel(store: OpenStore, project: str, batch_id: str, *, as_json: bool) -> None:
    from tracescore.cli.batch_progress import progress_of
    from tracescore.cli.screen import console, print_json

    asyncio.run(progress_of(store, project, batch_id))  # refuses one that is not there
    count = asyncio.run(store.backfills.cancel(project, batch_id))
    if as_json:
        print_json({"batch_id": batch_id, "cancelled": count})
    else:
        console().print(f"{count} pending jobs cancelled; what workers hold already is finished.")


async def _listed(store: OpenStore, project: str, limit: int) -> list[dict[str, Any]]:
    return [await _one(store, project, summary) for summary in await store.backfills.batches(project, limit=limit)]


async def _one(store: OpenStore, project: str, summary: BatchSummary) -> dict[str, Any]:
    from tracescore.cli.batch_progress import progress_of
    from tracescore.cli.times import iso

    progress = await progress_of(store, project, summary.batch_id)
    return {
        "batch_id": summary.batch_id,
        "kind": summary.kind,
        "created_at": iso(summary.created_ns),
        **progress.as_json(),
    }


def _print(found: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from tracescore.cli.screen import console, one_line

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for name in ("batch", "kind", "made", "scorer", "state"):
        table.add_column(name, no_wrap=name != "scorer", overflow="fold")
    for name in ("scored", "not scorable", "failed", "open"):
        table.add_column(name, justify="right", no_wrap=True)
    for item in found:
        table.add_row(
            item["batch_id"],
            item["kind"],
            item["created_at"][:19].replace("T", " "),
            Text(one_line(item["scorer_id"] or "")),
            item["state"],
            *(str(item[name]) for name in ("scored", "not_scorable", "failed", "open")),
        )
    console().print(table)
