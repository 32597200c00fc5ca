"""Threads for plain ``def`` steps of scorers that are asked in process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Thread
from typing import Any


class StepThreads(Executor):
    """Run each step in a thread of its own that nobody waits for.

    The threads of a ``ThreadPoolExecutor`` are waited for at the interpreter's end: a step that hangs would keep the
    caller's program from ever ending.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call in a new thread."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  # handed to whoever waits, whatever it is
                future.set_exception(error)
            else:
                future.set_result(value)

        Thread(target=work, name="tracescore-step", daemon=True).start()
        return future
