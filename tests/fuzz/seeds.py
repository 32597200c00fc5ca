"""What fuzzing bytes begins from: the recorded requests, in both encodings, and the values of their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tests.otel.requests import as_protobuf
from tracescore.errors import InputError
from tracescore.otel import Decoded

_TESTS = Path(__file__).parent.parent
_FOLDERS = (_TESTS / "corpus", _TESTS.parent / "tracescore" / "cli" / "demo_traces")
_MAX_BYTES = 12_000
"""Of a file: larger ones slow every run of a fuzzer down and show nothing that the small ones do not."""
_MIN_TEXT = 24
_MARKS = ("{", "[", "='", "(")
"""Of structure: plain text and ids show nothing."""


def seeds(target: str, *, most: int = 400) -> list[bytes]:
    """Give the seeds of a target, ``otlp`` or ``decoder``, in an order that is always the same."""
    found: dict[bytes, None] = {}
    for file in recorded_files():
        body = file.read_bytes()
        request = orjson.loads(body)
        found.update(dict.fromkeys([body, as_protobuf(request)] if target == "otlp" else _texts(request)))
        if len(found) >= most:
            break
    return list(found)[:most]


def recorded_files(most_bytes: int = _MAX_BYTES) -> list[Path]:
    """Give the recorded requests that are no larger."""
    files = [file for folder in _FOLDERS for file in folder.rglob("*.json") if file.stat().st_size <= most_bytes]
    # By scenario, then library: the first few are of many libraries.
    return sorted(files, key=lambda file: (file.name, file.parent.name))


def _texts(value: Any) -> Iterator[bytes]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        held = value.get("value")
        text = held.get("stringValue") if isinstance(held, dict) else None
        if isinstance(text, str) and len(text) >= _MIN_TEXT and any(mark in text for mark in _MARKS):
            yield f"{value.get('key', '')}\n{text}".encode()
        for item in value.values():
            yield from _texts(item)


def rows_of(decode: Callable[[bytes, str], Decoded[Any]], body: bytes, encoding: str) -> list[Any]:
    """Decode a request; a refused one has no rows."""
    try:
        return decode(body, encoding).rows
    except InputError:
        return []
