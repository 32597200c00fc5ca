"""What a callback of LangChain notes around a tool's arguments and its result."""

from __future__ import annotations

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_repr import python_value
from tracescore.dialects.decode_tools import is_object
from tracescore.model import JSONValue


def noted_arguments(given: JSONValue) -> JSONValue:
    """Take what a tool was called with out of the note; what is none stays as it is."""
    if not is_object(given):
        return given
    inner = given.get("inputs")
    if is_object(inner):
        return inner
    text = given.get("input_str")
    if isinstance(text, str) and given.keys() & {"tags", "metadata", "kwargs", "inputs"}:
        read = python_value(text)
        return read if is_object(read) else text
    only = given.get("kwargs")
    return only if is_object(only) and given.keys() <= {"args", "kwargs"} else given


def noted_result(value: JSONValue) -> JSONValue:
    """Take what a tool returned out of the note, as far as it can be told from the result itself."""
    decoded = parse(value).value
    if is_object(decoded) and is_object(inner := decoded.get("tool_output")):
        return {**inner, "tool_id": decoded.get("tool_id")}
    if is_object(decoded) and "output" in decoded and decoded.keys() <= {"output", "kwargs"}:
        return {"output": decoded["output"]}
    return value


def returned(value: JSONValue) -> JSONValue:
    """Take the text that a tool returned out of the note, where it is one beyond doubt."""
    if not isinstance(value, str) or not value.startswith('{"output":') or '"kwargs"' not in value:
        return value
    decoded = parse(value).value
    noted = is_object(decoded) and decoded.keys() == {"output", "kwargs"} and isinstance(decoded["output"], str)
    return decoded["output"] if noted else noted_result(value)
