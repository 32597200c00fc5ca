"""``tracescore replay``: does a stored score follow from its own evidence?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.options import App, AsJson, Project, Store, find_modules_here, required_app, settings

if TYPE_CHECKING:
    from tracescore.pipeline.replay import Replay

DIFFERENT = 1
"""The exit code where the replayed outcome is not the stored one."""
_SHOWN = 240
_BEFORE = 40


def replay(
    score_id: Annotated[
        str, typer.Argument(metavar="SCORE_ID", help="Of the outcome; `tracescore scores --json` lists ids.")
    ],
    live: Annotated[
        bool, typer.Option("--live", help="Ask the judge again instead: it costs what scoring costs.")
    ] = False,
    app_name: App = None,
    as_json: AsJson = False,
    data: Store = None,
    project: Project = None,
) -> None:
    """Rebuild a stored score from the raw replies of its judge, and say whether it is the same.

    No judge is asked unless --live says so; steps that are code run again; nothing is written.

    Exit code 0: the same; 1: not the same; 2: there is nothing to replay, or no app to do it with.
    """
    from tracescore.app import load_app
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import print_json
    from tracescore.pipeline.replay import replay as replayed_of
    from tracescore.redaction import load_redaction

    find_modules_here()
    app = load_app(required_app(app_name))
    chosen = settings(store=data, project=project)
    with opened_store(chosen.store) as store:
        redaction = app.redaction or load_redaction(chosen.redaction)
        done = asyncio.run(replayed_of(store, app, score_id, project=chosen.project, live=live, redaction=redaction))
    if as_json:
        print_json(_to_json(done, live=live))
    else:
        _print(done, live=live)
    if not done.same:
        raise typer.Exit(DIFFERENT)


def _to_json(done: Replay, *, live: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from tracescore.cli.outcomes import outcome_to_json
    from tracescore.cli.scores import score_row_to_json

    return {
        "same": done.same,
        "live": live,
        "version": done.version,
        "notes": list(done.notes),
        "differences": [asdict(difference) for difference in done.differences],
        "stored": score_row_to_json(done.stored),
        "replayed": outcome_to_json(done.outcome),
    }


def _print(done: Replay, *, live: bool) -> None:
    from rich.text import Text

    from tracescore.cli.cards import outcome_grid
    from tracescore.cli.outcomes import shown, shown_row
    from tracescore.cli.screen import console, note, one_line

    out = console()
    row = done.stored
    how = "asked again" if live else "rebuilt from its evidence"
    for line in done.notes:
        note(line)
    out.print(Text(f"{one_line(row.scorer_id)} of run {row.run_id}, {how}", style="bold"))
    for label, outcome in (("stored", shown_row(row)), ("live" if live else "replayed", shown(done.outcome))):
        out.print(Text(f"{label}:", style="dim"), outcome_grid([outcome]), sep="\n")
    for difference in done.differences:
        out.print(Text(f"✗ {one_line(difference.what)}", style="red"))
        for label, words in zip(("stored", "now"), apart(difference.stored, difference.replayed), strict=True):
            out.print(Text(f"    {label:<7} {one_line(words, limit=_SHOWN)}"))
    if done.same:
        out.print(Text("✓ the same", style="green"))


def apart(stored: str, replayed: str) -> tuple[str, str]:
    """Give two texts from shortly before where they part: of a long prompt nobody wants to see the beginning twice."""
    same = next((at for at, (a, b) in enumerate(zip(stored, replayed, strict=False)) if a != b), None)
    at = min(len(stored), len(replayed)) if same is None else same
    begin = at - _BEFORE if at > _SHOWN // 2 else 0
    return tuple(f"…{text[begin:]}" if begin else text for text in (stored, replayed))  # pyright: ignore[reportReturnType]
