"""The smallest value that a JSON Schema accepts: what a stand-in answers when it is told nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def minimal_value(schema: Mapping[str, Any]) -> Any:
    """Give a small value of a schema, the same each time."""
    return _minimal(schema, schema)


def _minimal(schema: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            return _minimal(schema[keyword][0], root)
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _minimal(root.get("$defs", root.get("definitions", {})).get(name), root)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in schema:
        wanted = schema.get("required", schema.get("properties", {}))
        return {name: _minimal(schema.get("properties", {}).get(name), root) for name in wanted}
    if kind == "array":
        return [_minimal(schema.get("items"), root) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * schema.get("minLength", 0)
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 0)
        return low if low > 0 else min(0, high)
    return False if kind == "boolean" else None
