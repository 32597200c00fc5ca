"""Schemas of every kind: what is asked for, and what is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tracescore import ConfigurationError, JudgeReplyError, JudgeReplyNotFinite
from tracescore.judge import JudgeReply, output_schema, read_text, read_value
from tracescore.judge.json_schema import SchemaCheck
from tracescore.testing import minimal_value


class Colour(Enum):
    RED = "red"


class Inner(BaseModel):
    name: str = "x"


class Model(BaseModel):
    """What a docstring says stays: it tells the judge what is meant."""

    title: str
    inner: Inner
    colour: Colour = Colour.RED
    kind: Literal["a", "b"] = "a"
    maybe: int | None = None
    score: float = Field(default=0.5, ge=0, le=1)


class Recursive(BaseModel):
    children: list[Recursive]


class Typed(TypedDict):
    text: str


@dataclass
class Data:
    numbers: list[int]


def read(schema: Any, text: str) -> Any:
    return read_value(JudgeReply(text=text), output_schema(schema))[1]


def test_schemas_are_strict() -> None:
    schema = output_schema(Model).json_schema

    assert schema["required"] == ["title", "inner", "colour", "kind", "maybe", "score"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Inner"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert schema["properties"]["score"] == {"type": "number", "minimum": 0, "maximum": 1}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (Inner, '{"name": "a"}', Inner(name="a")),
        (Typed, '{"text": "a"}', {"text": "a"}),
        (Data, '{"numbers": [1]}', Data(numbers=[1])),
        (list[str], '{"value": ["a"]}', ["a"]),
        (int, '{"value": 3}', 3),
        (Recursive, '{"value": {"children": []}}', Recursive(children=[])),
        (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        ({"type": "object"}, '{"anything": 1}', {"anything": 1}),
        (Inner, '  {"name": "a"}\n', Inner(name="a")),
    ],
)
def test_a_reply_is_read_into_its_type(schema: Any, text: str, value: Any) -> None:
    assert read(schema, text) == value


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        (Inner, '{"name": 1}', "name: Input should be a valid string"),
        (list[str], '["a"]', "'value' is missing"),
        (list[str], '{"values": ["a"]}', "'value' is missing"),
        (Inner, 'Here it is: {"name": "a"}', "not JSON"),
        (Inner, '{"name": "a"', "not JSON"),
        (Inner, '{"name": "a",}', "not JSON"),
        ({"type": "object", "required": ["a"]}, "{}", "'a' is a required property"),
    ],
)
def test_a_reply_that_does_not_fit_is_an_error_with_the_reply(schema: Any, text: str, message: str) -> None:
    with pytest.raises(JudgeReplyError, match=message) as caught:
        read(schema, text)

    assert caught.value.raw_reply == text


@pytest.mark.parametrize("name", ["NaN", "-inf", " Infinity"])
def test_a_number_that_is_not_finite_is_refused_under_its_name_too(name: str) -> None:
    assert read(list[float | str], f'{{"value": ["{name}"]}}') == [name]  # a text that was asked for is one
    with pytest.raises(JudgeReplyNotFinite):
        read(list[float], f'{{"value": [1, "{name}"]}}')


@pytest.mark.parametrize("schema", [object(), 3, "Inner", {"type": "array"}, {}])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(ConfigurationError):
        output_schema(schema)


def test_plain_text_is_whole_or_an_error() -> None:
    assert read_text(JudgeReply(text="Because.", finish_reason="stop")) == "Because."
    for reply in (JudgeReply(text="Becau", finish_reason="length"), JudgeReply(text=None), JudgeReply(text=" ")):
        with pytest.raises(JudgeReplyError):
            read_text(reply)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"}, ["a", "ab"], ["", "abc", "b", 1]),
        ({"type": "integer"}, [1, 2.0], [1.5, True, "1", None]),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, [0.5], [0, 1, True]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", True]),
        ({"const": False}, [False], [0, None]),
        ({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2}, [[1]], [[], [1, 2, 3], ["a"]]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, [0.5], [1, "a"]),
        ({"allOf": [{"type": "number"}, {"minimum": 2}]}, [3], [1]),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}},
            [{"a": 1}, {"b": "x"}],
            [{"a": "1"}],
        ),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, [{"b": 1}], [{"b": "x"}]),
        ({"format": "date", "x-note": 1}, ["anything", 3], []),
    ],
)
def test_json_schemas_are_checked(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    check = SchemaCheck(schema)

    assert [check.problem(value) for value in good] == [None] * len(good)
    assert all(check.problem(value) for value in bad)


def test_a_schema_that_is_none_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match=r"no JSON Schema: \$\.type"):
        SchemaCheck({"type": "numbr"})


schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "minLength": 2},
            {"type": "number", "minimum": 1, "maximum": 2},
            {"type": "number", "maximum": -1},
            {"type": "boolean"},
            {"type": "null"},
            {"enum": ["b"]},
            {"const": 7},
        ]
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties, "required": list(properties)}
        ),
        inner.map(lambda items: {"type": "array", "items": items, "minItems": 1}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"anyOf": parts}),
    ),
    max_leaves=6,
)


@given(schema=schemas)
def test_the_stand_ins_own_answers_fit_the_schema(schema: dict[str, Any]) -> None:
    assert SchemaCheck(schema).problem(minimal_value(schema)) is None
