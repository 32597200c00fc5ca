"""Tie the pump's life to Celery's: it runs while the process does, whether or not the broker is there."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from celery import bootsteps, signals
from celery.concurrency import get_implementation
from celery.worker import state

from tracescore.errors import ConfigurationError, TracescoreError
from tracescore.pipeline.announced import broker_of
from tracescore.settings import Settings

from .compose import build_worker

if TYPE_CHECKING:
    from celery import Celery

    from tracescore.pipeline.worker import Worker
    from tracescore.store import Store

logger = logging.getLogger(__name__)


class WorkerProcess:
    """The worker of one Celery process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worker: Worker | None = None
        self._store: Store | None = None
        self.failed = False

    def follow(self, app: Celery) -> None:
        """Start and stop with the Celery workers of an app."""
        process = self

        class BrokerWatch(bootsteps.StartStopStep):
            """Started at each connection to the broker, stopped at each loss of it."""

            requires = ("celery.worker.consumer.tasks:Tasks",)

            def start(self, parent: Any) -> None:
                # Celery warns of a default that will change at each loss of the connection, also where the setting is
                # given; it takes its warnings out of all filters when it starts, so that this comes later.
                warnings.filterwarnings("ignore", message=r"(?s).*worker_cancel_long_running_tasks_on_connection_loss")
                process.broker_is_up(True)

            def stop(self, parent: Any) -> None:
                process.broker_is_up(False)

        steps: dict[str, set[type]] = cast("Any", app).steps  # celery has no types
        steps["consumer"].add(BrokerWatch)

        def on_init(sender: Any, **_: Any) -> None:
            if sender.app is app:
                # No fanout: nobody listens to gossip, and mingling waits a second for answers at every start.
                sender.options.update(without_gossip=True, without_mingle=True, without_heartbeat=True)
                self.start(pool=sender.pool_cls)

        def on_shutting_down(**_: Any) -> None:
            self.stop_claiming()

        def on_shutdown(**_: Any) -> None:
            self.stop()

        # worker_init and not worker_ready: the latter waits for the broker, and work can be done without it.
        signals.worker_init.connect(on_init, weak=False)
        signals.worker_shutting_down.connect(on_shutting_down, weak=False)
        # A wake task ends at once, so Celery's own warm shutdown waits for nothing: this blocks until all is drained.
        signals.worker_shutdown.connect(on_shutdown, weak=False)

    def start(self, *, pool: Any = "threads") -> None:
        """Start the worker of this process; ends the process with one clear line where it cannot."""
        kind = get_implementation(pool).__module__.rpartition(".")[2]
        if kind not in ("thread", "solo"):
            sys.exit(f"tracescore: a worker is one process with one loop; run it with --pool=threads, not {kind}")
        try:
            broker = broker_of(self._settings.broker, self._settings.store)
            if broker == "none":
                raise ConfigurationError(
                    "Celery needs a broker: set TRACESCORE_BROKER to its URL; `tracescore worker` runs without one"
                )
            self._worker, self._store = build_worker(self._settings, broker=broker, on_failure=self._end_process)
            self._heed_signals()
            self._worker.start()
        except TracescoreError as error:
            # Celery logs what a signal's receiver raises and goes on: it would run without a pump.
            logger.debug("the worker cannot start", exc_info=True)
            print(f"tracescore: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the process ends here
            # Whoever started it tries again after 1: a database that is down or not migrated yet will not stay so.
            sys.exit(2 if isinstance(error, ConfigurationError) else 1)

    def wake(self, job_ids: Sequence[str]) -> None:
        """Tell the pump of jobs that are due."""
        if self._worker is not None:
            self._worker.wake(job_ids)

    def broker_is_up(self, up: bool) -> None:
        """Tell the worker whether wakes come through."""
        if self._worker is not None:
            self._worker.broker_is_up(up)

    def stop_claiming(self) -> None:
        """Claim nothing more; called in a signal's handler."""
        if self._worker is not None:
            self._worker.stop_claiming()

    def stop(self) -> None:
        """Block until the work in flight is done or given back."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(grace=self._settings.drain)
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _heed_signals(self) -> None:
        """Drain at a signal; where Celery itself runs the worker, until its own handlers replace these."""

        def on_signal(*_: object) -> None:
            self.stop_claiming()
            state.should_stop = 0  # Celery's consumer looks at it before it connects

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, on_signal)

    def _end_process(self, error: BaseException) -> None:
        """End a process whose worker broke: a supervisor starts a new one."""
        self.failed = True
        os.kill(os.getpid(), signal.SIGTERM)
