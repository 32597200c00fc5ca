"""Read a list page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tracescore.store import Page

ItemT = TypeVar("ItemT")

PAGE_SIZE = 500
MOST = 1000
"""The largest ``--limit``."""


async def first_items(
    fetch: Callable[[int, str | None], Awaitable[Page[ItemT]]], limit: int
) -> tuple[list[ItemT], bool]:
    """Give the first ``limit`` items, and whether there are more; ``fetch`` takes a page's size and where it begins."""
    found: list[ItemT] = []
    after: str | None = None
    while len(found) < limit:
        page = await fetch(min(PAGE_SIZE, limit - len(found)), after)
        found.extend(page.items)
        after = page.next
        if after is None:
            break
    return found, after is not None


def say_more(shown: int) -> None:
    """Say on stderr that there is more than is shown, and how to see it."""
    from tracescore.cli.screen import note

    how = f"--limit N shows up to {MOST}" if shown < MOST else "narrow it down: --help has the options"
    note(f"tracescore: only the newest {shown} are shown; {how}")
