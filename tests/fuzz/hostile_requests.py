"""Requests to the receiver that are recorded ones disturbed, or none at all."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Sequence
from functools import cache

from tests.fuzz.mutations import mutate, restructure
from tests.fuzz.seeds import recorded_files, rows_of
from tests.fuzz.swollen import swollen
from tests.fuzz.wire import Sent
from tests.otel.requests import as_json, as_protobuf, log, logs
from tracescore.otel import JSON, PROTOBUF, decode_logs, decode_traces

_MOST_BYTES = 40_000
_METHODS = ("Trace", "Logs")
_PATHS = ("/v1/traces", "/v1/logs")
_ODD_PATHS = ("/v1/traces/", "//v1/traces", "/v1/metrics", "/v1/%00", "/v1/traces?x=%ff", "/v1/../v1/traces", "*", "/")
_TYPES = ("application/json", "application/x-protobuf", "application/protobuf", "application/json; charset=utf-8")
_ODD_TYPES = (
    *(
        "",
        "text/plain",
        "application/jsonx",
        "APPLICATION/JSON",
        "application/x-protobuf;q=\x80",
        "a" * 9000,
        "\xff\xfe",
    ),
    *("multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/grpc", ";", "json"),
)
_ENCODINGS = ("gzip", "deflate", "identity", "GZIP", "x-gzip", "br", "zstd", "gzip, gzip", "", "\xff", "a" * 5000)
_EVALUATION = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5, "gen_ai.response.id": "r"}
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@cache
def bodies() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Give recorded requests in both encodings: those of spans, then those of log records."""
    spans: list[bytes] = []
    records: list[bytes] = []
    requests = [json.loads(file.read_bytes()) for file in recorded_files(_MOST_BYTES)]
    requests.append(logs(log(None, _EVALUATION, eventName="gen_ai.evaluation.result")))
    for request in requests:
        found = records if "resourceLogs" in request else spans
        found += [as_json(request), as_protobuf(request)]
    return tuple(spans), tuple(records)


def draw_request(draw: random.Random, limit: int, *, large: float) -> Sent:
    """Draw what is sent; ``large`` is how probable it is that it amounts to nearly the limit."""
    if draw.random() < large:
        is_json, body = swollen(draw, limit)
        return _well_formed(draw, "/v1/traces", body, is_json, gzip.compress(body, 1), "gzip")
    which = int(draw.random() < 0.25)
    way = draw.random()
    begun = bodies()[which]
    body = draw.choice([one for one in draw.sample(begun, 20) if way >= 0.3 or one[:1] != b"{"] or begun)
    if draw.random() < 0.6:
        body = _elsewhere(body, which, draw)
    changing = draw.random()
    if changing < 0.45:
        for _ in range(draw.randint(1, 3)):
            body = restructure(body, draw)
    elif changing < 0.65:
        body = mutate(body, begun, draw)
    elif changing < 0.75:
        body = draw.choice((b"", draw.randbytes(draw.randint(1, 400)), _deep(draw), b"\xef\xbb\xbf{}", b"null", b"[]"))
    path = _PATHS[which if draw.random() < 0.93 else 1 - which]
    if way < 0.3:
        packed = _packed(body, draw)[0] if draw.random() < 0.4 else body
        return Sent(door="grpc", data=_method(path, draw).encode() + b"\n" + packed)
    if way < 0.33:
        frames = b"".join(_frame(draw) for _ in range(draw.randint(0, 4)))
        return Sent(door="frames", data=draw.choice((_PREFACE, b"")) + frames)
    if way < 0.75:
        is_json = body[:1] in (b"{", b"[") if draw.random() < 0.97 else draw.random() < 0.5
        packed, encoding = _packed(body, draw) if draw.random() < 0.4 else (body, "")
        return _well_formed(draw, path, body, is_json, packed, encoding)
    return _odd(draw, path, body)


def _elsewhere(body: bytes, which: int, draw: random.Random) -> bytes:
    """Move it to traces of its own, so that not all of them end in the same few."""
    encoding = JSON if body[:1] == b"{" else PROTOBUF
    rows = rows_of(decode_logs if which else decode_traces, body, encoding)
    for trace_id in {row.trace_id for row in rows}:
        fresh = draw.randbytes(16)
        body = body.replace(trace_id, fresh) if encoding == PROTOBUF else body
        body = body.replace(trace_id.hex().encode(), fresh.hex().encode())
    return body


def _deep(draw: random.Random) -> bytes:
    depth = draw.choice((60, 200, 900, 3000, 60_000))
    kind = draw.randrange(4)
    if kind == 0:
        return b"[" * depth
    if kind == 1:
        return b'{"resourceSpans":' + b'[{"a":' * depth + b"1" + b"}]" * depth + b"}"
    value = "1"
    values = min(depth, 3000)
    if kind == 2:
        value = '{"arrayValue":{"values":[' * values + '{"intValue":"1"}' + "]}}" * values
    else:
        value = '{"kvlistValue":{"values":[{"key":"k","value":' * values + '{"intValue":"1"}' + "}]}}" * values
    span = f'{{"traceId":"{"3" * 32}","spanId":"{"4" * 16}","attributes":[{{"key":"k","value":{value}}}]}}'
    return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'.encode()


def _packed(body: bytes, draw: random.Random) -> tuple[bytes, str]:
    """Compress a body, well or badly, and give what it says it is."""
    match draw.randrange(8):
        case 0:
            packed, encoding = zlib.compress(body), "deflate"
        case 1:
            packed, encoding = zlib.compress(body)[2:-4], "deflate"
        case 2:
            packed, encoding = gzip.compress(body[: len(body) // 2]) + gzip.compress(body[len(body) // 2 :]), "gzip"
        case 3:
            packed, encoding = gzip.compress(body)[: draw.randint(0, 60)], "gzip"
        case 4:
            packed, encoding = gzip.compress(body) + draw.randbytes(draw.randint(0, 30)), "gzip"
        case 5:
            packed, encoding = mutate(gzip.compress(body), (), draw), "gzip"
        case 6:
            packed, encoding = gzip.compress(b"\x00" * draw.choice((10, 10**6, 30 * 10**6)), 1), "gzip"
        case _:
            packed, encoding = gzip.compress(body), "gzip"
    return packed, encoding


def _method(path: str, draw: random.Random) -> str:
    name = _METHODS[_PATHS.index(path)]
    if draw.random() < 0.03:
        return draw.choice(("/x", "/", f"/opentelemetry.proto.collector.{name.lower()}.v1.{name}Service/Nothing"))
    return f"/opentelemetry.proto.collector.{name.lower()}.v1.{name}Service/Export"


def _frame(draw: random.Random) -> bytes:
    held = draw.randbytes(draw.randint(0, 60))
    size = len(held) if draw.random() < 0.8 else draw.randrange(1 << 24)
    stream = draw.choice((0, 1, 1, 3, 2**31 - 1))
    return size.to_bytes(3, "big") + bytes([draw.randrange(11), draw.randrange(256)]) + stream.to_bytes(4, "big") + held


def _head(method: str, path: str, headers: Sequence[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _well_formed(draw: random.Random, path: str, body: bytes, is_json: bool, packed: bytes, encoding: str) -> Sent:
    kind = _TYPES[0] if is_json else _TYPES[1]
    headers = [("host", "127.0.0.1"), ("content-type", kind)]
    if encoding:
        headers.append(("content-encoding", encoding))
    if draw.random() < 0.3:
        return Sent(
            door="http", data=_head("POST", path, [*headers, ("transfer-encoding", "chunked")]) + _chunks(packed, draw)
        )
    headers.append(("content-length", str(len(packed))))
    return Sent(door="http", data=_head("POST", path, headers) + packed)


def _chunks(body: bytes, draw: random.Random) -> bytes:
    size = max(1, draw.choice((1, 7, 4096, 65536, len(body))))
    size = max(size, len(body) // 2000)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"


def _odd(draw: random.Random, path: str, body: bytes) -> Sent:
    """Give a request whose head is not what any client sends; it may be no request."""
    if draw.random() < 0.1:
        path = draw.choice(_ODD_PATHS)
    method = draw.choice(("POST",) * 8 + ("GET", "PUT", "OPTIONS", "HEAD", "TRACE", "post", "P\x00ST"))
    size: object = draw.choice(
        (len(body),) * 6 + (len(body) + 9, max(0, len(body) - 3), -1, "+5", "0x10", "", 10**30, f"{len(body)}, 3", "五")
    )
    headers = [
        ("host", draw.choice(("127.0.0.1",) * 9 + ("evil.example", "", "127.0.0.1:99999", "[::1", "\xff"))),
        ("content-type", draw.choice(_TYPES if draw.random() < 0.6 else _ODD_TYPES)),
        ("content-length", str(size).encode().decode("latin-1")),
    ]
    for odd in (
        ("content-encoding", draw.choice(_ENCODINGS)),
        ("origin", draw.choice(("http://evil.example", "null", "http://127.0.0.1", "\xff"))),
        ("authorization", draw.choice(("Bearer x", "Bearer", "Basic eDp5", "\xff\xfe", "Bearer " + "y" * 7000))),
        ("expect", draw.choice(("100-continue", "x"))),
        ("connection", draw.choice(("close", "upgrade", "keep-alive, x"))),
        ("upgrade", draw.choice(("websocket", "h2c"))),
        ("transfer-encoding", draw.choice(("chunked", "gzip, chunked", "identity", "chunked, chunked", "x"))),
        ("content-length", str(len(body))),
        ("content-type", "application/json"),
        ("x" * draw.choice((1, 300, 70_000)), "y" * draw.choice((0, 300, 70_000))),
        ("a b", "c"),
        ("n\x00", "\x01"),
        ("traceparent", "00-\xff"),
    ):
        if draw.random() < 0.1:
            headers.append(odd)
    draw.shuffle(headers)
    data = _head(method, path, headers)
    if draw.random() < 0.1:
        data = mutate(data, (), draw)
    if draw.random() < 0.1:
        data = data.replace(b"HTTP/1.1", draw.choice((b"HTTP/1.0", b"HTTP/2", b"HTTP/9.9", b"")))
    body = _bad_chunks(body, draw) if b"chunked" in data else body
    return Sent(door="part", data=data + body[: draw.randint(0, len(body))] if draw.random() < 0.3 else data + body)


def _bad_chunks(body: bytes, draw: random.Random) -> bytes:
    data = _chunks(body, draw)
    match draw.randrange(4):
        case 0:
            return data.replace(b"\r\n", draw.choice((b"\n", b";x=y\r\n", b"\r\r\n")), draw.randint(1, 4))
        case 1:
            return draw.choice((b"-1\r\n", b"ffffffffffffffffff\r\n", b"zz\r\n", b"\r\n", b"0\r\nx: y\r\n\r\n")) + data
        case 2:
            return data[: draw.randint(0, len(data))]
        case _:
            return data
