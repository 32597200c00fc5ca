"""Arguments of what users call: what cannot work is told in one line, with where it was given and what would do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tracescore.errors import ConfigurationError, TracescoreError


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What an argument takes: in words, as a test, and the names that it knows, if it is one of some names."""

    words: str
    fits: Callable[[Any], bool]
    known: Sequence[str] = ()
    secret: bool = False
    """Whether a value must not be shown."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


TEXT = Wanted(words="a text", fits=lambda value: isinstance(value, str))
FLAG = Wanted(words="True or False", fits=lambda value: isinstance(value, bool))
FUNCTION = Wanted(words="a function", fits=callable)
MAPPING = Wanted(words="a mapping, such as a dict", fits=lambda value: isinstance(value, Mapping))

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PROJECT = Wanted(
    words="letters, digits, '.', '_' and '-', at most 64, the first a letter or a digit",
    fits=lambda value: isinstance(value, str) and _PROJECT.fullmatch(value) is not None,
)
"""A project's name: what tokens, settings and exporters take alike."""


def whole(least: int = 0) -> Wanted:
    """Take a whole number from ``least`` on."""
    return Wanted(
        words=f"a whole number from {least}",
        fits=lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
    )


def number(words: str = "a number", fits: Callable[[float], bool] = math.isfinite) -> Wanted:
    """Take a number of which more holds; never a truth value, a text or NaN."""
    return Wanted(words=words, fits=lambda value: _is_number(value) and fits(value))


def one_of(*known: str) -> Wanted:
    """Take one of some names."""
    return Wanted(words=f"one of {', '.join(map(repr, known))}", fits=lambda value: value in known, known=known)


def an(kind: type | tuple[type, ...], words: str) -> Wanted:
    """Take an object of a class."""
    return Wanted(words=words, fits=lambda value: isinstance(value, kind))


def a_list(words: str, each: Callable[[Any], bool] = lambda item: True) -> Wanted:
    """Take things in a row; never one text, which would be read as its letters, nor a mapping."""
    return Wanted(
        words=words,
        fits=lambda value: (
            isinstance(value, Iterable)
            and not isinstance(value, (str, bytes, Mapping))
            and (not isinstance(value, Sequence) or all(map(each, value)))
        ),
    )


def optional(wanted: Wanted, none: str = "None") -> Wanted:
    """Take None too."""
    return Wanted(
        words=f"{wanted.words}, or {none}",
        fits=lambda value: value is None or wanted.fits(value),
        known=wanted.known,
        secret=wanted.secret,
    )


def check(
    where: str,
    wanted: Mapping[str, Wanted],
    given: Mapping[str, Any],
    error: type[TracescoreError] = ConfigurationError,
) -> None:
    """Refuse the first argument that is not what is wanted of it.

    Args:
        where: what was called, such as ``"Judge"``.
        wanted: what each argument takes; those that were not given are not looked at.
        given: the arguments by name.
        error: the class of what is raised.

    Raises:
        TracescoreError: naming the argument, its value and what it takes, with the nearest known name.
    """
    for name, value in given.items():
        takes = wanted.get(name)
        if takes is not None and not _fits(takes, value):
            raise error(f"{where}({name}={_shown(value, takes)}): give {takes.words}{_nearest(value, takes)}")


def check_project(name: str, error: type[TracescoreError] = ConfigurationError) -> None:
    """Refuse what cannot be a project's name.

    Raises:
        TracescoreError: of the class given, saying what a name may be.
    """
    if not PROJECT.fits(name):
        raise error(f"{name!r:.80} cannot be a project's name: {PROJECT.words}")


def _fits(wanted: Wanted, value: Any) -> bool:
    try:
        return wanted.fits(value)
    except Exception:  # noqa: BLE001 - an object that cannot even be compared is not what is wanted
        return False


def _shown(value: Any, wanted: Wanted) -> str:
    return f"<{type(value).__name__}>" if wanted.secret else " ".join(f"{value!r:.80}".split())


def _nearest(value: Any, wanted: Wanted) -> str:
    near = get_close_matches(value, wanted.known, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def first_line(error: BaseException) -> str:
    """Give what another library says in many lines, for a message of one."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
