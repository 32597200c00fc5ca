"""How values go into columns: ids, text that no database takes, numbers that do not fit, JSON, page marks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import time
from typing import Any

import orjson

from tracescore.errors import InputError

LARGEST = 2**63 - 1
MAX_PAGE = 500

_HEX = frozenset("0123456789abcdef")


def is_id(text: str, *, digits: int = 32) -> bool:
    """Tell whether a text can be an id at all: what cannot is simply not found."""
    return len(text) == digits and _HEX.issuperset(text)


def id_bytes(text: str) -> bytes:
    """Give the bytes of an id that the store is to keep.

    Raises:
        InputError: it is not lower-case hex.
    """
    if not text or len(text) % 2 or not _HEX.issuperset(text):
        raise InputError(f"{text!r:.80} is not an id: expected lower-case hex digits")
    return bytes.fromhex(text)


def maybe_id_bytes(text: str | None) -> bytes | None:
    """Give the bytes of an id that may be missing; an empty one is."""
    return id_bytes(text) if text else None


def new_id() -> str:
    """Make an id that sorts by time, so that an index grows at its end."""
    return (time.time_ns() // 1_000_000).to_bytes(6, "big").hex() + os.urandom(10).hex()


def storable(text: str) -> str:
    """Replace what a database refuses in text: NUL, and surrogates without their other half."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def maybe_storable(text: str | None) -> str | None:
    """Replace what a database refuses, where there is a text."""
    return None if text is None else storable(text)


def clamp(value: int) -> int:
    """Bound a number to 64 bits: what comes in may state any time."""
    return max(-LARGEST, min(value, LARGEST))


def dump_json(value: Any) -> bytes:
    """Give JSON bytes of anything; what is not JSON is described, never refused."""
    try:
        return orjson.dumps(value, default=_describe, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):  # lone surrogates, integers beyond 64 bits, depth
        return _dump_slowly(value)


def _dump_slowly(value: Any) -> bytes:
    try:
        plain = json.dumps(value, default=_describe_slowly)
    except (TypeError, ValueError, RecursionError) as error:
        plain = json.dumps({"unreadable": f"{type(error).__name__}: {error}"})
    return storable(plain).encode()


def _describe(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if hasattr(value, "items"):
        return dict(value.items())
    return repr(value)


def _describe_slowly(value: Any) -> Any:
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: getattr(value, name) for name in fields}
    return _describe(value)


def load_json(stored: bytes) -> Any:
    """Read JSON back from ``dump_json``."""
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:  # an escaped lone surrogate, which only the standard library reads
        return json.loads(stored)


def evidence_digest(body: bytes) -> bytes:
    """Give what tells whether stored evidence is still what was written."""
    return hashlib.sha256(body).digest()


def page_mark(created_ns: int, row_id: str) -> str:
    """Give the place of a row in a list, for the next page."""
    return base64.urlsafe_b64encode(f"{created_ns}.{row_id}".encode()).decode().rstrip("=")


def read_page_mark(mark: str) -> tuple[int, str]:
    """Read a place back.

    Raises:
        InputError: it is not from ``page_mark``.
    """
    try:
        created, row_id = base64.urlsafe_b64decode(mark + "=" * (-len(mark) % 4)).decode().split(".")
        if is_id(row_id):
            return clamp(int(created)), row_id
    except (ValueError, binascii.Error, UnicodeDecodeError):
        pass
    raise InputError(f"{mark!r:.80} is not a page mark: give what `next` of the page before said")


def page_limit(limit: int) -> int:
    """Bound how much one page holds."""
    return max(1, min(limit, MAX_PAGE))
