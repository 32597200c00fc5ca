"""Ways to make a store fail."""

from __future__ import annotations

from typing import Any

from tracescore.bridge import run_sync
from tracescore.store import Store
from tracescore.store.database import Database


def limit_pages(database: Database, pages: int | None) -> None:
    """Let a database file grow no more (0 pages from now on), or as it likes (None): a full disk and its end."""

    def operation(connection: Any) -> None:
        used = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {2**32 - 2 if pages is None else used + pages}")

    run_sync(database.write(operation))


def fill_disk(store: Store, *, pages: int | None = 0) -> None:
    """Limit both files of a store."""
    for database in store._databases:
        limit_pages(database, pages)
