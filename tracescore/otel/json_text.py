"""JSON that strict parsers refuse whole: lone surrogates, NaN literals, broken UTF-8, bottomless nesting."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import orjson

from tracescore.errors import InputError

MAX_LEVELS = 200
"""Deeper than any OTLP value that is kept: four JSON levels to a level of attribute values."""
_MAX_DIGITS = 400
# Possessive, and a string without an end matches too: what is broken must not be scanned again from each quote in it.
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")


def load_json(encoded: bytes, *, tolerant: bool = True) -> Any:
    """Parse JSON as tolerantly as it can be, unless told to be strict.

    Raises:
        InputError: the bytes are no JSON at all.
    """
    try:
        return orjson.loads(encoded)
    except orjson.JSONDecodeError as error:
        refused = error
    if not tolerant:
        raise InputError(f"the body is not JSON: {refused}") from refused
    text = _cut_nesting(encoded.decode("utf-8-sig", "replace"))
    try:
        value = json.loads(text, strict=False, parse_int=_parse_int)
    except (ValueError, RecursionError):
        if not encoded.strip():
            raise InputError("the body is empty, not JSON") from refused
        raise InputError(f"the body is not JSON: {refused}") from refused
    return _scrub(value)


def _parse_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def _cut_nesting(text: str) -> str:
    """Put null for what is nested too deeply: one such value must not cost the request."""
    depth = 0
    kept: list[str] = []
    kept_to = 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token in ("{", "["):
            depth += 1
            if depth == MAX_LEVELS + 1:
                kept.append(text[kept_to : match.start()])
                kept.append("null")
        elif token in ("}", "]"):
            if depth == MAX_LEVELS + 1:
                kept_to = match.end()
            depth -= 1
    if not kept:
        return text
    return "".join(kept) + (text[kept_to:] if depth <= MAX_LEVELS else "")


def _scrub(value: Any) -> Any:
    """Replace lone surrogates, which no encoder takes."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_scrub(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_scrub(key): _scrub(item) for key, item in cast("dict[str, Any]", value).items()}
    return value
