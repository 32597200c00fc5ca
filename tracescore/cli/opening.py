"""Open the store for a command that looks into it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tracescore.errors import InputError

if TYPE_CHECKING:
    from tracescore.store import Store


def is_url(location: str) -> bool:
    """Tell a database URL from a folder."""
    return "://" in location


def shown(location: str) -> str:
    """Give a store's place as it may be shown: a URL without its password or options, which may hold one."""
    if not is_url(location):
        return location
    scheme, _, rest = location.partition("://")
    credentials, at, address = rest.partition("?")[0].rpartition("@")
    return f"{scheme}://{credentials.partition(':')[0]}{at}{address}"


def exists(location: str) -> bool:
    """Tell whether there may be a store; only opening it tells for sure."""
    return is_url(location) or Path(location).is_dir()


@contextmanager
def opened_store(location: str) -> Generator[Store]:
    """Open a store that is there already; looking never makes one.

    Raises:
        InputError: there is none.
    """
    from tracescore.store import Store

    if not exists(location):
        raise InputError(
            f"no store in {location!r}: `tracescore up` makes one there, --data FOLDER looks into another one"
        )
    with Store.open(location, create=False) as store:
        yield store
