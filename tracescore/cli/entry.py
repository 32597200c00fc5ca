"""The console script: which commands there are, and what becomes of an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import Annotated

import typer

from tracescore.cli import (
    backfill,
    batches,
    demo,
    doctor,
    explain,
    importing,
    init,
    migrate,
    replay,
    runs,
    score,
    scorers,
    scores,
    serve,
    tokens,
    up,
    worker,
)
from tracescore.cli.processes import ProcessesFailed
from tracescore.cli.screen import note
from tracescore.errors import ConfigurationError, InputError, StoreUnavailable, TracescoreError

_DEBUG_OPTION = "--debug"

app = typer.Typer(
    name="tracescore",
    help="Score what LLM agents really did, from the OpenTelemetry spans they already emit.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option(_DEBUG_OPTION, help="Show the stack trace of an error.")] = False,
) -> None:
    """Score what LLM agents really did, from the OpenTelemetry spans they already emit."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tracescore {installed('tracescore')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (
    demo.demo,
    init.init,
    up.up,
    serve.serve,
    migrate.migrate,
    worker.worker,
    runs.runs,
    explain.explain,
    score.score,
    scores.scores,
    replay.replay,
    scorers.scorers,
    backfill.backfill,
    batches.batches,
    doctor.doctor,
):
    app.command()(_command)
app.command("import")(importing.import_)
app.add_typer(tokens.app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; an error is one line on stderr, never a stack trace.

    0 done, 1 something failed, 2 what was asked cannot work (arguments, settings, an unreadable file), 130 interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # What a scorer prints must not stand between machine output: with --json only print_json writes to stdout.
        with redirect_stdout(sys.stderr) if "--json" in given else nullcontext():
            outcome = app(given, prog_name="tracescore", standalone_mode=False)
    except typer.TyperException as error:
        note(f"tracescore: {error.format_message()} (see `tracescore --help`)")
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        note("tracescore: interrupted")
        return 130
    except Exception as error:  # the edge: whatever it is, a user gets one line
        if _DEBUG_OPTION in given:
            raise
        note(f"tracescore: {_in_words(error)}")
        return _exit_code(error)
    return outcome if isinstance(outcome, int) else 0


def _in_words(error: Exception) -> str:
    if isinstance(error, StoreUnavailable):
        return f"{error} (nothing was changed; try again in {error.retry_after:g} s)"
    if isinstance(error, TracescoreError):
        return str(error)
    return (
        f"unexpected {type(error).__name__}: {error} "
        f"(a defect of tracescore; `tracescore {_DEBUG_OPTION} …` shows where)"
    )


def _exit_code(error: Exception) -> int:
    if isinstance(error, ProcessesFailed):
        return error.exit_code
    return 2 if isinstance(error, (ConfigurationError, InputError)) else 1
