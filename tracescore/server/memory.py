"""Memory that a server keeps from one request to the next."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc calls them: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 64 * 1024 * 1024
"""Bytes that may stand free before they go back to the system."""
APART = 8 * 1024 * 1024
"""A buffer of so many bytes is the system's own affair, and given back at once."""
YOUNG = 5000
"""Containers that are made before cycles are looked for among them; each row of a request is one."""


def keep_memory() -> None:
    """Keep what requests of ordinary size free, where the C library can be told so.

    A request needs megabytes for a moment. Given back and asked for again, each of their pages is faulted in and
    cleared anew: a tenth of what taking in a span costs.
    """
    if sys.platform != "linux":
        return
    tell = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if tell is not None:
        tell(_TRIM_THRESHOLD, KEPT)
        tell(_MMAP_THRESHOLD, APART)


@contextmanager
def cycles_rarely_looked_for() -> Generator[None]:
    """Look for cycles among what is new less often than Python does, and never among what a server starts with.

    What a request leaves is freed without. Looked for so often, its rows are gone through while they are made.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
