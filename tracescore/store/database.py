"""A database: its writer, its readers, and the way in from any loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from tracescore.errors import StoreError
from tracescore.store.readers import Readers
from tracescore.store.writer import DatabaseFile, Writer

T = TypeVar("T")


class Database:
    """Run operations, functions of a connection, in the database's threads.

    ``writers`` is how many transactions may write at once: more than one only where the database takes several.
    """

    def __init__(self, database: DatabaseFile, *, name: str, writers: int = 1) -> None:
        self._process = os.getpid()
        self._writers = [Writer(database, name=name) for _ in range(writers)]
        self._readers = Readers(database, name=name)

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation in a group commit; what it did is durable when this returns.

        The operation may run twice (see ``Writer``), so it must do nothing but use its connection.
        """
        self._check_process()
        return await asyncio.wrap_future(min(self._writers, key=Writer.load).submit(operation))

    async def read(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation that only reads, in one state of the database."""
        self._check_process()
        return await asyncio.wrap_future(self._readers.submit(operation))

    def close(self) -> None:
        """Finish what was submitted and close every connection."""
        if os.getpid() == self._process:  # a forked child has neither the threads nor the right to the handles
            self._readers.close()
            for writer in self._writers:
                writer.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreError("this store was opened in another process: open it again in this one")
