"""Send wakes through Celery. Whoever calls never waits for the broker, and never hears of its troubles."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from threading import Condition, Thread

from celery import Celery

from tracescore.pipeline.wake import IDS_PER_MESSAGE

from .config import QUEUES, WAKE_TASK, celery_settings

logger = logging.getLogger(__name__)

WAITING = 10_000
"""Ids that wait to be sent; more are dropped, since the reconciler finds every job that is due."""
PAUSE_AFTER_FAILURE = 2.0
CLOSE_SECONDS = 2.0


def connect(broker_url: str) -> CeleryWake:
    """Give the sender for a broker; it connects when there is something to send."""
    return CeleryWake(broker_url)


class CeleryWake:
    """Send job ids to the workers, many in a message, from a thread of its own."""

    def __init__(self, broker_url: str) -> None:
        self._app = Celery("tracescore-wake", set_as_current=False)
        self._app.add_defaults(lambda: celery_settings(broker_url))
        self._waiting: dict[str, deque[str]] = {queue: deque() for queue in QUEUES}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._sending = False
        self._closing = False
        self._quiet_until = 0.0

    def wake(self, job_ids: Sequence[str], *, queue: str) -> None:
        """Have ids sent soon; dropped while the broker is away."""
        if not job_ids or queue not in self._waiting:
            return
        with self._changed:
            waiting = self._waiting[queue]
            if self._closing or len(waiting) >= WAITING or time.monotonic() < self._quiet_until:
                return
            waiting.extend(job_ids)
            if self._thread is None:
                self._thread = Thread(target=self._send, name="tracescore-wake", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        """Send what waits, as far as it goes within ``CLOSE_SECONDS``, and disconnect."""
        with self._changed:
            self._changed.wait_for(lambda: not self._sending and not any(self._waiting.values()), CLOSE_SECONDS)
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
        self._app.close()

    def _send(self) -> None:
        while True:
            with self._changed:
                self._sending = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closing or any(self._waiting.values()))
                if self._closing:
                    return
                self._sending = True
                queue = next(queue for queue, waiting in self._waiting.items() if waiting)
                waiting = self._waiting[queue]
                job_ids = [waiting.popleft() for _ in range(min(len(waiting), IDS_PER_MESSAGE))]
            try:
                self._app.send_task(WAKE_TASK, args=[job_ids], queue=QUEUES[queue], ignore_result=True)
            except Exception as error:  # noqa: BLE001 - kombu raises its transport's own errors; all mean: not sent
                logger.warning("wakes are not sent for %.0f s, workers poll: %s", PAUSE_AFTER_FAILURE, error)
                with self._changed:
                    self._quiet_until = time.monotonic() + PAUSE_AFTER_FAILURE
                    for waiting in self._waiting.values():
                        waiting.clear()
