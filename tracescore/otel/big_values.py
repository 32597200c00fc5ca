"""Values too large to keep as they are: media become a digest and a size, texts are cut, and the span says so.

Only bodies above ``BIG`` are looked into, and read only where they may hold such a value, so that ordinary spans cost
nothing. A value's fate depends on nothing but itself: a span gives the same bytes in whatever encoding and company it
came.
"""

from __future__ import annotations

import re
from base64 import b64decode
from hashlib import sha256
from typing import Any, cast

import orjson

BIG = 8 * 1024
"""Bytes of a body from which on it is looked into."""
MIN_MEDIA = 4096
"""Characters of base64 from which on it is no text that anybody reads."""
MAX_TEXT = 1024 * 1024
"""Characters that are kept of one text; of a message, where a value is JSON that holds many."""
MAX_JSON = 8 * MAX_TEXT
"""Characters that are kept of one value that is JSON."""
MAX_NUMBERS = 4096
"""Numbers that are kept in one list: an embedding is no content."""
CUT = " … [cut]"

# From the beginning of a run only, and never again within it: what is hostile must not be scanned twice.
_BASE64 = re.compile(rf"(;base64,)?(?<![A-Za-z0-9+/_\\-])((?:[A-Za-z0-9+/_-]|\\/){{{MIN_MEDIA},}}+)={{0,2}}")
# What base64, and more numbers than are kept, consist of as they stand in a body.
_OF_RUNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_\\-.,"
_STEP = MIN_MEDIA // 2
_LONG_WORD = re.compile(rf"(?<!\S)\S{{{MIN_MEDIA},}}+")
_URL_SAFE = str.maketrans("-_", "+/")


def shrink(body: bytes, *, keep_media: bool = False) -> bytes:
    """Give a span's or log record's body with its large values made small; ``truncated`` in it names what was cut."""
    if len(body) <= BIG or (len(body) <= MAX_TEXT and not _holds_a_run(body)):
        return body
    plain: dict[str, Any] = orjson.loads(body)
    shrinking = _Shrinking(keep_media)
    for name in ("attributes", "body"):
        if name in plain:
            plain[name] = shrinking.of(plain[name], name)
    for event in plain.get("events", ()):
        event["attributes"] = shrinking.of(event["attributes"], event["name"][:80])
    if not shrinking.changed:
        return body
    if shrinking.cut:
        plain["truncated"] = sorted(shrinking.cut)
    return orjson.dumps(plain)


def _holds_a_run(body: bytes) -> bool:
    """Tell whether a body may hold media or a long list of numbers: whether one of its parts is nothing else."""
    for start in range(0, len(body) - _STEP + 1, _STEP):
        # Most parts are told by the first space in them.
        if body.find(b" ", start, start + _STEP) < 0 and not body[start : start + _STEP].translate(None, _OF_RUNS):
            return True
    return False


class _Shrinking:
    """One body's walk."""

    def __init__(self, keep_media: bool) -> None:
        self._keep_media = keep_media
        self.changed = False
        self.cut: set[str] = set()

    def of(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return self._text(value, name)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {key: self.of(item, key[:80] if name in ("attributes", "body") else name) for key, item in items}
        if isinstance(value, list):
            return self._list(cast("list[Any]", value), name)
        return value

    def _list(self, values: list[Any], name: str) -> Any:
        if len(values) > MAX_NUMBERS and all(isinstance(item, (int, float)) for item in values):
            self._note(name)
            return f"{len(values)} numbers{CUT}"
        return [self.of(item, name) for item in values]

    def _text(self, text: str, name: str) -> str:
        if len(text) < MIN_MEDIA:
            return text
        if not self._keep_media and _LONG_WORD.search(text):
            text = _BASE64.sub(self._digest, text)
        if len(text) <= MAX_TEXT or (self._keep_media and _BASE64.search(text)):
            return text
        self._note(name)
        return self._cut_json(text) if text[0] in "[{" else text[:MAX_TEXT] + CUT

    def _cut_json(self, text: str) -> str:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text[:MAX_TEXT]
        short = _cut_leaves(value)
        # A history may be long though no message in it is; of one that is longer still, the first messages are kept.
        return orjson.dumps(short).decode()[:MAX_JSON]

    def _digest(self, found: re.Match[str]) -> str:
        run = found[2]
        if not found[1] and not all(re.search(kind, run[:512]) for kind in ("[A-Z]", "[a-z]", "[0-9]")):
            return found[0]  # a ruler, a hexadecimal dump, a word of somebody who leant on a key
        self.changed = True
        content = _decoded(run.replace("\\/", "/").translate(_URL_SAFE))
        stated = f";sha256={sha256(content).hexdigest()};bytes={len(content)},"
        return stated if found[1] else f"data:{stated}"

    def _note(self, name: str) -> None:
        self.changed = True
        self.cut.add(name)


def _cut_leaves(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + CUT
    if isinstance(value, list):
        return [_cut_leaves(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _cut_leaves(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _decoded(run: str) -> bytes:
    try:
        return b64decode(run + "=" * (-len(run) % 4))
    except ValueError:  # one character too many
        return run.encode()
