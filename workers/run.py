"""Run one worker process until it is told to stop."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import socket
import threading
from typing import Any

from celery import signals

from tracescore.pipeline.announced import broker_of
from tracescore.settings import Settings

from .celery_app import build_app
from .compose import build_worker
from .lifecycle import WorkerProcess

logger = logging.getLogger(__name__)


def run_worker(settings: Settings) -> int:
    """Run a worker in this process and give its exit code; call it from the main thread.

    With a broker it is a Celery worker; without one it polls the store. SIGTERM and SIGINT drain it.

    Raises:
        ConfigurationError: there is no app, or it cannot be loaded.
        StoreError: the store cannot be opened.
    """
    for name in ("celery", "kombu", "httpx2"):  # at INFO they have a line or two for each wake and each judge call
        logging.getLogger(name).setLevel(logging.WARNING)
    broker = broker_of(settings.broker, settings.store)
    if broker == "none":
        return _poll(settings)
    return _consume(dataclasses.replace(settings, broker=broker))


def _poll(settings: Settings) -> int:
    stop, failed = threading.Event(), threading.Event()

    def on_failure(_: BaseException) -> None:
        failed.set()
        stop.set()

    worker, store = build_worker(settings, broker="none", on_failure=on_failure)

    def on_signal(*_: object) -> None:
        worker.stop_claiming()
        stop.set()

    with store:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)
        worker.start()
        logger.info("worker %s polls the store: there is no broker", worker.id)
        stop.wait()
        worker.stop(grace=settings.drain)
    return 1 if failed.is_set() else 0


def _consume(settings: Settings) -> int:
    signals.setup_logging.connect(_leave_logging_alone, weak=False)
    process = WorkerProcess(settings)
    app = build_app(settings, process)
    controller = app.Worker(
        hostname=f"tracescore-{os.getpid()}@{socket.gethostname()}",
        pool="threads",
        quiet=True,
        loglevel=logging.WARNING,
    )
    # The signals stay ours: Celery's own handlers print on stdout, and restart the process at a SIGHUP.
    controller.install_platform_tweaks = _leave_signals_alone
    controller.start()
    return 1 if process.failed else int(controller.exitcode or 0)


def _leave_logging_alone(**_: Any) -> None:
    """Stand in for Celery's set-up of logging: the process that runs us has done its own."""


def _leave_signals_alone(worker: Any) -> None:
    """Stand in for Celery's set-up of signals."""
