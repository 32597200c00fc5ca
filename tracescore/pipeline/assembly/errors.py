"""Why a span, and with it a run, failed: what its status says, else the exception that it recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracescore.pipeline.assembly.tree import Node

SPAN_LIMIT = 200
"""Characters of a span's message that an explanation shows."""
NO_MESSAGE = "no message"

_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def error_of_span(node: Node) -> str | None:
    """Say on one line why a span failed; ``None`` for one that did not."""
    if node.span.status != "error" and (node.reading.error_type is None or node.span.status == "ok"):
        return None
    message = _COLOURS.sub("", (said_of(node) or "")[: 8 * SPAN_LIMIT])
    line = " ".join("".join(one if one.isprintable() else " " for one in message).split())
    return (line if len(line) <= SPAN_LIMIT else line[: SPAN_LIMIT - 1].rstrip() + "…") or NO_MESSAGE


def said_of(node: Node) -> str | None:
    """Give what a span that failed says of it: its status message, else its last exception, else the error's type."""
    if node.span.status_message.strip():
        return node.span.status_message
    for event in reversed(node.span.events):
        if event.name == "exception":
            found = event.attributes.get("exception.type"), event.attributes.get("exception.message")
            said = ": ".join(_texts(found))
            if said:
                return said
    return node.reading.error_type or None


def _texts(values: Iterable[object]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str) and value.strip())
