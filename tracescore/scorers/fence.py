"""Fences around judged content: it is untrusted, and must not be able to close its own fence."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from tracescore.model import Message, Messages, Trajectory, messages_to_json, trajectory_to_json


def fenced(value: Any, *, scorer_version: str) -> str:
    """Wrap a value between markers that it cannot contain; the same value gives the same text each time."""
    text = _as_text(value)
    seed = f"{scorer_version}\x1f{text}".encode("utf-8", "surrogatepass")
    marker = hashlib.sha256(seed).hexdigest()[:24]  # a text that holds its own 96-bit hash cannot be made
    return f"<untrusted-{marker}>\n{text}\n</untrusted-{marker}>"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Message):
        value = messages_to_json([value])[0]
    elif isinstance(value, Messages):
        value = messages_to_json(value)
    elif isinstance(value, Trajectory):  # its messages are apart: ctx.fenced(trajectory.raw_output)
        value = trajectory_to_json(value)
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Messages):
        return messages_to_json(value)
    if isinstance(value, Message):
        return messages_to_json([value])[0]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)
