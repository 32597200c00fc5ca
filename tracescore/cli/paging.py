"""Read a list page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tracescore.store import Page

ItemT = TypeVar("ItemT")

PAGE_SIZE = 500


async def first_items(fetch: Callable[[int, str | None], Awaitable[Page[ItemT]]], limit: int) -> list[ItemT]:
    """Give the first ``limit`` items; ``fetch`` takes a page's size and where it begins."""
    found: list[ItemT] = []
    after: str | None = None
    while len(found) < limit:
        page = await fetch(min(PAGE_SIZE, limit - len(found)), after)
        found.extend(page.items)
        after = page.next
        if after is None:
            break
    return found
