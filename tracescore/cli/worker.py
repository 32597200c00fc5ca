"""``tracescore worker``: one worker process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from tracescore.cli.notices import warn_of_no_rules, warn_of_unknown_variables
from tracescore.cli.opening import check_is_store, shown
from tracescore.cli.options import (
    App,
    AsJson,
    Broker,
    Store,
    find_modules_here,
    log_to_stderr,
    required_app,
    settings,
)

if TYPE_CHECKING:
    from tracescore.settings import Settings

RUNNER = "tracescore.workers.run"
"""Named, not imported: in a checkout the package is the folder workers/."""


def worker(
    data: Store = None,
    broker: Broker = None,
    app_name: App = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where all is well.")] = False,
) -> None:
    """Run one worker: it settles, plans and scores."""
    from tracescore.app import load_app
    from tracescore.cli.screen import note, print_json

    chosen = settings(store=data, broker=broker, app=app_name)
    name = required_app(chosen.app)
    find_modules_here()
    app = load_app(name)
    check_is_store(chosen.store)
    if not quiet:  # as a child of `up`, which has said it
        warn_of_unknown_variables()
        warn_of_no_rules(app)
    log_to_stderr()
    if as_json:
        print_json({"event": "starting", "app": name, "data": shown(chosen.store)})
    elif not quiet:
        note(f"Worker for {name}, store {shown(chosen.store)}. Ctrl-C drains and stops.")
    run_worker: Callable[[Settings], int] = import_module(RUNNER).run_worker
    raise typer.Exit(run_worker(chosen))
