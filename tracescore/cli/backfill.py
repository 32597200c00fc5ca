"""``tracescore backfill``: score runs that are stored already."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tracescore.cli.options import AsJson, Project, Store, settings


def backfill(
    scorer_id: Annotated[str, typer.Option("--scorer", metavar="ID", help="A scorer that a running worker offers.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="KEY=VALUE",
            help="agent, service, environment, session, status, tags or attributes.NAME; repeatable: several values "
            "of one key are alternatives.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Stored runs of this kind, such as session or tool; outermost agent runs unless given.",
        ),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Runs begun since: 7d, or a date.")] = (
        None
    ),
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Runs begun before.")] = None,
    sample: Annotated[float, typer.Option("--sample", metavar="RATE", help="A share of them, from 0 to 1.")] = 1.0,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many, newest first.")] = (
        None
    ),
    project: Project = None,
    as_json: AsJson = False,
    data: Store = None,
) -> None:
    """Score stored runs with one scorer, behind live work.

    Runs that this version of the scorer has an outcome for are skipped. Workers do all of it: Ctrl-C, or the end of
    this command however it ends, leaves them at it, and `tracescore batches ID` follows again.
    """
    from tracescore.cli.batch_progress import follow
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import note, print_json
    from tracescore.cli.times import since_ns
    from tracescore.pipeline.backfill import create_backfill
    from tracescore.store import BackfillSpec

    chosen = settings(store=data, project=project)
    spec = BackfillSpec(
        kind=kind,
        where=read_where(where or ()),
        sample_rate=sample,
        since_ns=since_ns(since, option="--since"),
        until_ns=since_ns(until, option="--until"),
        limit=limit,
    )
    with opened_store(chosen.store) as store:
        made = asyncio.run(create_backfill(store, chosen.project, scorer_id, spec))
        if as_json:
            print_json(
                {
                    "event": "created",
                    "batch_id": made.batch_id,
                    "scorer_id": made.scorer_id,
                    "scorer_version": made.scorer_version,
                    "runs": made.total,
                },
            )
        else:
            note(f"Backfill {made.batch_id}: {made.scorer_id} {made.scorer_version} over {made.total} stored runs")
        raise typer.Exit(follow(store, chosen.project, made.batch_id, as_json=as_json))


def read_where(given: Sequence[str]) -> dict[str, list[Any]]:
    """Read conditions; an attribute's value counts as text and as the number or boolean that it reads as.

    Raises:
        InputError: one is not ``key=value``.
    """
    import json

    from tracescore.errors import InputError

    where: dict[str, list[Any]] = {}
    for condition in given:
        key, equals, value = condition.partition("=")
        if not equals or not key:
            raise InputError(f"--where {condition!r}: give key=value, such as agent=writer")
        values = where.setdefault(key.strip(), [])
        values.append(value)
        if key.startswith("attributes."):
            try:
                read = json.loads(value)
            except ValueError:
                continue
            if isinstance(read, (int, float, bool)) or read is None:
                values.append(read)
    return where
