"""2 000 runs for three scorers, exported over HTTP while everything is killed, flushed, restarted and deployed anew.

Not part of ``make test``, which has a short form of it: it takes some minutes. On PostgreSQL there are two servers and
four workers beside a Valkey that forgets, on SQLite a server and two workers as ``tracescore up`` has them. It fails
unless every job has exactly one outcome, every fault found leases held, and no call was made twice but those that were
in flight when a worker was killed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from tests.postgres import PostgresServer
from tests.workers.faults import (
    FAULTS,
    KILLED,
    KILLED_ALONE,
    POSTGRES_FAULTS,
    Account,
    Fault,
    account,
    break_and_finish,
    end_worker,
    kill_server,
    kill_worker,
)
from tests.workers.machines import Machines, running_machines
from tests.workers.processes import ROOT

SCORERS = ("judged", "polite", "length")
JUDGED = 2
WORKERS = {"postgresql": 4, "sqlite": 2}
SERVERS = {"postgresql": 2, "sqlite": 1}
SLOTS = 8
"""Calls in flight per worker."""
LATENCY = 0.25
LEASE = 30
"""Longer than a restart of PostgreSQL takes on a busy machine: a lease that ends meanwhile has its call made again."""
PATIENCE = 300.0


def main() -> int:
    """Run what is asked for and give the number of runs that something was wrong with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each fault comes")
    parser.add_argument("--store", choices=tuple(WORKERS), action="append", help="one store only")
    parser.add_argument("--what", choices=("faults", "deploys"), action="append", help="one of the two only")
    parser.add_argument("--broker", metavar="URL", help="a broker that runs already; it is left as it is")
    options = parser.parse_args()
    wrong = 0
    for store in options.store or WORKERS:
        for what in options.what or ("faults", "deploys"):
            if what == "deploys":
                faults = [end_worker] * (WORKERS[store] * options.rounds)
            else:
                kinds = (kill_worker, kill_server) if options.broker else FAULTS
                faults = [*kinds, *(POSTGRES_FAULTS if store == "postgresql" else ())] * options.rounds
            wrong += bool(_run(store, what, faults, runs=options.runs, broker=options.broker))
    return wrong


def _run(
    store: str, what: str, faults: Sequence[Callable[[Machines], Fault]], *, runs: int, broker: str | None
) -> list[str]:
    jobs = runs * len(SCORERS)
    with (
        tempfile.TemporaryDirectory(prefix="tracescore-chaos-") as folder,
        _location(store, Path(folder)) as (location, postgres),
        _model_server() as model,
        running_machines(
            Path(folder),
            location=location,
            postgres=postgres,
            workers=WORKERS[store],
            servers=SERVERS[store],
            broker=broker,
            app="tests.workers.judged_app:three",
            environ={
                "TEST_MODEL_URL": model,
                "TRACESCORE_SLOTS": str(SLOTS),
                "TRACESCORE_LEASE": str(LEASE),
                "TRACESCORE_SETTLE_QUIET": "1",
            },
        ) as machines,
    ):
        began = time.monotonic()
        numbers = range(1, runs + 1)
        happened = break_and_finish(machines, faults, runs=numbers, scorers=len(SCORERS), patience=PATIENCE)
        seconds = time.monotonic() - began
        found = account(machines.store, numbers, SCORERS)
        calls = _calls(model)
    # What a worker holds when it is killed may have been asked and not kept; a worker that ends in order loses nothing.
    lost = sum(fault.held for fault in happened if fault.name in (KILLED, KILLED_ALONE))
    wrong = list(_complaints(happened, found, jobs=jobs, calls=calls, least=runs * JUDGED, lost=lost))
    print(f"\n{store}, {what}: {runs} runs x {len(SCORERS)} scorers, {WORKERS[store]} workers, {seconds:.0f} s")
    print(f"  {'fault':<32} {'times':>5}  {'leases held at each':<40} seconds until it ran again")
    for name in dict.fromkeys(fault.name for fault in happened):
        these = [fault for fault in happened if fault.name == name]
        held, again = (" ".join(f"{value}" for value in values) for values in _columns(these))
        print(f"  {name:<32} {len(these):>5}  {held:<40} {again}")
    print(f"  {found}")
    print(f"  judge calls {calls}: {runs * JUDGED} jobs, {calls - runs * JUDGED} more; at most {lost} were lost")
    print("\n".join(f"  WRONG: {line}" for line in wrong) or "  all is as it must be", flush=True)
    return wrong


def _columns(faults: Sequence[Fault]) -> tuple[list[int], list[float]]:
    return [fault.held for fault in faults], [round(fault.seconds, 1) for fault in faults]


def _complaints(
    happened: Sequence[Fault], found: Account, *, jobs: int, calls: int, least: int, lost: int
) -> Iterable[str]:
    idle = [fault.name for fault in happened if not fault.held]
    return chain(
        [f"no lease was held at: {', '.join(idle)}"] if idle else [],
        [f"expected {Account(outcomes=jobs)}"] if found != Account(outcomes=jobs) else [],
        [f"{calls} calls, expected {least} to {least + lost}"] if not least <= calls <= least + lost else [],
    )


@contextmanager
def _location(store: str, folder: Path) -> Generator[tuple[str, PostgresServer | None]]:
    if store == "sqlite":
        yield str(folder / "store"), None
        return
    server = PostgresServer(durable=True)
    try:
        yield server.url(server.create_database()), server
    finally:
        server.close()


@contextmanager
def _model_server() -> Generator[str]:
    argv = [sys.executable, "-m", "tracescore.testing.model_server", "--latency", str(LATENCY)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _calls(model: str) -> int:
    with urllib.request.urlopen(f"{model}/calls", timeout=10) as answer:
        return int(json.loads(answer.read())["calls"])


if __name__ == "__main__":
    sys.exit(main())
