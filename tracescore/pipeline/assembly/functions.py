"""Functions that a call asked for, and that are recorded as plain spans: ``@observe``, ``@trace``, ``@task``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracescore.dialects import Content
from tracescore.model import JSONValue
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.tree import Node, Tree

_PLAIN = frozenset({None, "container", "step"})
_MAX_CLIMB = 64


def read_functions(tree: Tree, calls: Sequence[Call]) -> None:
    """Make plain spans the executions of the calls that ask for a tool of their name, where no other span is one.

    Only a span that begins after such a call, and does not lie around it, is one.
    """
    plain: dict[str, list[Node]] = {}
    for node in tree.nodes:
        if node.role in _PLAIN:
            plain.setdefault(node.span.name, []).append(node)
    if not plain:
        return
    taken = {node.reading.tool_name or node.span.name for node in tree.nodes if node.role in ("tool", "handoff")}
    open_names = plain.keys() - taken
    if not open_names:
        return
    asked: dict[str, list[Call]] = {}
    for call in calls:
        output = call.reading.output
        names = {part.name for said in output.said() for part in said.calls} if output else set[str]()
        for name in names & open_names:
            asked.setdefault(name, []).append(call)
    for name, asking in asked.items():
        since = min((call.end_ns for call in asking if call.end_ns > 0), default=None)
        around = {id(above) for call in asking for above in _climb(call.node)}
        for node in plain[name]:
            if since is None or node.span.start_ns < since or id(node) in around or _inside_tool(node):
                continue
            node.role = "tool"
            node.reading = node.reading.but(
                tool_name=name, tool_arguments=_value(node.reading.input), tool_result=_value(node.reading.output)
            )


def _inside_tool(node: Node) -> bool:
    return any(above.role == "tool" for above in _climb(node))


def _climb(node: Node) -> Iterator[Node]:
    """Walk up a bounded number of spans."""
    return (above for above, _ in zip(node.above(), range(_MAX_CLIMB), strict=False))


def _value(content: Content | None) -> JSONValue:
    return content.value if content and content.kind in ("text", "value") else None
