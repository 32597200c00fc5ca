"""What an app's or a rule's ``prepare_run`` is: checked, compared, and described for the rule set's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias

import orjson

from tracescore.errors import ConfigurationError
from tracescore.scorers.canonical import Canonical, Unhashable
from tracescore.scorers.own_code import OwnCode
from tracescore.scorers.source import NoSource

PrepareRun: TypeAlias = Callable[[Any], Any]
"""Takes a run and gives what is left of it; ``def`` or ``async def``."""


def check_prepare_run(prepare_run: object, whose: str) -> None:
    """Refuse what cannot be called.

    Raises:
        ConfigurationError: saying whose it is.
    """
    if prepare_run is not None and not callable(prepare_run):
        raise ConfigurationError(f"{whose}: prepare_run must be a function of a run, not {type(prepare_run).__name__}")


def described(prepare_run: PrepareRun) -> str:
    """Give a fingerprint of it, as of a scorer's step; where there is no source to read, its name."""
    return _fingerprint(prepare_run) or f"{prepare_run.__module__}.{getattr(prepare_run, '__qualname__', '?')}"


def same_prepare_run(one: PrepareRun | None, other: PrepareRun | None) -> bool:
    """Tell whether two leave the same of every run: equal objects, or equal code over equal values."""
    if one is other or one == other:
        return True
    if one is None or other is None:
        return False
    fingerprint = _fingerprint(one)
    return fingerprint is not None and fingerprint == _fingerprint(other)


def _fingerprint(function: PrepareRun) -> str | None:
    bare: Any = function
    while hasattr(bare, "func"):  # functools.partial
        bare = bare.func
    bare = getattr(bare, "__func__", bare)
    try:
        value = Canonical(OwnCode([bare if hasattr(bare, "__qualname__") else type(bare)])).value(function)
    except (Unhashable, NoSource):
        return None
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
