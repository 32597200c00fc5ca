"""``tracescore scores``: the outcomes in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tracescore.cli.opening import shown
from tracescore.cli.options import AsJson, Limit, Project, Store, settings

if TYPE_CHECKING:
    from tracescore.store import RunRow, ScoreRow
    from tracescore.store import Store as OpenStore

_HIDDEN = ("project", "evidence", "created_ns")


def scores(
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
    trace: Annotated[str | None, typer.Option("--trace", metavar="ID", help="Of this trace.")] = None,
    span: Annotated[str | None, typer.Option("--span", metavar="ID", help="Of this span.")] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Of this run.")] = None,
    scorer: Annotated[str | None, typer.Option("--scorer", metavar="ID", help="By this scorer.")] = None,
    outcome: Annotated[
        Literal["score", "failure", "not_scorable"] | None, typer.Option("--outcome", help="Of this kind.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Scored since: 15m, 2h, 7d, or an ISO time.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Superseded outcomes too.")] = False,
    limit: Limit = 50,
) -> None:
    """Show the scores in the store, newest first.

    Failures, and what was not scorable, are outcomes too and stand among them.
    """
    from tracescore.cli.ids import checked_id
    from tracescore.cli.opening import opened_store
    from tracescore.cli.paging import first_items, say_more
    from tracescore.cli.screen import print_json
    from tracescore.cli.times import since_ns

    chosen = settings(store=data, project=project)
    begin = since_ns(since, option="--since")
    of_trace, of_span = checked_id(trace, option="--trace"), checked_id(span, option="--span")
    of_run = checked_id(run, option="--run")

    async def read(store: OpenStore) -> tuple[list[ScoreRow], bool, dict[str, RunRow]]:
        found, more = await first_items(
            lambda size, after: store.scores.list(
                chosen.project,
                trace_id=of_trace,
                span_id=of_span,
                run_id=of_run,
                scorer_id=scorer,
                outcome=outcome,
                since_ns=begin,
                current=None if every else True,
                limit=size,
                after=after,
            ),
            limit,
        )
        if scorer is not None and not found:
            await _check_scorer(store, chosen.project, scorer)
        rows = [await store.runs.get(chosen.project, run_id) for run_id in dict.fromkeys(row.run_id for row in found)]
        return found, more, {row.run_id: row for row in rows if row is not None}

    with opened_store(chosen.store) as store:
        found, more, stored_runs = asyncio.run(read(store))
    if as_json:
        print_json([score_row_to_json(row) for row in found])
    else:
        _print(found, stored_runs, location=chosen.store)
    if more:
        say_more(len(found))


async def _check_scorer(store: OpenStore, project: str, scorer_id: str) -> None:
    from difflib import get_close_matches

    from tracescore.errors import InputError

    known = sorted({version.scorer_id for version in await store.offered.versions(project)})
    if scorer_id in known or (await store.scores.list(project, scorer_id=scorer_id, current=None, limit=1)).items:
        return
    near = get_close_matches(scorer_id, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(known[:20]) or 'none'}"
    raise InputError(f"project {project!r} of this store has never seen a scorer {scorer_id[:80]!r}; {hint}")


def score_row_to_json(row: ScoreRow) -> dict[str, Any]:
    """Give a stored outcome as JSON, its fields named as in the API; without its evidence."""
    from dataclasses import asdict

    from tracescore.cli.times import iso

    value = {name: item for name, item in asdict(row).items() if name not in _HIDDEN}
    return value | {"created_at": iso(row.created_ns)}


def _print(found: Sequence[ScoreRow], stored_runs: dict[str, RunRow], *, location: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from tracescore.cli.cards import agent_label
    from tracescore.cli.outcomes import shown_row
    from tracescore.cli.screen import console, one_line
    from tracescore.cli.times import clock

    out = console()
    if not found:
        out.print(f"No outcomes in {shown(location)} for that.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("scored", no_wrap=True, style="dim")
    table.add_column("agent", max_width=24)
    table.add_column("run", no_wrap=True, style="dim")
    table.add_column("scorer", no_wrap=True, style="magenta")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    for row in found:
        outcome = shown_row(row)
        stored = stored_runs.get(row.run_id)
        agent = agent_label(stored.agent_name, stored.kind) if stored else "(run)"
        table.add_row(
            clock(row.created_ns),
            Text(agent),
            row.run_id[:8],
            Text(one_line(row.scorer_id)),
            outcome.text(),
            Text(outcome.words, style="red" if outcome.outcome == "failure" else ""),
        )
    out.print(table)
