"""Bodies that are nearly the limit and hold a small piece over and over: what costs memory is found among them."""

from __future__ import annotations

import json
import random
from typing import TypeAlias

from tests.server.test_memory import IDS, field

_Grammar: TypeAlias = dict[str, tuple[tuple[int, str], ...]]
_SPANS: _Grammar = {
    "request": ((0x0A, "group"),),
    "group": ((0x0A, "resource"), (0x12, "scoped"), (0x12, "scoped"), (0x1A, "text")),
    "resource": ((0x0A, "attribute"), (0x10, "number")),
    "scoped": ((0x0A, "scope"), (0x12, "span"), (0x12, "span"), (0x12, "span"), (0x1A, "text")),
    "scope": ((0x0A, "text"), (0x12, "text"), (0x1A, "attribute")),
    "span": (
        *((0x4A, "attribute"), (0x4A, "attribute"), (0x5A, "event"), (0x6A, "link"), (0x7A, "status")),
        *((0x2A, "text"), (0x1A, "text"), (0x22, "text"), (0x50, "number")),
    ),
    "event": ((0x12, "text"), (0x1A, "attribute"), (0x20, "number")),
    "link": ((0x0A, "text"), (0x12, "text"), (0x22, "attribute")),
    "status": ((0x12, "text"), (0x18, "number")),
    "attribute": ((0x0A, "text"), (0x12, "value"), (0x12, "value")),
    "value": ((0x0A, "text"), (0x10, "number"), (0x2A, "list"), (0x32, "object"), (0x3A, "text"), (0x18, "number")),
    "list": ((0x0A, "value"),),
    "object": ((0x0A, "attribute"),),
}
_TEXTS = (b"", b"a", b"\xff", b"\x00", b"k", b"x" * 40, "é😀".encode(), b'{"a":[1]}', b"gen_ai.input.messages")
_KEYS = ("", "k", "gen_ai.input.messages", "llm.input_messages.0.message.content", "x" * 60, "\ud83d", "é")
_JSON_LEVELS = ("resourceSpans", "scopeSpans", "spans", "attributes", "events", "links", "values", "kvs")
_LEAST_SHARE = 64


def swollen(draw: random.Random, limit: int) -> tuple[bool, bytes]:
    """Give a body of at most ``limit`` bytes, and whether it is JSON."""
    size = limit // draw.choice((1, 1, 2, 4, 8, 16, 32, _LEAST_SHARE)) - 400
    return (True, _json(draw, size)) if draw.random() < 0.4 else (False, _protobuf(draw, size))


def _protobuf(draw: random.Random, size: int) -> bytes:
    """Walk down to a message, fill it with one small field, and wrap it up again."""
    path = [("request", 0)]
    while (choices := _SPANS.get(path[-1][0])) is not None and (len(path) < 3 or draw.random() < 0.75):
        nested = [(kind, tag) for tag, kind in choices if kind in _SPANS]
        if not nested or len(path) > 12:
            break
        path.append(draw.choice(nested))
    kind = path[-1][0]
    filling = b"".join(_one(draw, kind, 0) for _ in range(draw.randint(1, 3))) or b"\x0a\x00"
    body = filling * max(1, size // len(filling))
    if draw.random() < 0.15:  # many spans, each another
        body = _numbered(size // 8, _message(draw, "span", 1))
        path = [("request", 0), ("group", 0x0A), ("scoped", 0x12)]
    for inner, tag in reversed(path[1:]):
        if inner == "span" and draw.random() < 0.9:
            body = IDS + body
        if inner == "attribute" and kind != "attribute":
            body = field(0x0A, draw.choice(_TEXTS)) + body
        body = field(tag, body)
    return body


def _one(draw: random.Random, kind: str, depth: int) -> bytes:
    tag, inner = draw.choice(_SPANS[kind])
    if inner == "number":
        return bytes([tag, draw.randrange(128)])
    return field(tag, _message(draw, inner, depth))


def _message(draw: random.Random, kind: str, depth: int) -> bytes:
    if kind not in _SPANS:
        return draw.choice(_TEXTS)
    begun = IDS if kind == "span" and draw.random() < 0.8 else b""
    if depth > 4 or draw.random() < 0.2:
        return begun
    return begun + b"".join(_one(draw, kind, depth + 1) for _ in range(draw.randint(0, 2)))


def _numbered(size: int, rest: bytes) -> bytes:
    trace = b"\x0a\x10" + random.randbytes(16)
    each = len(rest) + 40
    return b"".join(
        field(0x12, trace + b"\x12\x08" + number.to_bytes(8, "big") + rest) for number in range(1, 1 + size // each)
    )


def _json(draw: random.Random, size: int) -> bytes:
    level = draw.choice(_JSON_LEVELS)
    piece = draw.choice(
        (
            *(
                "{}",
                "[]",
                "null",
                "1",
                '"x"',
                '"\\ud83d"',
                "1e999",
                "NaN",
                "-0",
                '{"a":1,"a":2}',
                "[[[]]]",
                "[",
                '{"k":',
            ),
            json.dumps({"key": draw.choice(_KEYS), "value": {"stringValue": draw.choice(_KEYS)}}),
            json.dumps({"key": "k", "value": {"arrayValue": {"values": [{"intValue": "1"}] * draw.randint(0, 3)}}}),
            json.dumps({"key": "k", "value": {"kvlistValue": {"values": [{"key": draw.choice(_KEYS)}]}}}),
            json.dumps({"traceId": "1" * 32, "spanId": "2" * 16, "name": draw.choice(_KEYS)}),
            json.dumps({"spans": [{}], "scopeSpans": [{}], "attributes": [{}], "stringValue": "", "name": 1}),
            json.dumps({draw.choice(_KEYS): draw.choice(_KEYS)}),
        )
    )
    joined = "" if draw.random() < 0.1 else ","
    filling = (piece + joined) * max(1, size // len((piece + joined).encode("utf-8", "replace")))
    found = filling + "null"
    ids = '"traceId":"' + "1" * 32 + '","spanId":"' + "2" * 16 + '",'
    match level:
        case "values":
            found = f'{{"key":"k","value":{{"arrayValue":{{"values":[{found}]}}}}}}'
        case "kvs":
            found = f'{{"key":"k","value":{{"kvlistValue":{{"values":[{found}]}}}}}}'
        case _:
            pass
    if level in ("values", "kvs", "attributes", "events", "links"):
        name = level if level in ("events", "links") else "attributes"
        found = f'{{{ids}"{name}":[{found}]}}'
    if level not in ("resourceSpans", "scopeSpans"):
        found = f'{{"spans":[{found}]}}'
    if level != "resourceSpans":
        found = f'{{"scopeSpans":[{found}]}}'
    return f'{{"resourceSpans":[{found}]}}'.encode("utf-8", "surrogatepass")[: size + 400]
