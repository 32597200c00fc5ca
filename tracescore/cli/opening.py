"""Open the store for a command that looks into it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches
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


def has_store(location: str) -> bool:
    """Tell whether a folder holds a store; a database may."""
    return is_url(location) or _is_store(Path(location))


def check_is_store(location: str) -> None:
    """Refuse a folder without a store: who only works on one must not make an empty one of a typing error.

    Raises:
        InputError: naming a store beside it that is called nearly so.
    """
    if not has_store(location) and not Path(location).is_file():
        raise InputError(
            f"no store in {location!r}{_nearest_store(location)}: --data FOLDER or TRACESCORE_STORE names another; "
            "`tracescore up` and `tracescore serve` make one"
        )


def _is_store(folder: Path) -> bool:
    return (folder / "work.db").is_file()


def _nearest_store(location: str) -> str:
    folder = Path(location).absolute()
    try:
        beside = {path.name: path for path in folder.parent.iterdir() if path != folder and _is_store(path)}
    except OSError:
        return ""
    near = get_close_matches(folder.name, beside, n=1, cutoff=0.5) or list(beside)[:1]
    return f" (did you mean {str(Path(location).parent / near[0])!r}?)" if near else ""


@contextmanager
def opened_store(location: str) -> Generator[Store]:
    """Open a store that is there already; looking never makes one.

    Raises:
        InputError: there is none.
    """
    from tracescore.store import Store

    if not exists(location):
        raise InputError(
            f"no store in {location!r}{_nearest_store(location)}: `tracescore up` makes one there, --data FOLDER looks "
            "into another one"
        )
    with Store.open(location, create=False) as store:
        yield store
