"""Which agent invocations a trace holds: wrappers go, supervisors that are recorded as mere chains come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.transfers import fitting, target_of, transfers
from tracescore.pipeline.assembly.tree import Node, Tree

ASIDES = frozenset({"tool", "handoff", "retrieval", "embedding", "memory", "guardrail", "evaluator"})
"""What is beneath these is their own business: no turn of the agent's conversation."""
_MAX_CLIMB = 64
_MAX_ASKERS = 64
"""Model calls before an agent that are looked at for the one that asked for it: all of them cost quadratic time."""
_NONE: Mapping[int, Node] = {}
MAX_AGENT_DEPTH = 64
"""Agents inside agents below this are no runs: the sets of spans of nested runs would grow with its square."""


def resolve_loops(tree: Tree) -> None:
    """Decide what an SDK's loop is: an agent invocation where it holds model calls of its own, else a call."""
    if "loop" not in [node.role for node in tree.nodes]:
        return
    holder: dict[int, Node] = {}
    holding: set[int] = set()
    for node in tree.order():
        above = node.parent
        if above is not None:
            found = above if above.role in ("agent", "loop") else holder.get(id(above))
            if found is not None:
                holder[id(node)] = found
                if node.role == "llm":
                    holding.add(id(found))
    for node in tree.nodes:
        if node.role == "loop":
            node.role = "agent" if id(node) in holding else "llm"


def settle_agents(tree: Tree, order: Sequence[Node], calls: Sequence[Call]) -> None:
    """Decide which spans are agent invocations, and set for each span which one it belongs to."""
    agents = {id(node) for node in tree.nodes if node.role == "agent"}
    _assign(order, agents)
    if len(agents) > 1 and _collapse(order, calls, agents):
        _assign(order, agents)
    if agents and _adopt(tree, calls, agents):
        order = tree.order()
        _assign(order, agents)
    promoted = _promote(tree, calls, agents) if agents else []
    if promoted:
        _assign(order, agents, _joining(tree, promoted))
    if len(agents) > MAX_AGENT_DEPTH:
        _limit_depth(order, agents)


def _assign(order: Sequence[Node], agents: set[int], joining: Mapping[int, Node] = _NONE) -> None:
    for node in order:
        above = node.parent
        if id(node) in agents:
            node.agent, node.aside = node, None
        elif above is None:
            node.agent, node.aside = joining.get(id(node)), None
        else:
            node.agent = above.agent
            node.aside = above if above.role in ASIDES and above is not above.agent else above.aside


def _owners(nodes: Iterable[Node], calls: Iterable[Call]) -> set[int]:
    """Give the agents that have a model call or a tool call of their own."""
    owners = {id(call.node.agent) for call in calls if call.node.agent is not None}
    owners |= {id(node.agent) for node in nodes if node.role in ("tool", "handoff") and node.agent is not None}
    return owners


def _has_content(node: Node) -> bool:
    return bool(node.reading.input) or bool(node.reading.output)


def _collapse(order: Sequence[Node], calls: Sequence[Call], agents: set[int]) -> bool:
    """Take out agents that only hold agents: theirs take their place; tell whether there were any.

    One that repeats in its own input and output what the only agent inside it says, under the same name, is the same
    invocation recorded twice; one without a name that holds several is the workflow around them.
    """
    before = len(agents)
    owners = _owners(order, calls)
    count: dict[int, int] = {}
    only: dict[int, Node | None] = {}
    for node in reversed(order):
        if id(node) not in agents:
            continue
        inside = count.get(id(node), 0)
        inner = only.get(id(node)) if inside == 1 else None
        empty = id(node) not in owners and not _has_content(node)
        twice = id(node) not in owners and inner is not None and _same_name(node, inner)
        above = node.parent.agent if node.parent is not None else None
        # Without a name it is what holds agents that hand over to each other, and repeats what they were asked.
        around = inside > 1 and id(node) not in owners and node.reading.agent_name is None
        if inside and (empty or twice or around):
            agents.discard(id(node))
            if inner is not None:
                inner.shells.append(node)
            if above is not None:
                count[id(above)] = count.get(id(above), 0) + inside
                only[id(above)] = inner
        elif above is not None:
            count[id(above)] = count.get(id(above), 0) + 1
            only[id(above)] = node
    return len(agents) < before


def _same_name(outer: Node, inner: Node) -> bool:
    names = {outer.reading.agent_name, inner.reading.agent_name} - {None}
    return len(names) < 2


def _adopt(tree: Tree, calls: Sequence[Call], agents: set[int]) -> bool:
    """Merge an agent span with nothing of its own and nothing beneath with a sibling of its agent's name.

    Tells whether there was one.
    """
    found = False
    bare = [node for node in tree.nodes if id(node) in agents and node.reading.agent_name and not _has_content(node)]
    owners = _owners(tree.nodes, calls) if bare else set[int]()
    bare = [node for node in bare if id(node) not in owners]
    if not bare:
        return False
    holding = {id(node.parent.agent) for node in tree.nodes if id(node) in agents and node.parent is not None}
    busy = {id(above) for call in calls for above in (call.node, *_climb(call.node))}
    siblings: dict[int, dict[str, list[Node]]] = {}
    moved: dict[int, tuple[Node, set[int]]] = {}
    for node in bare:
        name = node.reading.agent_name
        if id(node) in holding or name is None:
            continue
        seat = node.seat()
        key = id(seat.parent)
        if key not in siblings:
            siblings[key] = _by_name(seat.parent.children if seat.parent is not None else tree.roots, busy)
        twin = next((one for one in siblings[key].get(name, ()) if one is not seat), None)
        if twin is None:
            continue
        found = True
        if any(id(inside) in agents for inside in twin.down()):
            agents.discard(id(node))
        elif twin.parent is not None:
            moved.setdefault(id(twin.parent), (twin.parent, set()))[1].add(id(twin))
            twin.parent = node
            node.children.append(twin)
            siblings[key][name].remove(twin)
    for parent, gone in moved.values():
        # All at once: the children of a parent of thousands would be copied for each of them.
        parent.children = [child for child in parent.children if id(child) not in gone]
    return found


def _by_name(nodes: Iterable[Node], busy: set[int]) -> dict[str, list[Node]]:
    """Group spans that hold model calls by every name that they, or what they barely wrap, go by."""
    named: dict[str, list[Node]] = {}
    for node in nodes:
        if id(node) in busy:
            names: set[str | None] = set()
            for inside in node.down():
                reading = inside.reading
                names |= {reading.agent_name, reading.name, inside.span.name, inside.span.name.rpartition(" ")[2]}
            for name in names - {None}:
                named.setdefault(str(name), []).append(node)
    return named


def _climb(node: Node) -> Iterable[Node]:
    """Walk up a bounded number of spans."""
    return (above for above, _ in zip(node.above(), range(_MAX_CLIMB), strict=False))


def _joining(tree: Tree, promoted: Sequence[Node]) -> dict[int, Node]:
    """Find the further steps of agents whose own spans are missing: the like of a promoted one, beneath the same."""
    steps = {(node.span.parent_span_id, node.span.name): node for node in promoted if node.orphaned}
    if not steps:
        return {}
    orphans = ((root, (root.span.parent_span_id, root.span.name)) for root in tree.roots if root.orphaned)
    return {id(root): steps[place] for root, place in orphans if place in steps}


def _promote(tree: Tree, calls: Sequence[Call], agents: set[int]) -> list[Node]:
    """Make the lowest span an agent that holds a model call and the agent which answers what that call asked for.

    Gives those spans.
    """
    outside = [call for call in calls if call.node.agent is None]
    if not outside:
        return []
    outermost = [
        node for node in tree.nodes if id(node) in agents and (node.parent is None or node.parent.agent is None)
    ]
    if not outermost:
        return []
    asked: dict[str, list[Call]] = {}
    silent: list[Call] = []
    outside.sort(key=lambda call: call.place)
    for call in outside:
        names = _asked_names(call)
        for name in names:
            asked.setdefault(name, []).append(call)
        if not names and not call.reading.output:
            silent.append(call)
    transferring: dict[str, list[Call]] = {}
    for call in outside:
        for target in _transfer_targets(call):
            transferring.setdefault(fitting(target), []).append(call)
    found: list[Node] = []
    for agent in outermost:
        for wrapper in _climb(agent):
            name = _wrapper_name(wrapper)
            candidates = asked.get(name, []) if name is not None else []
            if wrapper.role == "tool":
                candidates = candidates or silent
            holder = _holder(candidates, wrapper)
            if holder is None:
                continue
            agents.add(id(holder))
            found.append(holder)
            if wrapper.role != "tool":
                wrapper.role = "tool"
                wrapper.reading = wrapper.reading.but(tool_name=name)
            break
        else:
            found += _promote_transferring(agent, transferring, agents)
    return found


def _promote_transferring(agent: Node, transferring: Mapping[str, Sequence[Call]], agents: set[int]) -> list[Node]:
    """Make the lowest span an agent that holds an agent and the call which hands over to it by its name."""
    names = (agent.reading.agent_name, agent.reading.name, agent.span.name)
    fit = [transferring.get(fitting(name), ()) for name in names if name is not None] if transferring else []
    candidates = {id(call): call for calls in fit for call in _before(calls, agent)}
    holder = _holder(sorted(candidates.values(), key=lambda call: call.place), agent)
    if holder is None:
        return []
    agents.add(id(holder))
    return [holder]


def _asked_names(call: Call) -> set[str]:
    output = call.reading.output
    return {part.name for said in output.said() for part in said.calls} if output else set()


def _transfer_targets(call: Call) -> list[str]:
    output = call.reading.output
    calls = [part for said in output.said() for part in said.calls if transfers(part.name)] if output else []
    return [target for part in calls if (target := target_of(part.name, part.arguments)) is not None]


def _wrapper_name(node: Node) -> str | None:
    if node.role == "tool":
        return node.reading.tool_name or node.span.name
    return node.reading.name or node.span.name if node.role != "llm" else None


def _holder(candidates: Sequence[Call], wrapper: Node) -> Node | None:
    """Find the lowest span above both the wrapper and the latest of the calls before it that may have asked for it.

    The calls come in order of time.
    """
    before = _before(candidates, wrapper)
    above = {id(node): node for node in _climb(wrapper)} if before else dict[int, Node]()
    for call in reversed(before):
        for node in _climb(call.node):
            if node is wrapper:
                break
            if id(node) in above:
                return node
    return None


def _before(calls: Sequence[Call], node: Node) -> Sequence[Call]:
    """Give the last of the calls, which come in order of time, that began before a span or with it."""
    until = bisect_right(calls, node.span.start_ns, key=lambda call: call.start_ns)
    return calls[max(0, until - _MAX_ASKERS) : until]


def _limit_depth(order: Sequence[Node], agents: set[int]) -> None:
    depth: dict[int, int] = {}
    for node in order:
        above = node.parent
        level = depth.get(id(above), 0) if above is not None else 0
        if id(node) in agents:
            level += 1
            if level > MAX_AGENT_DEPTH:
                agents.discard(id(node))
        depth[id(node)] = level
    if any(level > MAX_AGENT_DEPTH for level in depth.values()):
        _assign(order, agents)
