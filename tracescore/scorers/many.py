"""Many at once, but not too many, and the results in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from tracescore.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_CONCURRENCY = 16
_BREATH = 64
"""Results after which a task lets others run: one that never waits would hold up the loop to its end."""


async def in_order(items: Iterable[T], call: Callable[[T], Awaitable[R]], *, concurrency: int) -> list[R]:
    """Call a function for each item, ``concurrency`` at once, and give the results in the order of the items.

    Items are taken one by one as there is room. What is raised ends all of it.

    Raises:
        InputError: ``concurrency`` is less than 1.
    """
    if concurrency < 1:
        raise InputError(f"concurrency is at least 1, not {concurrency!r}")
    numbered = enumerate(items)
    results: dict[int, R] = {}

    async def work() -> None:
        for place, item in numbered:
            results[place] = await call(item)
            if place % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    try:
        for _ in range(concurrency):
            tasks.append(asyncio.create_task(work()))
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [results[place] for place in range(len(results))]
