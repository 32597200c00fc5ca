"""System instructions that stand apart from the messages."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.unwrap import find_messages


def instructions(value: Any) -> Content | None:
    """Read instructions: text, a list of texts or of parts, or a list of messages."""
    if value is None or value == "":
        return None
    parsed = parse(value)
    decoded = parsed.value
    if decoded in ("", [], {}, None):
        return None
    if is_object(decoded) and "role" not in decoded and isinstance(decoded.get("parts"), list):
        decoded = decoded["parts"]
    if isinstance(decoded, list) and find_messages(decoded, "system") is None:
        elements: dict[int, Any] = {0: decoded}
    elif isinstance(decoded, list):
        elements = dict(enumerate(decoded))
    else:
        elements = {0: decoded}
    return Content(role="system", elements=elements, tail_lost=parsed.truncated)
