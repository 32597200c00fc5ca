"""What a request would weigh in memory, told before it is parsed: a few bytes may stand for an object of hundreds.

A request may make the receiver grow by four times its limit: body and parsed form, and a quarter more than the limit
for the rows. The estimates count what objects are made of at the speed of ``bytes.count``; they were set by measuring
what the parsers take.
"""

from __future__ import annotations

import re

from tracescore.errors import InputError

ROWS = 1.25
"""The rows of a request may take so many times its limit."""
ROW = 500
"""Bytes that a row takes beside its body."""
LARGEST = 3
"""One span may be a third of the limit: body, parsed form, text and row of it stand beside each other."""
_BODY_AND_PARSED = 4 - ROWS
_TOLERANT = 14
"""Reading what strict parsers refuse takes its text three times over, each character four bytes."""

_CONTAINER, _ITEM, _QUOTE, _NUMBER, _KEY = 208, 24, 32, 24, 48
"""Of JSON, each with its share of the parser's own form: what an object or array takes with its first few entries,
its place among others, half a text, a number, and an entry of a large object."""
_FIRST_KEYS = 3
_PIECE, _EMPTY_PIECE = 28, 40
_ASTRAL = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_WIDE = re.compile(rb"[\xc4-\xef]|\\u")
_HEAVIEST = 36
"""No protobuf weighs so many times its bytes: each of them may begin a piece, the next one end it."""
_TAGS = b"\x22\x2a\x32\x4a\x5a\x6a\x7a"
_TAGS_AND_SIZES = b"\x0a\x12\x1a"


def _classes() -> bytes:
    table = bytearray(b"." * 256)
    for byte in range(32):
        table[byte] = ord("s")
    for byte in _TAGS_AND_SIZES:
        table[byte] = ord("b")
    for byte in _TAGS:
        table[byte] = ord("t")
    table[0] = ord("0")
    return bytes(table)


def _marks() -> bytes:
    table = bytearray(b"." * 256)
    for byte in b",:[":
        table[byte] = ord(",")
    for byte in b"-0123456789":
        table[byte] = ord("1")
    return bytes(table)


_CLASSES = _classes()
"""By byte: may begin a piece (t), may say that it is short (s), either (b), that it is empty (0), or nothing of it."""


_MARKS = _marks()
"""By byte: may stand before a number (a comma), may begin one, or nothing of it."""
_BLANK = b" \t\r\n"


class TooLarge(InputError):
    """A body larger than allowed: as sent, once inflated, or once it would be parsed."""


def check_json(body: bytes, limit: int) -> None:
    """Refuse JSON that is too heavy to parse.

    Raises:
        TooLarge: it would take more than its share of four times ``limit``.
    """
    width = 4 if _ASTRAL.search(body) else 2 if _WIDE.search(body) else 1
    containers = body.count(b"{") + body.count(b"[")
    # Those inside texts are not counted where one backslash says so: texts that hold JSON are what is sent most.
    quotes = body.count(b'"') - body.count(b'\\"') + body.count(b'\\\\"')
    keys = max(0, min(body.count(b":"), quotes // 2) - _FIRST_KEYS * containers)
    numbers = body.translate(_MARKS, _BLANK).count(b",1")
    parsed = width * len(body) + _CONTAINER * containers + _ITEM * body.count(b",") + _QUOTE * quotes
    _refuse(len(body) + parsed + _KEY * keys + _NUMBER * numbers, limit)


def check_protobuf(body: bytes, limit: int) -> None:
    """Refuse protobuf that is too heavy to parse.

    Raises:
        TooLarge: it would take more than its share of four times ``limit``.
    """
    if _HEAVIEST * len(body) <= _BODY_AND_PARSED * limit:
        return
    classes = body.translate(_CLASSES)
    empty = classes.count(b"t0") + classes.count(b"b0")
    short = sum(classes.count(pair) for pair in (b"ts", b"tb", b"bs", b"bb"))
    _refuse(2 * len(body) + _PIECE * (short + empty) + _EMPTY_PIECE * empty, limit)


def may_be_tolerant(body: bytes, limit: int) -> bool:
    """Tell whether a body that a strict parser refused is small enough to be read in the tolerant way."""
    return _TOLERANT * len(body) <= _BODY_AND_PARSED * limit


def _refuse(weight: int, limit: int) -> None:
    if weight > _BODY_AND_PARSED * limit:
        raise TooLarge(f"the body holds too many small values for a limit of {limit} bytes: send smaller batches")
