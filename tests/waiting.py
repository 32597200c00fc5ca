"""Wait for what is awaited, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(predicate: Callable[[], object], *, timeout: float = 20.0, description: str) -> None:
    """Poll a predicate until it holds; fail by naming what was awaited."""
    deadline = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s in vain for {description}")
        time.sleep(0.02)
