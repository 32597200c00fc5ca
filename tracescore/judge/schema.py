"""Output schemas: what a judge is asked to answer, and the check that it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from tracescore.arguments import first_line
from tracescore.errors import ConfigurationError, JudgeReplyError
from tracescore.judge.json_schema import SchemaCheck

_WRAPPED = "value"


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputSchema:
    """A schema in the two forms that a step needs: JSON Schema to ask with, and a reader of the answer."""

    json_schema: Mapping[str, Any]
    name: str
    read: Callable[[Any], Any]
    """Give the validated value of a parsed reply, or raise ``JudgeReplyError``."""


def output_schema(source: Any) -> OutputSchema:
    """Build an output schema of a pydantic model, a dataclass, a TypedDict, any type or a JSON Schema dict.

    A type that is no JSON object, such as ``list[str]``, is asked for inside an object, since endpoints require one.

    Raises:
        ConfigurationError: what is no schema.
    """
    if isinstance(source, Mapping):
        return _of_json_schema(source)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(source)
        schema = adapter.json_schema()
    except (PydanticUserError, TypeError) as error:
        raise ConfigurationError(
            f"output_schema {source!r:.80} is neither a type that pydantic knows nor a JSON Schema dict: "
            f"{first_line(error)}"
        ) from error
    wrapped = not _is_object(schema)

    def read(value: Any) -> Any:
        try:
            return adapter.validate_python(value[_WRAPPED] if wrapped else value)
        except ValidationError as error:
            raise JudgeReplyError(f"the reply does not fit the schema: {_first_errors(error)}") from error
        except (KeyError, TypeError) as error:
            raise JudgeReplyError(f"the reply does not fit the schema: {_WRAPPED!r} is missing") from error

    if wrapped:
        definitions = schema.pop("$defs", None)
        schema = {"type": "object", "properties": {_WRAPPED: schema}}
        if definitions is not None:
            schema["$defs"] = definitions
    return OutputSchema(json_schema=strict(schema), name=_safe_name(getattr(source, "__name__", "")), read=read)


def _of_json_schema(source: Mapping[str, Any]) -> OutputSchema:
    if source.get("type") != "object":
        raise ConfigurationError(
            f'a JSON Schema dict as output_schema needs "type": "object" at its root, not {source.get("type")!r}'
        )

    check = SchemaCheck(source)

    def read(value: Any) -> Any:
        problem = check.problem(value)
        if problem is not None:
            raise JudgeReplyError(f"the reply does not fit the schema: {problem}")
        return value

    return OutputSchema(json_schema=strict(source), name=_safe_name(str(source.get("title", ""))), read=read)


def strict(schema: Any) -> Any:
    """Give a JSON Schema in the strict form of native structured output.

    Every property is required and no other is allowed; titles and defaults, which endpoints refuse or ignore, go.
    """
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions"):
            result[key] = {name: strict(item) for name, item in value.items()}
        elif key in ("enum", "const", "required", "examples"):
            result[key] = value
        elif key == "oneOf":
            result["anyOf"] = strict(value)
        elif key not in ("title", "default", "discriminator", "$schema"):
            result[key] = strict(value)
    if "properties" in result:
        result["required"] = list(result["properties"])
        result["additionalProperties"] = False
    return result


def _is_object(schema: Mapping[str, Any]) -> bool:
    reference = schema.get("$ref", "")
    target = schema.get("$defs", {}).get(str(reference).rpartition("/")[2], {}) if reference else schema
    # A root that is only a reference (a recursive model) is wrapped: endpoints want the object itself at the root.
    return not reference and target.get("type") == "object" and "properties" in target


def _safe_name(name: str) -> str:
    kept = "".join(letter for letter in name if letter.isascii() and (letter.isalnum() or letter in "_-"))
    return kept[:64] or "response"


def _first_errors(error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors()[:3]]
    return "; ".join(parts)
