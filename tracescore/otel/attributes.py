"""The attributes of protobuf spans.

Most of a span is attributes, and most of those came before: the same model, the same small numbers. Of one that is
short only its bytes are looked at when it comes again, and no message is made of a text that is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from tracescore.otel.body import MAX_DEPTH, Plain
from tracescore.otel.raw_bytes import bytes_as_text

SHORT = 96
"""Bytes of an attribute up to which it may come again."""
KNOWN = 8192
"""So many are remembered, which is 4 MB: a sender may make each another."""

_KEY, _VALUE, _TEXT = 0x0A, 0x12, 0x0A
"""Tags: an attribute's key and value, and the text that a value is."""
_KEY_TAG_AND_SIZE = 2
"""Bytes before a key that is short."""


class OutOfOrdinary(Exception):
    """Raise where the request must be read piece by piece."""


class _Openings(dict[int, bytes]):
    """What stands before a text, by the size of all but the key: tag and size of the value, and of the text in it.

    It is as protobuf writes it. Of a size that nothing amounts to there is none.
    """

    def __missing__(self, size: int) -> bytes:
        value = _sized(_VALUE, size - _KEY_TAG_AND_SIZE)
        text = _sized(_TEXT, size - _KEY_TAG_AND_SIZE - len(value)) if value else b""
        if not text:
            raise KeyError(size)
        if len(self) >= KNOWN:
            self.clear()
        self[size] = value + text
        return value + text


def _sized(tag: int, size: int) -> bytes:
    """Give the tag and the size of content that takes so many bytes with them; nothing where none does."""
    for width in range(1, 6):
        content = size - 1 - width
        if max(1, (content.bit_length() + 6) // 7) == width and content >= 0:
            groups = [content >> 7 * place & 127 | 128 for place in range(width)]
            groups[-1] &= 127
            return bytes((tag, *groups))
    return b""


class _Pairs(dict[bytes, tuple[Any, Any]]):
    """Key and value of an attribute, by what is sent of it; key None where it is left out."""

    __slots__ = ("_keys", "_openings")

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[bytes, str] = {}
        self._openings = _Openings()

    def __missing__(self, encoded: bytes) -> tuple[Any, Any]:
        size = len(encoded)
        try:
            if size > SHORT:
                # A key that is known, a text, and nothing else.
                try:
                    sent, _, text = encoded.partition(self._openings[size - encoded[1]])
                    return self._keys[sent], text.decode()
                except KeyError:
                    pair = _parsed(encoded)
                    self._remember_key(pair[0])
                    return pair
            pair = _parsed(encoded)
        except (DecodeError, UnicodeDecodeError) as error:
            raise OutOfOrdinary from error
        if len(self) >= KNOWN:
            self.clear()
        self[encoded] = pair
        return pair

    def _remember_key(self, key: str | None) -> None:
        sent = key.encode() if key else b""
        if 0 < len(sent) < SHORT:
            if len(self._keys) >= KNOWN:
                self._keys.clear()
            self._keys[bytes((_KEY, len(sent))) + sent] = key or ""


_pair_of = _Pairs().__getitem__


def attributes_of(encoded: Sequence[bytes]) -> Plain:
    """Give the attributes of a span, an event or a link; their values are not to be changed, others hold them too.

    Raises:
        OutOfOrdinary: one of them is broken, not UTF-8 or nested too deeply.
    """
    # Of those with one key the last is kept, in the place of the first. As a list they are read faster.
    attributes: dict[Any, Any] = dict(map(_pair_of, encoded[:]))
    attributes.pop(None, None)
    return attributes


def _parsed(encoded: bytes) -> tuple[Any, Any]:
    attribute: Any = KeyValue.FromString(encoded)
    value = value_of(attribute.value, 1)
    # JSON has no NaN and no infinity: such an attribute is dropped, and one without any value too.
    if value is None or (value.__class__ is float and not isfinite(value)):
        return None, None
    return attribute.key, value


def plain_attributes(pairs: Iterable[Any]) -> Plain:
    """Give parsed attributes as a dict.

    Raises:
        OutOfOrdinary: one of them is nested too deeply.
    """
    attributes: Plain = {}
    for pair in pairs:
        value = pair.value
        # Reading the field of the likeliest kind first spares asking which one is set: a third of all decoding.
        if text := value.string_value:
            attributes[pair.key] = text
        elif number := value.int_value:
            attributes[pair.key] = number
        else:
            plain = value_of(value, 1)
            if plain is not None and (plain.__class__ is not float or isfinite(plain)):
                attributes[pair.key] = plain
    return attributes


def value_of(value: Any, depth: int) -> Any:
    """Give a parsed value as JSON has it.

    Raises:
        OutOfOrdinary: it is nested too deeply.
    """
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        if depth >= MAX_DEPTH:
            raise OutOfOrdinary
        return [value_of(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        if depth >= MAX_DEPTH:
            raise OutOfOrdinary
        return {pair.key: value_of(pair.value, depth + 1) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return bytes_as_text(value.bytes_value)
    return getattr(value, kind)
