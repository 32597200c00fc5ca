"""Values of Langfuse's exports as OTLP in JSON writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeGuard, cast

import orjson

from tracescore.errors import InputError
from tracescore.otel import load_json

Object: TypeAlias = dict[str, Any]

_AS_JSON = orjson.OPT_NON_STR_KEYS
_LIMIT = 2**63


def hex_id(given: Any, size: int, *, within: str = "") -> str:
    """Give an id in OpenTelemetry's form: as it is where it has that form, else one made of it."""
    text = str(given or "")
    if len(text) == 2 * size and all(digit in "0123456789abcdef" for digit in text) and text.strip("0"):
        return text
    return hashlib.sha256(f"{within}\x1f{text}".encode("utf-8", "replace")).hexdigest()[: 2 * size]


def time_ns(given: Any) -> int:
    """Give a time as nanoseconds since 1970; 0 for none."""
    if not isinstance(given, str):
        return 0
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return 0
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return max(0, (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000)


def text_of(value: Any) -> str | None:
    """Give text as it is and anything else as JSON; None for None."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value, option=_AS_JSON, default=str).decode()


def name_of(value: Any) -> str:
    """Give a name; nothing for what is none."""
    return value if isinstance(value, str) else ""


def attributes_of(values: Mapping[str, Any]) -> list[Object]:
    """Give attributes as OTLP lists them; None is left out."""
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> Object:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_LIMIT <= value < _LIMIT:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value)):
        return {"arrayValue": {"values": [{"stringValue": item} for item in cast("list[str]", value)]}}
    return {"stringValue": text_of(value) or ""}


def object_in(value: Any) -> Object:
    """Give an object, also one that is written as text; an empty one for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):  # the pages write objects as text
        value = parsed(value)
    return value if is_object(value) else {}


def parsed(text: str) -> Any:
    """Parse JSON; None for what is none."""
    try:
        return load_json(text.encode("utf-8", "replace"))
    except InputError:
        return None


def objects_in(value: Any) -> list[Object]:
    """Give the objects of a list."""
    return [item for item in cast("list[Any]", value) if is_object(item)] if isinstance(value, list) else []


def is_object(value: Any) -> TypeGuard[Object]:
    """Tell an object."""
    return isinstance(value, dict)
