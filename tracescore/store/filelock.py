"""A lock between processes: a file that one of them holds."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path

from tracescore.errors import StoreUnavailable

_POLL = 0.01

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def hold(path: Path, *, timeout: float = 60.0) -> Generator[None]:
    """Hold a lock file while the block runs; a process that dies lets go of it.

    Raises:
        StoreUnavailable: another process holds it for too long.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise StoreUnavailable(f"another process is migrating the store and does not end: {path}")
            time.sleep(_POLL)
        yield
    finally:
        os.close(handle)  # which lets go of the lock
