"""The store: one value that everything above holds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from tracescore.store.backfills import Backfills
from tracescore.store.control import Control
from tracescore.store.database import Database
from tracescore.store.decisions import Decisions
from tracescore.store.externals import Externals
from tracescore.store.jobs import Jobs
from tracescore.store.offered import OfferedVersions
from tracescore.store.opening import migrate_folder, open_folder
from tracescore.store.opening_url import is_url, migrate_url, open_url
from tracescore.store.runs import Runs
from tracescore.store.scores import Scores
from tracescore.store.sessions import Sessions
from tracescore.store.settled import SettledTraces
from tracescore.store.spans import Spans
from tracescore.store.tokens import Tokens

_SPAN_WRITERS = 2
"""Transactions that take spans in at once, where several may: one is filled while the other waits for the disk
(measured on PostgreSQL, two cores: 22 % more spans, and no more of three)."""


class Store:
    """Hold the truth: spans, runs, jobs and scores.

    Open it once per process. Its methods may be awaited from any loop of any thread; writes are durable when they
    return, reads see all that was written before.
    """

    def __init__(self, *, spans: Database, work: Database) -> None:
        self._databases = (spans, work)
        self.spans = Spans(spans)
        self.settled = SettledTraces(spans)
        self.runs = Runs(work)
        self.sessions = Sessions(work)
        self.jobs = Jobs(work)
        self.decisions = Decisions(work)
        self.scores = Scores(work)
        self.externals = Externals(spans=spans, work=work)
        self.control = Control(work)
        self.tokens = Tokens(work)
        self.backfills = Backfills(work)
        self.offered = OfferedVersions(work)

    @classmethod
    def open(cls, location: str | Path, *, create: bool = True) -> Store:
        """Open the store in a folder, bringing its schema up to date, or in the PostgreSQL database of a URL.

        Raises:
            StoreError: there is none and ``create`` is False, it is not a store, or it cannot be written; a database
                is never migrated by opening it (see ``migrate``).
        """
        files = open_url(str(location)) if is_url(location) else open_folder(location, create=create)
        return cls(
            spans=Database(files["spans"], name="spans", writers=_SPAN_WRITERS if is_url(location) else 1),
            work=Database(files["work"], name="work"),
        )

    @staticmethod
    def migrate(location: str | Path) -> bool:
        """Bring a store's schema up to date; tell whether there was anything to do. A folder must hold one already.

        Raises:
            StoreError: there is none, it is not a store, or it cannot be written.
        """
        if is_url(location):
            return migrate_url(str(location))
        return migrate_folder(location)

    def close(self) -> None:
        """Finish what was submitted and close the files; harmless twice."""
        for database in self._databases:
            database.close()

    async def aclose(self) -> None:
        """Close without blocking the loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
