"""Ids that are given on the command line."""

from __future__ import annotations

from tracescore.errors import InputError

DIGITS = {"--trace": 32, "--span": 16, "--run": 32}


def checked_id(given: str | None, *, option: str) -> str | None:
    """Give an id in lower case, as it is stored.

    Raises:
        InputError: it can be no id, so that nothing would ever be found.
    """
    if given is None:
        return None
    digits = DIGITS[option]
    if len(given) != digits or not set(given.lower()) <= set("0123456789abcdef"):
        raise InputError(f"{option} {given[:80]!r} is no id: give all {digits} hex digits, as --json shows them")
    return given.lower()
