"""What is wrong with a request's fields, in our own words: which one, and what it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.requests import Request

SHOWN = 3
_DIGITS = re.compile(r"\{(\d+)\}")


def validation_message(request: Request, error: RequestValidationError) -> str:
    """Say which fields cannot be taken, and what each takes; the first few of many."""
    said = [f"{_place(item)}: {_in_words(request, item)}" for item in error.errors()]
    more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return "; ".join(said[:SHOWN]) + more


def _place(item: Mapping[str, Any]) -> str:
    if item["type"] == "json_invalid":
        return str(item["loc"][0])
    return ".".join(str(part) for part in item["loc"][1:]) or str(item["loc"][0])


def _in_words(request: Request, item: Mapping[str, Any]) -> str:
    if item["type"] == "extra_forbidden":
        known = sorted(_known(request, item["loc"]))
        return f"there is no such field{_nearest(item['loc'][-1], known) or '.'} Known are {', '.join(known)}"
    if item["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", item["ctx"]["expected"])
        return f"give {item['ctx']['expected']}{_nearest(item['input'], known)}"
    words = _WORDS.get(item["type"])
    return words(item.get("ctx", {})) if words else str(item["msg"]).removeprefix("Value error, ")


def _nearest(given: object, known: Sequence[str]) -> str:
    near = get_close_matches(str(given), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _known(request: Request, place: Sequence[Any]) -> set[str]:
    """Give the names that are known where one is not."""
    dependant: Any = getattr(request.scope.get("route"), "dependant", None)
    fields = () if dependant is None else dependant.query_params if place[0] == "query" else dependant.body_params
    models = [model for field in fields for model in _models(field.field_info.annotation)]
    for part in place[1:-1]:
        if isinstance(part, str):
            inside = [model.model_fields[part].annotation for model in models if part in model.model_fields]
            models = [model for kind in inside for model in _models(kind)]
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _models(inner)


def _said(words: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda limits: words.format_map(limits)


def _hex_digits(limits: Mapping[str, Any]) -> str:
    digits = _DIGITS.search(str(limits.get("pattern")))
    return f"give {digits[1]} hex digits" if digits else f"give what fits {limits.get('pattern')}"


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": _said("it is missing"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), _said("give a whole number")),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), _said("give a number")),
    **dict.fromkeys(("bool_parsing", "bool_type"), _said("give true or false")),
    "string_type": _said("give a text"),
    "list_type": _said("give a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _said("give an object")),
    "greater_than_equal": _said("give {ge} or more"),
    "greater_than": _said("give more than {gt}"),
    "less_than_equal": _said("give {le} or less"),
    "less_than": _said("give less than {lt}"),
    "string_too_short": _said("give a text of at least {min_length} characters"),
    "string_too_long": _said("give a text of at most {max_length} characters"),
    "too_short": _said("give at least {min_length}"),
    "too_long": _said("give at most {max_length}"),
    "string_pattern_mismatch": _hex_digits,
    "json_invalid": _said("it is no JSON: {error}"),
}
