"""Steps that are repeated for the life of a process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from tracescore.errors import StoreUnavailable

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0


async def repeat(
    step: Callable[[], Awaitable[bool]], *, name: str, every: float, poked: asyncio.Event | None = None
) -> None:
    """Run a step again and again: at once while it says that there is more, else after a pause or when it is poked.

    A step that fails is logged and tried again, ever more slowly: one bad trace, run or answer must not end the loop.
    """
    poked = poked or asyncio.Event()
    pause = every
    while True:
        poked.clear()
        try:
            more = await step()
            pause = every
            if more:
                continue
        except StoreUnavailable as error:
            pause = min(max(pause * 2, 1.0), LONGEST_PAUSE)
            logger.warning("%s: %s; trying again in %.0f s", name, error, pause)
        except Exception:
            pause = min(max(pause * 2, 1.0), LONGEST_PAUSE)
            logger.exception("%s failed; trying again in %.0f s", name, pause)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(poked.wait(), pause)
