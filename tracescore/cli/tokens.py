"""``tracescore tokens``: who may send spans and who may read, project by project."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tracescore.cli.options import AsJson, Project, Store, settings

if TYPE_CHECKING:
    from tracescore.store import TokenRow

app = typer.Typer(
    name="tokens",
    help="Make, list and revoke the tokens that senders and readers show.",
    rich_markup_mode=None,
)


@app.command()
def create(
    kind: Annotated[
        Literal["ingest", "read"],
        typer.Option("--kind", help="ingest: send spans and ask for scores; read: read runs and scores."),
    ],
    project: Project = None,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="Who has it, for the list.")] = "",
    data: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is shown this once.

    It goes to stdout alone. Where there is no store yet, one is made: a server may need its first token to start.
    """
    from tracescore.cli.screen import note, print_json
    from tracescore.store import Store as OpenStore

    chosen = settings(store=data, project=project)
    with OpenStore.open(chosen.store) as store:
        made = asyncio.run(store.tokens.create(chosen.project, kind, name=name))
    if as_json:
        print_json({**token_to_json(made.row), "token": made.token})
        return
    typer.echo(made.token)
    note(f"{kind} token {made.row.token_id} of project {made.row.project}; it is shown this once.")
    if kind == "ingest":
        note("Exporters send it where OTEL_EXPORTER_OTLP_HEADERS is Authorization=Bearer%20TOKEN.")


@app.command(name="list")
def list_tokens(project: Project = None, data: Store = None, as_json: AsJson = False) -> None:
    """Show the tokens of a project, or of all of them."""
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import console, print_json

    chosen = settings(store=data, project=project)
    with opened_store(chosen.store) as store:
        found = asyncio.run(store.tokens.list(chosen.project if chosen.projects else None))
    if as_json:
        print_json([token_to_json(row) for row in found])
    elif not found:
        console().print("No tokens. On loopback the receiver takes what comes; `tracescore tokens create` makes one.")
    else:
        _print(found)


@app.command()
def revoke(
    tokens: Annotated[list[str], typer.Argument(metavar="ID...", help="Public ids, as the list has them.")],
    data: Store = None,
    as_json: AsJson = False,
) -> None:
    """End tokens for good; servers refuse them within seconds."""
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import note, print_json
    from tracescore.errors import InputError
    from tracescore.store import public_id

    ended: list[str] = []
    with opened_store(settings(store=data).store) as store:
        for given in tokens:
            # Whoever gives the whole token means its id; the secret is not said again.
            token_id = public_id(given) or given
            if not asyncio.run(store.tokens.revoke(token_id)):
                raise InputError(f"no token {token_id[:16]!r}; `tracescore tokens list` has their ids")
            ended.append(token_id)
    if as_json:
        print_json([{"token_id": token_id, "revoked": True} for token_id in ended])
    else:
        note(f"Revoked {', '.join(ended)}.")


def token_to_json(row: TokenRow) -> dict[str, Any]:
    """Give a token as JSON, without anything of its secret."""
    from tracescore.cli.times import iso

    return {
        "token_id": row.token_id,
        "project": row.project,
        "kind": row.kind,
        "name": row.name,
        "created_at": iso(row.created_ns),
        "last_used_at": None if row.last_used_ns is None else iso(row.last_used_ns),
        "revoked_at": None if row.revoked_ns is None else iso(row.revoked_ns),
    }


def _print(found: list[TokenRow]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from tracescore.cli.screen import console, one_line
    from tracescore.cli.times import ago

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("id", no_wrap=True)
    table.add_column("project", style="magenta", overflow="fold")
    table.add_column("kind", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("made", style="dim", no_wrap=True)
    table.add_column("last used", style="dim", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for row in found:
        table.add_row(
            row.token_id,
            Text(one_line(row.project)),
            row.kind,
            Text(one_line(row.name)),
            ago(row.created_ns),
            "never" if row.last_used_ns is None else ago(row.last_used_ns),
            Text("valid", style="green") if row.revoked_ns is None else Text("revoked", style="red"),
        )
    console().print(table)
