"""A file's content cut into units: single export requests, whichever way they were written one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import orjson

from tracescore.errors import InputError
from tracescore.otel import JSON, PROTOBUF
from tracescore.sources.packed import ZSTD_MAGIC, unpacking

MAX_UNIT = 256 * 1024 * 1024
"""Bytes of one request: as much as the receiver takes when it is inflated."""
HEAD = 4096
_LENGTH = 4
_FIRST_FIELD = 0x0A
"""The first byte of an export request in protobuf. As the first byte of a length it would mean 160 MB and more."""
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""What no text holds, and every protobuf message with an id in it."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One request of a file."""

    body: bytes
    encoding: str
    """``JSON`` or ``PROTOBUF``."""
    number: int = 0
    """Which line or message it is, from 1; 0 where it is the whole file."""
    end: int
    """Where it ends in the unpacked content."""
    tail: bytes = b""
    """The last bytes before that, as they lie there."""
    is_line: bool = False

    @property
    def place(self) -> str:
        """Say where in the file it stands, for in front of a message."""
        return "" if not self.number else f"{'line' if self.is_line else 'message'} {self.number}: "


def units_in(content: IO[bytes], *, start: int = 0, number: int = 0) -> Iterator[Unit]:
    """Cut content into requests: a JSON document, one a line, or messages with their length before them.

    The last is how a collector's file exporter writes protobuf, and anything that it compresses. ``start`` and
    ``number`` are those of the last unit that is not wanted again.

    Raises:
        InputError: it is neither, or the rest of it cannot be read.
    """
    with unpacking():
        head = content.read(HEAD)
    if not head.strip():
        raise InputError("is empty")
    buffered = _Ahead(content, head)
    begins_as_json = head[0] != _FIRST_FIELD and head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")
    if begins_as_json or not _CONTROL.search(head):
        yield from _json_units(buffered, start=start, number=number)
    elif head[0] < _FIRST_FIELD and int.from_bytes(head[:_LENGTH], "big"):
        yield from _messages(buffered, start=start, number=number)
    elif head[0] == _FIRST_FIELD:
        body = buffered.rest()
        yield Unit(body=body, encoding=PROTOBUF, end=len(body))
    else:
        raise InputError("it is neither JSON nor an OTLP request in protobuf")


class _Ahead:
    """Content of which the head was read already."""

    def __init__(self, content: IO[bytes], head: bytes) -> None:
        self._content = content
        self._head = head
        self.position = 0

    def read(self, size: int) -> bytes:
        taken, self._head = self._head[:size], self._head[size:]
        with unpacking():
            taken += self._content.read(size - len(taken)) if len(taken) < size else b""
        self.position += len(taken)
        return taken

    def line(self) -> bytes:
        """Give the next line with its end; nothing at the end."""
        stop = self._head.find(b"\n") + 1
        if stop:
            line, self._head = self._head[:stop], self._head[stop:]
        else:
            with unpacking():
                line, self._head = self._head + self._content.readline(MAX_UNIT + 1), b""
        if len(line) > MAX_UNIT:
            raise InputError(f"it holds a line of more than {MAX_UNIT} bytes")
        self.position += len(line)
        return line

    def skip_to(self, position: int) -> None:
        while self.position < position and self.read(min(1 << 20, position - self.position)):
            pass

    def rest(self, begun: bytes = b"") -> bytes:
        rest = self.read(MAX_UNIT + 1 - len(begun))
        if len(begun) + len(rest) > MAX_UNIT:
            raise InputError(f"it is one request of more than {MAX_UNIT} bytes")
        return begun + rest


def _json_units(content: _Ahead, *, start: int, number: int) -> Iterator[Unit]:
    ahead: list[tuple[bytes, int]] = []
    filled: list[bytes] = []
    while len(filled) < 2 and (line := content.line()):
        ahead.append((line, content.position))
        if line.strip():
            filled.append(line)
    # A document over many lines begins with a bracket alone, or with what no next line makes sense after.
    if len(filled) < 2 or not (_is_json(filled[0]) or (len(filled[0].strip()) > 1 and _is_json(filled[1]))):
        body = content.rest(b"".join(line for line, _ in ahead))
        yield Unit(body=body, encoding=JSON, end=len(body))
        return
    ahead = [(line, end) for line, end in ahead if end > start]
    content.skip_to(start)
    while True:
        line, end = ahead.pop(0) if ahead else (content.line(), content.position)
        if not line:
            return
        number += 1
        if line.strip():
            yield Unit(body=line, encoding=JSON, number=number, end=end, tail=line[-HEAD:], is_line=True)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line.removeprefix(_BOM))
    except orjson.JSONDecodeError:
        return False
    return True


def _messages(content: _Ahead, *, start: int, number: int) -> Iterator[Unit]:
    content.skip_to(start)
    while prefix := content.read(_LENGTH):
        number += 1
        size = int.from_bytes(prefix, "big")
        if size > MAX_UNIT:
            raise InputError(f"message {number} would be {size} bytes: it is no OTLP file, or is corrupt from there on")
        body = content.read(size)
        if len(prefix) < _LENGTH or len(body) < size:
            raise InputError(f"message {number} was cut off")
        tail = body[-HEAD:]
        body = _inflated(body, number)
        encoding = JSON if body[:1] == b"{" else PROTOBUF
        yield Unit(body=body, encoding=encoding, number=number, end=content.position, tail=tail)


def _inflated(body: bytes, number: int) -> bytes:
    if not body.startswith(ZSTD_MAGIC):
        return body
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            inflated = reader.read(MAX_UNIT + 1)
    except zstandard.ZstdError as error:
        raise InputError(f"message {number} is corrupt zstd: {error}") from error
    if len(inflated) > MAX_UNIT:
        raise InputError(f"message {number} inflates to more than {MAX_UNIT} bytes")
    return inflated
