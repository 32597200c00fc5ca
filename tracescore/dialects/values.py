"""Attribute values of the type that is asked for; anything else is not there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tracescore.dialects.decode_json import clean, parse
from tracescore.dialects.decode_tools import ELIDED, is_elided, is_object, text_or_none
from tracescore.model import JSONValue

Attributes = Mapping[str, JSONValue]

_NO_TEXT = ELIDED | {"null", "<not specified>"}
_MAX_TOKENS = 1 << 53
"""A count above is an error of its sender, and no store takes every one of them."""


def text_at(attributes: Attributes, *keys: str) -> str | None:
    """Give the first non-empty text."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and (found := text_of(value)) is not None:
            return found
    return None


def text_of(value: JSONValue) -> str | None:
    """Read a text that is not empty."""
    # Most are plain text as it stands.
    found = value if isinstance(value, str) and value.isascii() else text_or_none(value)
    return found if found and found not in _NO_TEXT else None


def count_at(attributes: Attributes, *keys: str) -> int | None:
    """Give the first whole number that can be a count."""
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            found = count_of(value)
            if found is not None:
                return found
    return None


def count_of(value: JSONValue) -> int | None:
    """Read a count: a whole number in any spelling, never negative, never absurd."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= _MAX_TOKENS else None
    if isinstance(value, str):
        if not value.isascii() or not value.isdigit() or len(value) > 20:
            return None
        value = int(value)
    if isinstance(value, float):
        if not math.isfinite(value) or not value.is_integer():
            return None
        value = int(value)
    return value if isinstance(value, int) and 0 <= value <= _MAX_TOKENS else None


def number_of(value: JSONValue) -> float | None:
    """Read a finite number."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def number_at(attributes: Attributes, *keys: str) -> float | None:
    """Give the first finite number."""
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            found = number_of(value)
            if found is not None:
                return found
    return None


def object_at(attributes: Attributes, key: str) -> dict[str, JSONValue] | None:
    """Give an object, also out of JSON text."""
    value = attributes.get(key)
    if value is None:
        return None
    parsed = parse(value).value
    return parsed if is_object(parsed) else None


def recorded(attributes: Attributes, key: str) -> JSONValue:
    """Give a value as it is, and ``None`` where it is empty or left out."""
    value = attributes.get(key)
    return None if value == "" or (isinstance(value, str) and is_elided(value)) else value


def begins_any(attributes: Attributes, starts: str | tuple[str, ...]) -> bool:
    """Tell whether the name of any attribute begins so; a loop, since this is asked of every span."""
    for key in attributes:  # noqa: SIM110 - a generator inside `any` costs twice as much
        if key.startswith(starts):
            return True
    return False


def texts_at(attributes: Attributes, *keys: str) -> tuple[str, ...] | None:
    """Give a list of texts, also out of JSON text or parted by commas."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value:
            parsed = parse(value).value
            value = parsed if isinstance(parsed, list) else [item.strip() for item in value.split(",")]
        if isinstance(value, list) and value:
            return tuple(clean(item) for item in value if isinstance(item, str) and item)
    return None


def first_text(value: Mapping[str, JSONValue] | None, keys: Iterable[str]) -> str | None:
    """Give the first non-empty text of an object that may not be there."""
    return text_at(value, *keys) if value is not None else None
