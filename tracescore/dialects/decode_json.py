"""JSON inside attribute values: nested a bounded number of times, and cut off anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_CONTAINERS = ("[", "{")
MAX_NESTED = 3
"""JSON text inside JSON text: exporters encode twice, rarely three times."""
_SURELY_SHALLOW = 200
_MAX_DEPTH = 64
_MAX_REPR = 1_000
_INT64 = 1 << 63
_INT64_DIGITS = 19
"""A whole number with fewer digits fits 64 bits, which is what run bodies can hold."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
"""A string, also one that breaks off at the end of the text, or a mark between values."""


class Parsed(NamedTuple):
    """A value out of JSON text; ``truncated`` where only its leading part could be read."""

    value: Any
    truncated: bool


def looks_like_json(text: str) -> bool:
    """Tell whether text may be a JSON container, or a JSON string that holds one."""
    start = text[:64].lstrip()
    return start[:1] in ("[", "{") or start[:2] in ('"[', '"{', '"\\') or start[:1] == '"'


def parse(value: Any) -> Parsed:
    """Decode JSON text into its value, through strings that hold JSON text again; anything else stays as it is.

    Text that is no JSON stays text. A container that breaks off gives its complete leading elements.
    """
    for _ in range(MAX_NESTED):
        if not isinstance(value, str) or not (value[:1] in _CONTAINERS or looks_like_json(value)):
            break
        try:
            value = loads(value)
        except ValueError:
            rescued = salvage(value)
            if rescued is None:
                break
            return Parsed(rescued, True)
    return Parsed(value, False)


def loads(text: str) -> Any:
    """Decode JSON text; raise ValueError for anything else, however deep or strange."""
    try:
        value = orjson.loads(text)
    except ValueError:
        pass
    else:
        return value if len(text) <= _SURELY_SHALLOW else _shallow(value, text)
    try:
        # Numbers that are not finite, and lone surrogates, are not JSON for orjson, and yet some senders write them.
        value = json.loads(text, parse_constant=str, parse_int=_whole_number)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(clean(json.dumps(value, ensure_ascii=False)))
        return _shallow(value, text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def _shallow(value: Any, text: str) -> Any:
    """Refuse what is nested deeper than a run can be stored."""
    if text.count("[") + text.count("{") > _SURELY_SHALLOW:
        try:
            orjson.dumps([[[[[[[[[[[[[[[[value]]]]]]]]]]]]]]]])
        except TypeError as error:
            raise ValueError("JSON is nested too deeply") from error
    return value


def storable(value: Any, depth: int = 0) -> Any:
    """Give a value as JSON can hold it: text without lone surrogates, numbers of 64 bits, bounded depth."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else None
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {clean(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item, depth + 1) for item in value]
    return clean(repr(value)[:_MAX_REPR])


def clean(text: str) -> str:
    """Replace lone surrogates, which no store and no wire takes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) < _INT64_DIGITS else float(digits)


def salvage(text: str) -> Any:
    """Give what a cut-off container holds complete: the leading elements of its outermost list of objects.

    ``None`` where nothing can be kept, or where the text breaks no container off and is simply no JSON.
    """
    text = text.lstrip()
    if text[:1] not in ("[", "{"):
        return None
    stack: list[str] = []
    safe: list[int] = []
    """By open container: where the text may be cut so that what it holds up to there is complete."""
    for token in _TOKEN.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            stack.append(mark)
            safe.append(token.end())
        elif mark in "]}":
            if not stack or (stack[-1] == "[") != (mark == "]"):
                return None
            stack.pop()
            safe.pop()
            if not stack:
                return None
            safe[-1] = token.end()
        elif mark == "," and stack:
            safe[-1] = token.start()
    level = _cut_level(stack)
    if level is None:
        return None
    closing = "".join("]" if mark == "[" else "}" for mark in reversed(stack[: level + 1]))
    try:
        return loads(text[: safe[level]] + closing)
    except ValueError:
        return None


def _cut_level(stack: list[str]) -> int | None:
    """Find the outermost list whose open element is not itself a list; else the innermost container."""
    for level, mark in enumerate(stack):
        if mark == "[" and (level + 1 == len(stack) or stack[level + 1] == "{"):
            return level
    return len(stack) - 1 if stack else None
