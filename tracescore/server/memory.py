"""Memory that a server keeps from one request to the next."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc calls them: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 64 * 1024 * 1024
"""Bytes that may stand free before they go back to the system."""
APART = 8 * 1024 * 1024
"""A buffer of so many bytes is the system's own affair, and given back at once."""


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
