"""Step results as evidence: bounded, JSON only, and never a reason for a score to fail."""

from __future__ import annotations

from typing import Any

import orjson

from tracescore.model import Message, Messages, messages_to_json

LIMIT = 32 * 1024
"""Bytes of JSON that are kept of one step's result."""
PREVIEW = 500
_SMALL = (float, int, bool, type(None))


def as_evidence(value: Any) -> Any:
    """Give a copy of a value as JSON, or a bounded description where it is not JSON or too large."""
    if type(value) in _SMALL:
        return value
    try:
        encoded = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return {"not_json": type(value).__qualname__, "preview": _preview(value)}
    if len(encoded) > LIMIT:
        return {"too_large": len(encoded), "preview": encoded[:PREVIEW].decode("utf-8", "ignore")}
    return orjson.loads(encoded)


def _plain(value: Any) -> Any:
    if isinstance(value, Messages):
        return messages_to_json(value)
    if isinstance(value, Message):
        return messages_to_json([value])[0]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    raise TypeError


def _preview(value: Any) -> str:
    try:
        return f"{value!r:.{PREVIEW}}"
    except Exception:  # noqa: BLE001  # a value whose repr raises is still no reason to lose its score
        return ""
