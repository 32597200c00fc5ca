"""Check a value against a JSON Schema: the keywords that output schemas use; others are annotations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int, float),
}


def check(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Give the first problem of a value, with its path, or None."""
    return next(_problems(value, schema, root=schema, path=""), None)


def _problems(value: Any, schema: Any, *, root: Mapping[str, Any], path: str) -> Iterator[str]:
    if schema is True or not isinstance(schema, Mapping):
        if schema is False:
            yield f"{path or 'reply'} is not allowed"
        return
    where = path or "reply"
    if "$ref" in schema:
        yield from _problems(value, _resolve(str(schema["$ref"]), root), root=root, path=path)
    kinds = schema.get("type")
    if kinds is not None:
        wanted = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(_is_type(value, kind) for kind in wanted):
            yield f"{where} should be {' or '.join(wanted)}, not {_type_name(value)}"
            return
    if "enum" in schema and not any(_same(value, item) for item in schema["enum"]):
        yield f"{where} is none of {list(schema['enum'])}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{where} is not {schema['const']!r}"
    if isinstance(value, dict):
        yield from _object(value, schema, root=root, path=path)
    elif isinstance(value, list):
        yield from _array(value, schema, root=root, path=path)
    elif isinstance(value, str):
        yield from _bounds(len(value), schema, "minLength", "maxLength", f"the length of {where}")
        if "pattern" in schema and re.search(schema["pattern"], value) is None:
            yield f"{where} does not match {schema['pattern']!r}"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number(value, schema, where)
    yield from _combined(value, schema, root=root, path=path)


def _object(value: dict[str, Any], schema: Mapping[str, Any], *, root: Mapping[str, Any], path: str) -> Iterator[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_join(path, name)} is missing"
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], root=root, path=_join(path, name))
        elif "additionalProperties" in schema:
            yield from _problems(item, schema["additionalProperties"], root=root, path=_join(path, name))


def _array(value: list[Any], schema: Mapping[str, Any], *, root: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _bounds(len(value), schema, "minItems", "maxItems", f"the length of {path or 'reply'}")
    for index, item in enumerate(value):
        yield from _problems(item, schema.get("items", True), root=root, path=_join(path, str(index)))


def _number(value: float, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from _bounds(value, schema, "minimum", "maximum", where)
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{where} is {value}, not above {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield f"{where} is {value}, not below {schema['exclusiveMaximum']}"


def _bounds(size: float, schema: Mapping[str, Any], low: str, high: str, what: str) -> Iterator[str]:
    if low in schema and size < schema[low]:
        yield f"{what} is {size}, below {schema[low]}"
    if high in schema and size > schema[high]:
        yield f"{what} is {size}, above {schema[high]}"


def _combined(value: Any, schema: Mapping[str, Any], *, root: Mapping[str, Any], path: str) -> Iterator[str]:
    for part in schema.get("allOf", ()):
        yield from _problems(value, part, root=root, path=path)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            fitting = sum(next(_problems(value, part, root=root, path=path), None) is None for part in schema[keyword])
            if fitting == 0 or (keyword == "oneOf" and fitting > 1):
                yield f"{path or 'reply'} fits {fitting} of the schemas of {keyword}"


def _is_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind in ("number", "integer"):
        return False
    if kind == "integer" and isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _type_name(value: Any) -> str:
    return next((name for name in _TYPES if _is_type(value, name)), type(value).__name__)


def _same(left: Any, right: Any) -> bool:
    # True == 1 in Python and not in JSON.
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    node: Any = root
    for key in reference.removeprefix("#").strip("/").split("/"):
        node = node.get(key, True) if isinstance(node, Mapping) and key else node
    return node


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
