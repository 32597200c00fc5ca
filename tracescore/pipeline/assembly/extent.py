"""Which spans a run stands on, and what of them may still be missing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tracescore.otel.semconv import EVALUATION_RESULT, EVENT_NAME, RUN_COMPLETE
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.tree import Node, Tree

_FOREVER = 1 << 63

ParentState: TypeAlias = Literal["none", "present", "remote", "missing"]


class Extent(NamedTuple):
    """What settling looks at."""

    span_ids: frozenset[str]
    open_spans: bool
    parent: ParentState
    complete: bool
    first_arrival_ns: int
    last_arrival_ns: int
    top: Node
    """The highest received span above the run's own."""


class Gaps(NamedTuple):
    """Spans whose local parent was named and not received, in order of time."""

    starts: tuple[int, ...]
    parents: tuple[str | None, ...]
    others: tuple[int, ...]
    """For each of them, the place of the next one that names another parent."""
    tops: Mapping[int, Node]
    """The root above each span."""

    def between(self, start_ns: int, end_ns: int, *, but_of: str | None) -> bool:
        """Tell whether one started in this time that does not hang below the parent given."""
        place = bisect_left(self.starts, start_ns)
        if place < len(self.starts) and self.parents[place] == but_of:
            place = self.others[place]
        return place < len(self.starts) and self.starts[place] <= end_ns


def gaps_of(tree: Tree) -> Gaps:
    """Collect the gaps of a trace."""
    if len(tree.roots) == 1 and not tree.roots[0].orphaned:
        return Gaps(starts=(), parents=(), others=(), tops=dict.fromkeys(map(id, tree.nodes), tree.roots[0]))
    roots = [root for root in tree.roots if root.orphaned and not root.span.has_remote_parent]
    roots.sort(key=lambda root: root.place)
    parents = [root.span.parent_span_id for root in roots]
    others = [len(roots)] * len(roots)
    for place in range(len(roots) - 2, -1, -1):
        others[place] = place + 1 if parents[place + 1] != parents[place] else others[place + 1]
    tops: dict[int, Node] = {}
    for node in tree.order():
        tops[id(node)] = node if node.parent is None else tops[id(node.parent)]
    return Gaps(
        starts=tuple(root.span.start_ns for root in roots), parents=tuple(parents), others=tuple(others), tops=tops
    )


def extent_of(invocation: Invocation, tree: Tree, gaps: Gaps) -> Extent:
    """Measure an invocation: its spans, those of the runs it handed over to, and what is open among them."""
    if invocation.kind == "trace":
        nodes = list(tree.nodes)
    else:
        nodes = list(_subtree(invocation) if invocation.children else invocation.node.subtree())
    top = gaps.tops[id(invocation.node)]
    arrivals = _arrivals(nodes)
    marked = [node for node in (*nodes, *invocation.records) if RUN_COMPLETE in node.span.attributes]
    return Extent(
        span_ids=frozenset([node.span.span_id for node in nodes]),
        open_spans=0 in [node.span.end_ns for node in nodes] or _has_gap(invocation, top, gaps),
        parent=_parent_state(invocation, top, tree),
        complete=any(_is_own(invocation, node) for node in marked if _says_complete(node)),
        first_arrival_ns=min(arrivals, default=0),
        last_arrival_ns=max(arrivals, default=0),
        top=top,
    )


def extent_of_span(node: Node, gaps: Gaps) -> Extent:
    """Measure a span that is in no run: it, and all beneath it."""
    nodes = list(node.subtree())
    top = gaps.tops[id(node)]
    between = gaps.between(
        node.span.start_ns, node.span.end_ns or _FOREVER, but_of=top.span.parent_span_id if top.orphaned else None
    )
    arrivals = _arrivals(nodes)
    return Extent(
        span_ids=frozenset(one.span.span_id for one in nodes),
        open_spans=between or any(not one.span.end_ns for one in nodes),
        parent=_state_above(node, top),
        complete=any(map(_says_complete, nodes)),
        first_arrival_ns=min(arrivals, default=0),
        last_arrival_ns=max(arrivals, default=0),
        top=top,
    )


def _says_complete(node: Node) -> bool:
    return RUN_COMPLETE in node.span.attributes and node.span.attributes[RUN_COMPLETE] in (True, "true")


def _is_own(invocation: Invocation, node: Node) -> bool:
    """Tell a span of the run itself from one of a run inside it, or of one it handed over to."""
    return invocation.kind == "trace" or node.agent is invocation.node or node in invocation.records


def _subtree(invocation: Invocation) -> Iterable[Node]:
    seen: set[int] = set()
    stack = [invocation]
    while stack:
        found = stack.pop()
        stack.extend(found.children)
        if id(found.node) in seen:
            continue
        for node in found.node.subtree():
            if id(node) not in seen:
                seen.add(id(node))
                yield node


def _arrivals(nodes: Sequence[Node]) -> list[int]:
    arrivals = [node.span.arrived_ns for node in nodes]
    arrivals += [arrived for node in nodes if node.logs for arrived in _logs_arrived(node)]
    return arrivals


def _logs_arrived(node: Node) -> Iterable[int]:
    for log in node.logs:
        # A score that comes back as an event must not keep its run from settling.
        if (log.event_name or log.attributes.get(EVENT_NAME)) != EVALUATION_RESULT:
            yield log.arrived_ns


def _has_gap(invocation: Invocation, top: Node, gaps: Gaps) -> bool:
    """Tell whether a span that was named as a parent and not received may lie inside the run.

    It may where its children ran in the run's time; the parent above the run's own spans does not.
    """
    own = invocation.node.span
    above = top.span.parent_span_id if top.orphaned else None
    if invocation.kind == "trace":
        return gaps.between(0, _FOREVER, but_of=above)
    return gaps.between(own.start_ns, own.end_ns or _FOREVER, but_of=above)


def _parent_state(invocation: Invocation, top: Node, tree: Tree) -> ParentState:
    if invocation.kind == "trace":
        orphans = [root for root in tree.roots if root.orphaned]
        if any(not root.span.has_remote_parent for root in orphans):
            return "missing"
        return "remote" if orphans else "none"
    if invocation.parent is not None:
        return "present"
    return _state_above(invocation.node, top)


def _state_above(node: Node, top: Node) -> ParentState:
    if top.orphaned:
        return "remote" if top.span.has_remote_parent else "missing"
    return "none" if top is node else "present"
