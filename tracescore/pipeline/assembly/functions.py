"""Functions that a call asked for, and that are recorded as plain spans: ``@observe``, ``@trace``, ``@task``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from tracescore.dialects import Content
from tracescore.model import JSONValue
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.tree import Node

_PLAIN = frozenset({None, "container", "step"})
_MAX_CLIMB = 64


def read_functions(order: Sequence[Node], calls: Sequence[Call]) -> None:
    """Make plain spans the executions of the calls that ask for a tool of their name, where no other span is one.

    Such a span begins after the call, lies neither around it nor inside a tool nor in another agent, and there are no
    more of them than were asked for. ``order`` has every span behind the one around it.
    """
    plain = {node.span.name for node in order if node.role in _PLAIN}
    if not plain:
        return
    plain -= {node.reading.tool_name or node.span.name for node in order if node.role in ("tool", "handoff")}
    asked: dict[str, list[Call]] = {}
    for call in calls if plain else ():
        output = call.reading.output
        for part in (part for said in output.said() for part in said.calls) if output else ():
            if part.name in plain and call.end_ns > 0:
                asked.setdefault(part.name, []).append(call)
    for asking in asked.values():
        asking.sort(key=lambda call: call.end_ns)
    begun = dict.fromkeys(asked, 0)
    for node in order:
        name = node.span.name
        if node.role not in _PLAIN or name not in asked:
            continue
        before = bisect_right(asked[name], node.span.start_ns, key=lambda call: call.end_ns)
        if begun[name] < before and _belongs(node, asked[name][before - 1].node):
            begun[name] += 1
            node.role = "tool"
            node.reading = node.reading.but(
                tool_name=name, tool_arguments=_value(node.reading.input), tool_result=_value(node.reading.output)
            )


def _belongs(node: Node, call: Node) -> bool:
    """Tell a span that the agent of a call may have begun for it."""
    around = {id(above) for above in _climb(call)}
    if id(node) in around:
        return False
    for above in _climb(node):
        if above.role == "tool":
            return False
        if above.role == "agent":
            return id(above) in around
    return True


def _climb(node: Node) -> Iterator[Node]:
    """Walk up a bounded number of spans."""
    return (above for above, _ in zip(node.above(), range(_MAX_CLIMB), strict=False))


def _value(content: Content | None) -> JSONValue:
    return content.value if content and content.kind in ("text", "value") else None
