"""No request makes the receiver grow by more than four times its limit, or answer 500."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Iterator

import pytest

from tests.otel.requests import as_json, span, traces
from tests.server.apart import LIMIT, MOST_GROWTH, ServerApart, server_apart
from tests.server.calls import call
from tracescore.otel import JSON, PROTOBUF
from tracescore.server.memory import YOUNG, cycles_rarely_looked_for

IDS = b"\x0a\x10" + b"t" * 16 + b"\x12\x08" + b"s" * 8


def field(tag: int, content: bytes) -> bytes:
    size, encoded = len(content), bytearray([tag])
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    return bytes(encoded) + bytes([size]) + content


def spans(encoded: bytes) -> bytes:
    return field(0x0A, field(0x12, encoded))


def filled(piece: bytes, size: int = LIMIT - 200) -> bytes:
    return piece * (size // len(piece))


def kvlists(depth: int) -> bytes:
    value = b""
    for _ in range(depth):
        value = field(0x32, field(0x0A, field(0x0A, b"k") + field(0x12, value)))
    return value


def json_spans(piece: bytes) -> bytes:
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + piece + b"]}]}]}"


SPAN = b'{"traceId":"' + b"1" * 32 + b'","spanId":"' + b"2" * 16 + b'","attributes":[%s],"events":[%s]}'
HOSTILE: dict[str, tuple[str, bytes]] = {
    "empty attributes": (PROTOBUF, spans(field(0x12, IDS + filled(b"\x4a\x00")))),
    "empty events": (PROTOBUF, spans(field(0x12, IDS + filled(b"\x5a\x00", LIMIT // 32)))),
    "empty links": (PROTOBUF, spans(field(0x12, IDS + filled(b"\x6a\x00", LIMIT // 32)))),
    "empty spans": (PROTOBUF, spans(filled(b"\x12\x00"))),
    "empty scopes": (PROTOBUF, field(0x0A, filled(b"\x12\x00"))),
    "empty resources": (PROTOBUF, filled(b"\x0a\x00")),
    "small spans": (PROTOBUF, spans(filled(field(0x12, IDS)))),
    "fewer small spans": (PROTOBUF, spans(filled(field(0x12, IDS), LIMIT // 4))),
    "a large resource in every span": (
        PROTOBUF,
        field(
            0x0A,
            field(0x0A, field(0x0A, field(0x0A, b"k") + field(0x12, field(0x0A, filled(b"x", LIMIT // 8)))))
            + field(0x12, filled(field(0x12, IDS), LIMIT // 8)),
        ),
    ),
    "deep lists": (PROTOBUF, spans(field(0x12, IDS + field(0x4A, field(0x0A, b"k") + field(0x12, kvlists(20_000)))))),
    "not UTF-8": (PROTOBUF, spans(field(0x12, IDS + field(0x2A, filled(b"\xff", LIMIT // 6))))),
    "much that is not UTF-8": (PROTOBUF, spans(field(0x12, IDS + field(0x2A, filled(b"\xff"))))),
    "one large text": (PROTOBUF, spans(field(0x12, IDS + field(0x2A, filled(b"x"))))),
    "a third of it text": (PROTOBUF, spans(field(0x12, IDS + field(0x2A, filled(b"ab ", LIMIT // 3 - 99))))),
    "brackets": (JSON, filled(b"[")),
    "empty objects": (JSON, json_spans(filled(b"{},") + b"{}")),
    "numbers": (JSON, json_spans(SPAN % (filled(b"1.5,", LIMIT // 5) + b"1", b""))),
    "keys": (JSON, json_spans(b"{%s}" % b",".join(b'"%05x":0' % number for number in range(LIMIT // 65)))),
    "empty JSON events": (JSON, json_spans(SPAN % (b"", filled(b"{},", LIMIT // 32) + b"{}"))),
    "an emoji": (JSON, json_spans(SPAN % (b"", b"")).replace(b"2", b"\xf0\x9f\x98\x80" + filled(b"x"), 1)),
    "a NaN literal": (JSON, as_json(traces(span({"k": "x" * (LIMIT // 2)})))[:-1] + b',"n":NaN}'),
    "a lone surrogate": (JSON, b'{"resourceSpans":[],"n":"\\ud83d' + filled(b"x", LIMIT // 2) + b'"}'),
    "quotes": (JSON, filled(b'"')),
    "zeros": (JSON, bytes(LIMIT)),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerApart]:
    """A server in a process of its own, with its limit."""
    with server_apart(tmp_path_factory.mktemp("memory")) as apart:
        yield apart


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_answered_and_costs_at_most_four_times_the_limit(server: ServerApart, name: str) -> None:
    content_type, body = HOSTILE[name]
    packed = gzip.compress(body, 1)
    before = server.count_from_here()
    answer = call(server.running, "POST", "/v1/traces", packed, content_type=content_type, content_encoding="gzip")
    grown = server.peak() - before

    assert answer.status in (200, 400, 413)
    assert grown <= MOST_GROWTH, f"{grown / LIMIT:.1f} times the limit"


def test_a_bomb_is_inflated_to_its_limit_and_no_further_and_many_leave_nothing_behind(server: ServerApart) -> None:
    bomb = gzip.compress(bytes(64 * LIMIT), 1)
    before = server.count_from_here()
    for _ in range(6):
        answer = call(server.running, "POST", "/v1/traces", bomb, content_type=JSON, content_encoding="gzip")

        assert answer.status == 413
    assert server.peak() - before <= MOST_GROWTH


def test_cycles_are_looked_for_rarely_while_a_server_runs() -> None:
    before = gc.get_threshold()
    with cycles_rarely_looked_for():
        assert gc.get_threshold() == (YOUNG, *before[1:])
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
