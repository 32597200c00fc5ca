"""``tracescore demo``: the whole system on real traces, with nothing to set up."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracescore.cli.options import DEMO_APP, AsJson
from tracescore.errors import TracescoreError

if TYPE_CHECKING:
    from tracescore.cli.demo_expected import ExpectedRun
    from tracescore.cli.demo_live import Display
    from tracescore.cli.demo_progress import Progress
    from tracescore.cli.demo_traffic import DemoFile
    from tracescore.cli.processes import Supervisor
    from tracescore.settings import Settings
    from tracescore.store import Store

SETTLE_QUIET = 2.0
"""Seconds of silence after which a run counts as finished; 10 outside the demo."""
PAUSE = 0.08
"""Between two exports, so that the way of each can be followed."""
LOOK_EVERY = 0.15
JUDGE_CALLS = 20
"""The judge's budget: more than its sample of the bundled traces comes to, held by a test."""
PATIENCE = 50.0
"""How long to wait for the processes, and then for the last outcome; judges may take a while."""


@dataclass(slots=True)
class Exporter:
    """Post the files from a thread, one after the other; what was acknowledged is in ``posted``."""

    files: Sequence[DemoFile]
    endpoint: str
    posted: set[str] = field(default_factory=set)
    failure: TracescoreError | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        threading.Thread(target=self._run, name="tracescore-demo-exporter", daemon=True).start()

    def _run(self) -> None:
        from tracescore.cli.demo_traffic import post

        try:
            for file in self.files:
                post(file, endpoint=self.endpoint)
                self.posted.add(file.name)
                time.sleep(PAUSE)
        except TracescoreError as error:
            self.failure = error


def demo(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="Where the store goes; a fresh temporary folder.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the system running afterwards, until Ctrl-C.")] = False,
    broker: Annotated[
        str | None, typer.Option("--broker", metavar="embedded|none|URL", help="What wakes the worker (embedded).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run everything on bundled real traces; no key needed.

    Starts receiver, store, broker and worker on this machine, posts the traces as an exporter would, shows each run's
    way to its scores, and checks the end against what it worked out by itself: exit code 1 if anything is missing.
    """
    from tracescore.app import load_app
    from tracescore.cli.address import endpoint, free_port
    from tracescore.cli.demo_expected import expected_runs
    from tracescore.cli.demo_filter import compared, comparison_json, print_comparison
    from tracescore.cli.demo_report import print_all, report_json, unmet
    from tracescore.cli.demo_traffic import demo_files
    from tracescore.cli.opening import opened_store
    from tracescore.cli.processes import ProcessesFailed
    from tracescore.cli.screen import console, note, print_json
    from tracescore.cli.starting import wait_ready
    from tracescore.cli.system import one_machine, run_until_stopped
    from tracescore.settings import Settings

    began = time.monotonic()
    folder = (data or Path(tempfile.mkdtemp(prefix="tracescore-demo-"))).absolute()
    # The demo's scores are of no interest to the endpoint that real ones are written back to.
    os.environ.pop("TRACESCORE_OTLP_ENDPOINT", None)
    chosen = Settings(
        app=DEMO_APP,
        store=str(folder),
        broker=broker or "embedded",
        port=free_port(Settings().host),
        settle_quiet=SETTLE_QUIET,
    )
    app, files = load_app(DEMO_APP), demo_files()
    expected = expected_runs(app, files, project=chosen.project)
    out = console()
    if not as_json:
        _greet(chosen, files, judged=[scorer.id for scorer in app.scorers.values() if scorer.needs_judge])
    with one_machine(chosen, say=note, logs=folder / "logs") as supervisor:
        try:
            wait_ready(supervisor, silent=as_json, patience=PATIENCE)
            with opened_store(chosen.store) as store:
                exporter = Exporter(files=files, endpoint=endpoint(chosen))
                exporter.start()
                progress = _follow(store, chosen, expected, exporter, supervisor, _display(expected, silent=as_json))
        except ProcessesFailed as error:
            logs = folder / "logs"
            raise ProcessesFailed(f"{error}; what they said is in {logs}", exit_code=error.exit_code) from error
        except KeyboardInterrupt:
            note(f"Stopping. What was received is in {folder}.")
            raise
        seconds = time.monotonic() - began
        twice = compared(expected)
        problems = unmet(expected, progress)
        if as_json:
            report = report_json(expected, progress, folder=folder, app=DEMO_APP, seconds=seconds)
            print_json(report | {"filter": comparison_json(twice)})
        else:
            print_all(out, expected, progress, files=len(files), seconds=seconds)
            print_comparison(out, twice)
            _go_on(folder)
        if keep:
            note(
                f"Still running: OTEL_EXPORTER_OTLP_ENDPOINT={endpoint(chosen)} takes spans of your own. Ctrl-C stops."
            )
            run_until_stopped(supervisor)
    if problems:
        note(f"The logs of its processes are in {folder / 'logs'}.")
        raise typer.Exit(1)


def _display(expected: Mapping[str, ExpectedRun], *, silent: bool) -> Display | None:
    from tracescore.cli.demo_live import display
    from tracescore.cli.screen import console

    return None if silent else display(console(), expected)


def _follow(
    store: Store,
    chosen: Settings,
    expected: Mapping[str, ExpectedRun],
    exporter: Exporter,
    supervisor: Supervisor,
    shown: Display | None,
) -> Progress:
    """Look and show until every expected outcome is there, or the time is up."""
    from tracescore.cli.demo_progress import look

    give_up = time.monotonic() + PATIENCE
    try:
        while True:
            posted = frozenset(exporter.posted)
            progress = asyncio.run(look(store, expected, project=chosen.project, posted=posted))
            if shown is not None:
                shown.show(progress)
            if exporter.failure is not None:
                raise exporter.failure
            done = len(posted) == len(exporter.files) and progress.count("scored") == len(expected)
            if done or time.monotonic() > give_up or supervisor.wait(LOOK_EVERY):
                return progress
    finally:
        if shown is not None:
            shown.close()


def _greet(chosen: Settings, files: Sequence[DemoFile], *, judged: Sequence[str]) -> None:
    from rich.text import Text

    from tracescore.cli.address import endpoint
    from tracescore.cli.demo_app import JUDGE_MODEL, JUDGE_SAMPLE_RATE
    from tracescore.cli.demo_filter import PAID_RUNS
    from tracescore.cli.screen import console

    out = console()
    traces = sum(len(file.trace_ids) for file in files)
    out.print()
    out.print(Text("  tracescore demo", style="bold"))
    out.print(
        f"  {len(files)} real exports ({traces} traces, {sum(file.spans for file in files)} spans) of six libraries"
    )
    out.print(f"  go to {endpoint(chosen)} as OTLP over HTTP: protobuf, gzip.")
    out.print(f"  A run is finished after {chosen.settle_quiet:g} s without a new span (10 s outside the demo).")
    if judged:
        out.print(
            f"  Judge: {', '.join(judged)} asks {JUDGE_MODEL} about {JUDGE_SAMPLE_RATE:.0%} of the runs, "
            f"at most {JUDGE_CALLS} calls, and in the end twice about {PAID_RUNS} runs, with and without a filter."
        )
    else:
        out.print(
            Text("  Four scorers, plain code. With OPENAI_API_KEY or OPENAI_BASE_URL a judge joins in.", style="dim")
        )
    out.print()


def _go_on(folder: Path) -> None:
    from rich.text import Text

    from tracescore.cli.demo_report import go_on
    from tracescore.cli.screen import console

    out = console()
    out.print(f"  The data lies in {folder}. Go on with:")
    out.print()
    for line, meaning in go_on(folder, DEMO_APP):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
        out.print(Text(f"      {meaning}", style="dim"))
    out.print()
