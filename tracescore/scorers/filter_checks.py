"""Options of ``filter_run``, refused where they cannot work, with the nearest that would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import get_args

from tracescore.arguments import FLAG, check
from tracescore.errors import ConfigurationError
from tracescore.model import PART_TYPES, Role

ROLES: tuple[str, ...] = get_args(Role)


def checked_limit(option: str, limit: int | None) -> int | None:
    """Give a limit that is a whole number from 0, or None for no limit.

    Raises:
        ConfigurationError: it is neither.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
        raise ConfigurationError(f"filter_run({option}={limit!r}): give a whole number from 0, or None for no limit")
    return limit


def checked_flag(option: str, given: bool) -> bool:
    """Give a truth value.

    Raises:
        ConfigurationError: it is none.
    """
    check("filter_run", {option: FLAG}, {option: given})
    return given


def checked_names(option: str, given: Iterable[str] | None) -> tuple[str, ...] | None:
    """Give names as a tuple.

    Raises:
        ConfigurationError: one text, which would be read as the list of its letters, or no list of texts at all.
    """
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"filter_run({option}={given!r}): give a list of names, not one text")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"filter_run({option}=...): {name!r} is no name")
    return names


def checked_part_types(option: str, given: Iterable[str] | None) -> tuple[str, ...] | None:
    """Give beginnings of part types.

    Raises:
        ConfigurationError: one that no part type begins with.
    """
    names = checked_names(option, given)
    for name in names or ():
        if not any(known.startswith(name) for known in PART_TYPES):
            raise _unknown(option, f"no part type starts with {name!r}", name, PART_TYPES)
    return names


def checked_choice(option: str, given: Iterable[str] | None, known: Sequence[str]) -> tuple[str, ...] | None:
    """Give names that are all known, in the order in which these are listed.

    Raises:
        ConfigurationError: one that is not.
    """
    names = checked_names(option, given)
    if names is None:
        return None
    for name in names:
        if name not in known:
            raise _unknown(option, f"{name!r} is unknown", name, known)
    return tuple(name for name in known if name in names)


def _unknown(option: str, what: str, name: str, known: Sequence[str]) -> ConfigurationError:
    nearest = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    return ConfigurationError(f"filter_run({option}=...): {what}{hint} Known are {', '.join(known)}")
