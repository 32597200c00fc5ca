"""The fields and attribute values of OTLP JSON, read tolerantly."""

from __future__ import annotations

import binascii
import math
import reprlib
from base64 import b64decode
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from tracescore.otel.body import MAX_DEPTH, TOO_DEEP, Plain
from tracescore.otel.problems import Problems
from tracescore.otel.raw_bytes import bytes_as_text

_MAX_INT64 = 2**63 - 1
_MIN_INT64 = -(2**63)
_ENUM_VALUES = {
    "SPAN_KIND_": ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"),
    "STATUS_CODE_": ("UNSET", "OK", "ERROR"),
}


class BrokenValue(Exception):
    """A value that is not what its field may hold; the message says which."""


def object_of(value: Any) -> Plain:
    """Give a JSON object as such."""
    if not isinstance(value, dict):
        raise BrokenValue(f"expected an object, not {_shown(value)}")
    return cast(Plain, value)  # JSON objects have text for keys


def list_of(value: Any, name: str) -> list[Any]:
    """Give a JSON array as such."""
    if not isinstance(value, list):
        raise BrokenValue(f"{name!r} is not an array")
    return cast("list[Any]", value)  # what is in it is checked where it is read


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def field_of(message: Plain, name: str) -> Any:
    """Give a field by its camel-case name, or by the snake-case one of the protobuf definition."""
    value = message.get(name)
    return message.get(_snake(name)) if value is None else value


def has_field(message: Plain, name: str) -> bool:
    """Tell whether a field is there at all, null or not."""
    return name in message or _snake(name) in message


def items_of(message: Plain, name: str) -> list[Any]:
    """Give a repeated field."""
    value = field_of(message, name)
    return [] if value is None else list_of(value, name)


def text_of(message: Plain, name: str) -> str:
    """Give a text field."""
    value = field_of(message, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BrokenValue(f"{name!r} is not a string")
    return value


def int_of(message: Plain, name: str) -> int:
    """Give an integer field, written as a number or as a string."""
    value = field_of(message, name)
    return 0 if value is None else _integer(value, name)


def _integer(value: Any, name: str) -> int:
    try:
        if isinstance(value, float):
            if not value.is_integer():
                raise ValueError
            return int(value)
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise TypeError
        return int(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise BrokenValue(f"{name!r} is {_shown(value)}, not an integer") from error


def _shown(value: Any) -> str:
    text = reprlib.repr(value)  # a plain repr would write out megabytes first
    return text if len(text) <= 60 else f"{text[:57]}..."


def enum_of(message: Plain, name: str, prefix: str) -> int:
    """Give an enum field, written as a number or as a name, with or without its prefix."""
    value = field_of(message, name)
    if isinstance(value, str) and not value.lstrip("-").isdigit():
        known = _ENUM_VALUES[prefix]
        plain = value.upper().removeprefix(prefix)
        return known.index(plain) if plain in known else 0
    return 0 if value is None else _integer(value, name)


def bytes_of(message: Plain, name: str, size: int) -> bytes:
    """Give an id of a known size: hex as OTLP has it, or base64 as protobuf's own JSON has it. Empty for none."""
    value = field_of(message, name)
    if value is None or value == "":
        return b""
    if isinstance(value, str):
        try:
            if len(value) == 2 * size:
                return bytes.fromhex(value)
            decoded = _base64(value)
            if len(decoded) == size:
                return decoded
        except ValueError:
            pass
    raise BrokenValue(f"{name!r} is {_shown(value)}, neither {2 * size} hex digits nor base64 of {size} bytes")


def _base64(text: str) -> bytes:
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    return b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def attributes_of(message: Plain, problems: Problems, label: str) -> Plain:
    """Give a message's attributes as a plain dict; what is broken is left out and said."""
    attributes: Plain = {}
    try:
        pairs = items_of(message, "attributes")
    except BrokenValue as error:
        problems.note(f"{label}: {error}; its attributes were left out")
        return attributes
    for pair in problems.bounded(pairs, "attributes", label):
        if pair.__class__ is dict and (value := pair.get("value")).__class__ is dict:
            text, key = value.get("stringValue"), pair.get("key")
            if text.__class__ is str and key.__class__ is str:  # by far the likeliest
                attributes[key] = text
                continue
        _add_attribute(attributes, pair, problems, label)
    return attributes


def _add_attribute(attributes: Plain, pair: Any, problems: Problems, label: str) -> None:
    try:
        key, content = _key(pair)
    except BrokenValue as error:
        problems.note(f"{label}: an attribute was left out: {error}")
        return
    where = f"{label}: attribute {key[:80]!r}"
    try:
        value = any_value(content, 1, problems, where)
    except BrokenValue as error:
        problems.note(f"{where} was left out: {error}")
        return
    # JSON has no NaN and no infinity: such an attribute is dropped, and one without any value too.
    if value is not None and (value.__class__ is not float or math.isfinite(value)):
        attributes[key] = value


def _key(pair: Any) -> tuple[str, Any]:
    message = object_of(pair)
    key: Any = message.get("key", "")
    if not isinstance(key, str):
        raise BrokenValue(f"{_shown(pair)} has no text as its key")
    return key, message.get("value")


def any_value(value: Any, depth: int, problems: Problems, label: str) -> Any:
    """Give an ``AnyValue`` as plain JSON: text, numbers, booleans, lists, dicts, None.

    Raises:
        BrokenValue: the value is not what its kind says.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BrokenValue(f"{_shown(value)} is no OTLP value such as {{'stringValue': …}}")
    for kind, content in object_of(value).items():
        read = _SCALARS.get(kind)
        if read is not None:
            return None if content is None else read(content, kind)
        if kind in ("arrayValue", "array_value"):
            if depth >= MAX_DEPTH:
                problems.note(f"{label} {TOO_DEEP}")
                return None
            return [any_value(item, depth + 1, problems, label) for item in _values(content)]
        if kind in ("kvlistValue", "kvlist_value"):
            if depth >= MAX_DEPTH:
                problems.note(f"{label} {TOO_DEEP}")
                return None
            pairs = map(_key, _values(content))
            return {key: any_value(item, depth + 1, problems, label) for key, item in pairs}
    return None


def _values(content: Any) -> list[Any]:
    return [] if content is None else items_of(object_of(content), "values")


def _string(content: Any, kind: str) -> str:
    if not isinstance(content, str):
        raise BrokenValue(f"{kind!r} is {_shown(content)}, not a string")
    return content


def _int64(content: Any, kind: str) -> int:
    number = _integer(content, kind)
    if not _MIN_INT64 <= number <= _MAX_INT64:
        raise BrokenValue(f"{kind!r} is {_shown(content)}, out of the bounds of 64 bits")
    return number


def _double(content: Any, kind: str) -> float:
    try:
        if isinstance(content, bool) or not isinstance(content, (int, float, str)):
            raise TypeError
        return float(content)
    except (ValueError, TypeError, OverflowError) as error:
        raise BrokenValue(f"{kind!r} is {_shown(content)}, not a number") from error


def _bool(content: Any, kind: str) -> bool:
    if isinstance(content, bool):
        return content
    if content in ("true", "false"):
        return content == "true"
    raise BrokenValue(f"{kind!r} is {_shown(content)}, neither true nor false")


def _bytes(content: Any, kind: str) -> str:
    try:
        if not isinstance(content, str):
            raise TypeError
        return bytes_as_text(_base64(content))
    except (binascii.Error, ValueError, TypeError) as error:
        raise BrokenValue(f"{kind!r} is {_shown(content)}, not base64") from error


_SCALARS: dict[str, Callable[[Any, str], Any]] = {
    "stringValue": _string,
    "string_value": _string,
    "intValue": _int64,
    "int_value": _int64,
    "doubleValue": _double,
    "double_value": _double,
    "boolValue": _bool,
    "bool_value": _bool,
    "bytesValue": _bytes,
    "bytes_value": _bytes,
}
