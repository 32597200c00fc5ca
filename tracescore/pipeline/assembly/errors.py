"""Why a span, and with it a run, failed: what its status says, else the exception that it recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.tree import Node

SPAN_LIMIT = 200
"""Characters of a span's message that an explanation shows."""
RUN_LIMIT = 2000
"""Characters of a message that a run keeps."""
NO_MESSAGE = "no message"

_STACK = "Traceback (most recent call last):"
_FRAME = re.compile(r"\n[ \t]+at [^\n]{0,1000}:\d+:\d+\)?(?=\n|$)")
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def error_of_span(node: Node) -> str | None:
    """Say on one line why a span failed; ``None`` for one that did not."""
    if not has_failed(node):
        return None
    message = _COLOURS.sub("", said_of(node) or "")
    line = " ".join("".join(one if one.isprintable() else " " for one in message).split())
    return (line if len(line) <= SPAN_LIMIT else line[: SPAN_LIMIT - 1].rstrip() + "…") or NO_MESSAGE


def error_of_run(invocation: Invocation) -> str | None:
    """Say why a run failed: in the words of its own span, of another that records it, else of its last failed call."""
    own = invocation.records or invocation.roots[-1:] or (invocation.node,)
    turns = [child for child in invocation.node.children if child.role == "step"][-1:]
    called = [node for call in reversed(invocation.calls) if call.failed for node in call.nodes]
    return next((said for node in (*own, *turns, *called) if has_failed(node) and (said := said_of(node))), None)


def has_failed(node: Node) -> bool:
    """Tell a span that says it failed."""
    return node.span.status == "error" or (node.reading.error_type is not None and node.span.status != "ok")


def said_of(node: Node) -> str | None:
    """Give what a span that failed says of it: its status message, else its last exception, else what was read."""
    if node.span.status_message.strip():
        return message_kept(node.span.status_message)
    for event in reversed(node.span.events):
        if event.name == "exception":
            found = event.attributes.get("exception.type"), event.attributes.get("exception.message")
            said = ": ".join(_texts(found))
            if said:
                return message_kept(said)
    return message_kept(node.reading.tool_error or node.reading.error_type or "") or None


def message_kept(message: str) -> str:
    """Give what is kept of a message: no stack that a tracer appended."""
    kept = message.partition(_STACK)[0].strip() or message.strip()
    if "\n" in kept and (frame := _FRAME.search(kept)) is not None:
        kept = kept[: frame.start()].strip()
        # A stack of JavaScript begins with the message.
        head, _, rest = kept.partition("\n\n")
        kept = head if rest.endswith(head) else kept
    return kept[:RUN_LIMIT]


def _texts(values: Iterable[object]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str) and value.strip())
