"""The invocations of a trace, each with what is its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracescore.model import JSONValue
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.tree import Node, Tree

_MAX_CLIMB = 64
_TRAFFIC = frozenset({"llm", "retrieval"})
_NEIGHBOURS = 4
_HOLDERS = frozenset({"container", "step", "guardrail", "evaluator"})


@dataclass(slots=True, eq=False)
class Invocation:
    """One agent invocation, or a whole trace that has none."""

    node: Node
    kind: Literal["agent", "trace"] = "agent"
    records: tuple[Node, ...] = ()
    """The spans that record the invocation itself, its own first; none where a trace has no span around all of it."""
    roots: tuple[Node, ...] = ()
    """The roots of a trace that has no span around all of it, in order."""
    calls: list[Call] = field(default_factory=list)
    """The model calls of its conversation, in order."""
    inner_calls: list[Call] = field(default_factory=list)
    """Model calls of its tools: they count in its usage and say nothing in its conversation."""
    tools: list[Node] = field(default_factory=list)
    """The executions of its tool calls, hand-offs included, in order."""
    copies: dict[int, list[Node]] = field(default_factory=dict)
    """By execution: what another instrumentation recorded of the same one, inside it."""
    retrievals: list[Node] = field(default_factory=list)
    parent: Invocation | None = None
    took_over: bool = False
    """True where the parent handed over to it."""
    tool: Node | None = None
    """The execution of the parent's call that it answers."""
    children: list[Invocation] = field(default_factory=list)

    name: str | None = None
    """The agent's name, where a span states it."""
    session_id: str | None = None
    user_id: str | None = None

    @property
    def place(self) -> tuple[int, str]:
        """Give what invocations are ordered by."""
        return self.node.place

    def wrappers(self) -> Iterator[Node]:
        """Walk up the spans around it that belong to no other invocation."""
        node = self.node.parent
        for _ in range(_MAX_CLIMB):
            if node is None or node.agent is node:
                return
            yield node
            node = node.parent

    def above(self) -> Iterator[Invocation]:
        """Walk up the invocations that called it or handed over to it."""
        found = self.parent
        while found is not None:
            yield found
            found = found.parent

    @property
    def has_content(self) -> bool:
        """Tell whether its own span records input or output."""
        return any(bool(node.reading.input) or bool(node.reading.output) for node in self.records)


def find_invocations(tree: Tree, calls: Sequence[Call]) -> list[Invocation]:
    """Give the invocations of a trace in time order, without the links that hand-offs make."""
    agents = [node for node in tree.nodes if node.agent is node]
    if agents:
        found = {id(node): Invocation(node=node, records=(node, *node.shells)) for node in agents}
        for invocation in found.values():
            above = invocation.node.parent
            enclosing = above.agent if above is not None else None
            if enclosing is not None and above is not None:
                invocation.parent = found[id(enclosing)]
                invocation.tool = _execution(above, enclosing)
    elif tree.nodes and any(_is_traffic(node) for node in tree.nodes):
        whole = Invocation(node=_own_of_trace(tree), kind="trace", records=_records_of_trace(tree))
        if not whole.records:
            whole.roots = tree.roots
        found = {id(None): whole}
    else:
        return []
    _share_out(tree, calls, found)
    for invocation in found.values():
        invocation.name = _name_of(invocation)
        invocation.session_id, invocation.user_id = _associated(invocation)
    return sorted(found.values(), key=lambda invocation: invocation.place)


def _name_of(invocation: Invocation) -> str | None:
    """Give the agent's name: of its span, of one that records the same invocation, of all its model calls."""
    for node in invocation.records:
        if node.reading.agent_name is not None:
            return node.reading.agent_name
    names = {call.reading.agent_name or _running(call, invocation) for call in invocation.calls}
    return next(iter(names)) if len(names) == 1 else None


def _associated(invocation: Invocation) -> tuple[str | None, str | None]:
    """Give session and user: of its span, of those around it, of those inside, of its resource."""
    nodes = [invocation.node, *invocation.records, *invocation.wrappers()]
    for call in invocation.calls:
        nodes += call.nodes
    nodes += invocation.tools
    session = next((found for node in nodes if (found := node.reading.session_id) is not None), None)
    user = next((found for node in nodes if (found := node.reading.user_id) is not None), None)
    resource = invocation.node.span.resource
    return session or _text(resource.get("session.id")), user or _text(resource.get("user.id"))


def _text(value: JSONValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _running(call: Call, invocation: Invocation) -> str | None:
    """Give the agent that a step around a call says is running."""
    for node, _ in zip(call.node.above(), range(_NEIGHBOURS), strict=False):
        if node is invocation.node or node.agent is not invocation.node.agent:
            return None
        if node.role in _HOLDERS and node.reading.agent_name is not None:
            return node.reading.agent_name
    return None


def _is_traffic(node: Node) -> bool:
    if node.role in _TRAFFIC:
        return True
    if node.role not in _HOLDERS:
        return False
    recorded = [content for content in (node.reading.input, node.reading.output) if content]
    # A word for what a span holds is no sign of an agent, unless messages stand there.
    return bool(recorded) and (not node.reading.generic or any(content.kind == "messages" for content in recorded))


def _own_of_trace(tree: Tree) -> Node:
    """Give the trace's root span, or its first: a score of the whole trace goes there."""
    return next((root for root in tree.roots if not root.orphaned), tree.nodes[0])


def _records_of_trace(tree: Tree) -> tuple[Node, ...]:
    """Give the root, and below bare wrappers the span that really says something of the whole."""
    if len(tree.roots) != 1:
        return ()
    speaking = _speaking(tree)
    records = [tree.roots[0]]
    while records[-1].transparent and len(records) < _MAX_CLIMB:
        inside = [child for child in records[-1].children if id(child) in speaking]
        if len(inside) != 1:
            break
        records.append(inside[0])
    return tuple(records)


def _speaking(tree: Tree) -> set[int]:
    """Collect the spans of which a dialect says something, and those above them."""
    speaking: set[int] = set()
    for node in reversed([node for root in tree.roots for node in root.subtree()]):
        if node.role is not None or id(node) in speaking:
            speaking.add(id(node))
            if node.parent is not None:
                speaking.add(id(node.parent))
    return speaking


def _execution(above: Node, enclosing: Node) -> Node | None:
    """Find the outermost tool span between an invocation and the one around it."""
    found: Node | None = None
    node: Node | None = above if above is not enclosing else None
    while node is not None:
        if node.role in ("tool", "handoff"):
            found = node
        node = node.aside
    return found


def _share_out(tree: Tree, calls: Sequence[Call], found: dict[int, Invocation]) -> None:
    for call in calls:
        owner = found.get(id(call.node.agent))
        if owner is not None:
            (owner.calls if call.node.aside is None else owner.inner_calls).append(call)
    for node in tree.nodes:
        owner = found.get(id(node.agent))
        if owner is None:
            continue
        if node.role in ("tool", "handoff"):
            if node.aside is None:
                first = next((tool for tool in owner.tools[-_NEIGHBOURS:] if _is_beside(tool, node)), None)
                if first is None:
                    owner.tools.append(node)
                else:
                    owner.copies.setdefault(id(first), []).append(node)
            elif node.aside.role == "tool" and node.aside.aside is None and _same_tool(node.aside, node):
                owner.copies.setdefault(id(node.aside), []).append(node)
        elif node.role == "retrieval":
            owner.retrievals.append(node)
    for owner in found.values():
        if not owner.calls and owner.inner_calls and not owner.has_content and not owner.tools:
            owner.calls, owner.inner_calls = owner.inner_calls, []


def _is_beside(tool: Node, node: Node) -> bool:
    """Tell whether two instrumentations recorded one execution side by side: the later lies in the earlier's time."""
    arguments = [one.reading.tool_arguments for one in (tool, node) if one.reading.tool_arguments is not None]
    return (
        tool.span.scope_name != node.span.scope_name
        and tool.role == node.role
        and tool.seat().parent is node.seat().parent
        and 0 < node.span.end_ns <= tool.span.end_ns
        and None not in (tool.reading.tool_name, node.reading.tool_name)
        and _same_tool(tool, node)
        and arguments[:1] == arguments[-1:]
    )


def _same_tool(outer: Node, inner: Node) -> bool:
    ids = {outer.reading.tool_call_id, inner.reading.tool_call_id} - {None}
    names = {node.reading.tool_name for node in (outer, inner)} - {None}
    return len(ids) < 2 and (len(names) < 2 or len(ids) == 1)
