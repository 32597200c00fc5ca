"""One page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from typing_extensions import TypeVar

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[ItemT]):
    """One page of a list, newest first; ``next`` is the ``after`` of the following page, None at the end."""

    items: tuple[ItemT, ...]
    next: str | None = None
