"""Ctrl-C: the command ends at once, whatever blocks its loop, and can tell what was done so far."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPTED = 130
"""The exit code of what was interrupted."""
_LOOK_AGAIN = 0.2
"""On Windows a wait without an end hears no Ctrl-C."""


def run_interruptibly(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread that ends with the process: asyncio's own Ctrl-C waits for a step that blocks.

    Raises:
        KeyboardInterrupt: at once; what runs is left behind.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread, whatever it is
            failure.append(error)

    thread = Thread(target=run, name="tracescore-command", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_AGAIN)
    if failure:
        raise failure[0]
    return outcome[0]
