"""``tracescore up``: the whole system on one machine."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracescore.cli.notices import warn_of_no_rules, warn_of_unknown_variables
from tracescore.cli.options import (
    App,
    AsJson,
    Broker,
    Host,
    Insecure,
    Port,
    Store,
    find_modules_here,
    log_to_stderr,
    required_app,
    settings,
)

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.settings import Settings


def up(
    host: Host = None,
    port: Port = None,
    data: Store = None,
    broker: Broker = None,
    insecure: Insecure = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, max=256, help="How many worker processes (1).")
    ] = None,
    app_name: App = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each outcome.")] = False,
) -> None:
    """Run the whole system on this machine.

    Receiver, store, broker and workers, until Ctrl-C; each outcome is a line as it is written.
    """
    from tracescore.app import load_app
    from tracescore.cli.address import endpoint, free_port
    from tracescore.cli.following import Follower
    from tracescore.cli.opening import opened_store, shown
    from tracescore.cli.screen import note, print_json
    from tracescore.cli.starting import wait_ready
    from tracescore.cli.system import one_machine, run_until_stopped

    chosen = settings(
        host=host,
        port=port,
        store=data,
        broker=broker,
        insecure=insecure or None,
        worker_processes=workers,
        app=app_name,
    )
    name = required_app(chosen.app)
    find_modules_here()
    app = load_app(name)  # here first: what is wrong with it is one line, not a worker that will not start
    warn_of_unknown_variables()
    warn_of_no_rules(app)
    if chosen.port == 0:
        chosen = replace(chosen, port=free_port(chosen.host))
    log_to_stderr()
    began_ns = time.time_ns()
    # A scorer may print; with --json our stdout must hold nothing else.
    logs = Path(chosen.store) / "logs" if as_json and "://" not in chosen.store else None
    with one_machine(chosen, say=note, logs=logs) as supervisor:
        wait_ready(supervisor, silent=as_json)
        if as_json:
            print_json(
                {
                    "event": "listening",
                    "url": endpoint(chosen),
                    "grpc_port": chosen.otlp_grpc_port,
                    "data": shown(chosen.store),
                    "scorers": list(app.scorers),
                },
            )
        else:
            _greet(chosen, app)
        with (
            opened_store(chosen.store) as store,
            Follower(store, chosen, since_ns=began_ns, as_json=as_json, quiet=quiet),
        ):
            run_until_stopped(supervisor)
    if not as_json:
        note("Stopped. Nothing is lost: what was received is in the store.")


def _greet(chosen: Settings, app: TraceScore) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from tracescore.cli.address import endpoint
    from tracescore.cli.screen import console, one_line

    out = console()
    plural = "es" if chosen.worker_processes > 1 else ""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("receiver", Text(f"{endpoint(chosen)}   OTLP over HTTP", style="bold"))
    if chosen.otlp_grpc_port is not None:
        grid.add_row("", Text(f"{endpoint(replace(chosen, port=chosen.otlp_grpc_port))}   OTLP over gRPC"))
    grid.add_row("data", Text(_place(chosen.store)))
    grid.add_row("app", Text(f"{chosen.app}, in {chosen.worker_processes} worker process{plural}"))
    grid.add_row("scorers", Text(one_line(", ".join(app.scorers), limit=400)))
    out.print()
    out.print(Padding(grid, (0, 0, 0, 2)))
    out.print()
    out.print("  Point an OpenTelemetry exporter at it:")
    out.print(Text(f"  export OTEL_EXPORTER_OTLP_ENDPOINT={endpoint(chosen)}", style="cyan"), soft_wrap=True)
    out.print()
    out.print(Text(f"  A run is scored {chosen.settle_quiet:g} s after its last span came. Ctrl-C stops.", style="dim"))
    out.print()
    sys.stdout.flush()


def _place(location: str) -> str:
    from tracescore.cli.opening import is_url, shown

    return shown(location) if is_url(location) else str(Path(location).absolute())
