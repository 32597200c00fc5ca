"""The server on a port."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Event, Thread, current_thread, main_thread
from types import FrameType

import uvicorn

from tracescore.bridge import run_sync
from tracescore.errors import ConfigurationError
from tracescore.pipeline.announced import broker_of
from tracescore.pipeline.tenants import check_exposure
from tracescore.pipeline.wake import Wake, load_wake
from tracescore.server.app import create_server
from tracescore.server.grpc_receiver import refused_port
from tracescore.server.h11_protocol import PatientProtocol
from tracescore.server.memory import cycles_rarely_looked_for, keep_memory
from tracescore.settings import Settings
from tracescore.store import Store

KEEP_ALIVE_SECONDS = 75
"""Above an exporter's pause between batches: a connection closed under it costs it a retry."""
DRAIN_SECONDS = 10
_BACKLOG = 2048


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningServer:
    """A server that answers; ``port`` is the real one where 0 was asked for, ``grpc_port`` None where gRPC is off."""

    host: str
    port: int
    grpc_port: int | None = None

    @property
    def url(self) -> str:
        """Give the base URL: an exporter's endpoint."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def serve(
    settings: Settings,
    *,
    store: Store | None = None,
    wake: Wake | None = None,
    on_start: Callable[[RunningServer], None] | None = None,
) -> None:
    """Run the server in this thread until SIGINT or SIGTERM; opens and closes the store unless one is given.

    Raises:
        ConfigurationError: the host is not this machine and there is no token, or the port is taken.
        StoreError: the store cannot be opened.
    """
    with nullcontext(store) if store else Store.open(settings.store) as opened, _listen(settings, opened) as listener:
        grpc = _Grpc()
        server = _server(opened, settings, wake, grpc)
        if on_start is not None:
            on_start(_running(listener, settings))
        with _signals_heard_once(), cycles_rarely_looked_for():
            server.run(sockets=[listener])
        if grpc.failure is not None:
            raise grpc.failure


@contextmanager
def serving(store: Store, settings: Settings, *, wake: Wake | None = None) -> Generator[RunningServer]:
    """Run the server in a thread of its own for as long as the block lasts.

    Raises:
        ConfigurationError: the host is not this machine and there is no token, or the port is taken.
    """
    with _listen(settings, store) as listener:
        grpc = _Grpc()
        server = _server(store, settings, wake, grpc)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="tracescore-server", daemon=True)
        thread.start()
        try:
            # Whoever connects from here on waits in the listener's backlog: nobody has to poll for the start. gRPC
            # binds its port itself, once there is a loop.
            if settings.otlp_grpc_port is not None:
                grpc.tried.wait(DRAIN_SECONDS)
            if grpc.failure is not None:
                raise grpc.failure
            yield _running(listener, settings)
        finally:
            server.should_exit = True
            thread.join(DRAIN_SECONDS + 5)


@dataclass(slots=True)
class _Grpc:
    """How listening for gRPC went."""

    tried: Event = field(default_factory=Event)
    failure: BaseException | None = None

    def __call__(self, failure: BaseException | None) -> None:
        self.failure = failure
        self.tried.set()


@contextmanager
def _signals_heard_once() -> Generator[None]:
    """Swallow the signal that ended the server: uvicorn raises it again, and we would die with the store open."""
    if current_thread() is not main_thread():
        yield
        return

    def swallow(number: int, frame: FrameType | None) -> None:
        pass

    before = {number: signal.signal(number, swallow) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(settings: Settings, store: Store) -> socket.socket:
    run_sync(check_exposure(store, host=settings.host, insecure=settings.insecure))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    if (grpc_port := settings.otlp_grpc_port) is not None:
        try:
            socket.create_server((settings.host, grpc_port), family=family).close()
        except OSError as error:
            raise ConfigurationError(refused_port(settings.host, grpc_port, _reason(error))) from error
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen on {settings.host} port {settings.port}: {_reason(error)}; TRACESCORE_PORT or --port "
            "names another"
        ) from error


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _running(listener: socket.socket, settings: Settings) -> RunningServer:
    host, port = listener.getsockname()[:2]
    return RunningServer(host=host, port=port, grpc_port=settings.otlp_grpc_port)


def _server(store: Store, settings: Settings, wake: Wake | None, grpc: _Grpc) -> uvicorn.Server:
    keep_memory()
    wake = wake or load_wake(broker_of(settings.broker, settings.store))
    app = create_server(store, settings, wake=wake, on_grpc=grpc)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=PatientProtocol,
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
    )
