"""Wakes: hints that jobs are due. The store is the truth; a wake that is lost costs time and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from threading import Lock
from typing import Protocol

from tracescore.errors import ConfigurationError

ENTRY_POINT_GROUP = "tracescore.wake"
IDS_PER_MESSAGE = 64
"""A message costs more to send and take than a code scorer costs to run, so it carries many ids; it does not carry all
of them, so that several workers get a share."""


class Wake(Protocol):
    """Tell workers that jobs are due."""

    def wake(self, job_ids: Sequence[str], *, queue: str) -> None:
        """Send the ids on their way; raise nothing and block for nothing: whoever is not told finds out by polling."""
        ...

    def close(self) -> None:
        """Send what still waits, within a bounded time, and let go of the connection."""
        ...


class NoWake:
    """Tell nobody: workers poll the store."""

    def wake(self, job_ids: Sequence[str], *, queue: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class MemoryWake:
    """Tell listeners of this process, and keep what was told: the twin of a broker, for tests and single processes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: list[Callable[[Sequence[str]], None]] = []
        self._sent: list[tuple[str, tuple[str, ...]]] = []

    def listen(self, listener: Callable[[Sequence[str]], None]) -> None:
        """Have a listener told of every wake from now on."""
        with self._lock:
            self._listeners.append(listener)

    @property
    def sent(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give every wake so far as (queue, job ids)."""
        with self._lock:
            return list(self._sent)

    def wake(self, job_ids: Sequence[str], *, queue: str) -> None:
        """Tell all listeners, in the caller's thread."""
        with self._lock:
            self._sent.append((queue, tuple(job_ids)))
            listeners = list(self._listeners)
        for listener in listeners:
            listener(job_ids)

    def close(self) -> None:
        """Do nothing."""


def load_wake(broker: str) -> Wake:
    """Give the sender for a broker URL, found by its entry point; with ``none`` nobody is told.

    Raises:
        ConfigurationError: a URL is given, and no installed package sends wakes.
    """
    if broker in ("", "none"):
        return NoWake()
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        connect: Callable[[str], Wake] = entry_point.load()
        return connect(broker)
    raise ConfigurationError(
        f"a broker is set, but nothing installed can send to it (entry point group {ENTRY_POINT_GROUP!r}); "
        "TRACESCORE_BROKER=none works without"
    )
