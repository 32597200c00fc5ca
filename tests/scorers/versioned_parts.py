"""What the scorers of ``versioned`` reach in another module of the same package."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

FACTOR = 0.5


def doubled(value: float) -> float:
    return 2 * value * FACTOR


def clamped(limit: float) -> Callable[[Callable[[Any], float]], Callable[[Any], float]]:
    def decorate(function: Callable[[Any], float]) -> Callable[[Any], float]:
        @functools.wraps(function)
        def inner(ctx: Any) -> float:
            return min(limit, function(ctx))

        return inner

    return decorate
