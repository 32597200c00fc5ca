"""JSON text inside attribute values."""

from __future__ import annotations

import orjson
import pytest

from tracescore.dialects.decode_json import loads, parse, salvage, storable

WHOLE = '{"model": "m", "messages": [{"role": "system", "content": "a, [b] {c}"}, {"content": "\\"x\\""}]}'


def test_text_that_is_no_json_stays_text() -> None:
    assert [parse(text).value for text in ("hello", "[hello]", "{x}", "12", "")] == [
        "hello",
        "[hello]",
        "{x}",
        "12",
        "",
    ]


def test_json_encoded_again_is_decoded_a_bounded_number_of_times() -> None:
    value: object = [1]
    texts: list[str] = []
    for _ in range(5):
        value = orjson.dumps(value).decode()
        texts.append(value)

    assert [parse(text).value for text in texts[:3]] == [[1]] * 3
    assert parse(texts[4]).value == texts[1]


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
def test_a_container_cut_anywhere_gives_only_what_is_complete(cut: int) -> None:
    found = salvage(WHOLE[:cut])
    messages = (found or {}).get("messages", [])

    assert messages == loads(WHOLE)["messages"][: len(messages)]
    assert len(messages) == (1 if cut > WHOLE.index("}, {") else 0) + (1 if cut > WHOLE.index('"}]') + 1 else 0)


def test_a_list_of_lists_is_cut_inside() -> None:
    assert salvage('[[{"a": 1}, {"b": 2}, {"c') == [[{"a": 1}, {"b": 2}]]


def test_what_is_complete_is_not_salvaged() -> None:
    assert salvage('{"a": 1} trailing') is None
    assert salvage("[1, 2}") is None


def test_a_cut_is_told() -> None:
    assert parse('[{"a": 1}, {"b') == ([{"a": 1}], True)


def test_numbers_that_are_not_finite_become_text_and_large_ones_floats() -> None:
    assert loads('{"a": NaN, "b": -Infinity, "c": 123456789012345678901}') == {
        "a": "NaN",
        "b": "-Infinity",
        "c": 1.2345678901234568e20,
    }


def test_lone_surrogates_are_replaced() -> None:
    assert loads('{"a": "x\\ud83e"}') == {"a": "x\ufffd"}
    assert loads('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 600 + "]" * 600, '{"a":' * 400 + "1" + "}" * 400])
def test_what_is_nested_too_deeply_stays_text(text: str) -> None:
    assert parse(text).value == text


def test_storable_values_can_be_encoded() -> None:
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]

    encoded = orjson.dumps(storable({"a": "\ud800", 3: 10**40, "d": deep, "o": object(), "t": (1, 2)}))

    assert orjson.loads(encoded)["t"] == [1, 2]
