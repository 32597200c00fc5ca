"""The one bridge from plain code to the async library."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and give its result; also inside a running loop and in a notebook.

    Where a loop runs in this thread already, the coroutine gets a thread and a loop of its own, and the caller waits.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            failure.append(error)

    thread = Thread(target=target, name="tracescore-run-sync")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
