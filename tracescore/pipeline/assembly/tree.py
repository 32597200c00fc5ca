"""The spans of a trace as a forest, whatever their parent ids say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from tracescore.dialects import DialectSet, Reading, SpanRole
from tracescore.dialects.decode_json import storable
from tracescore.model import LogRecord, Span, Trace
from tracescore.otel.semconv import OWN_NAME, SERVICE_NAME

_MAX_WRAPPERS = 16


@dataclass(slots=True, eq=False)
class Node:
    """One span in its place, with what was read from it."""

    span: Span
    reading: Reading
    role: SpanRole | None
    logs: tuple[LogRecord, ...] = ()
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    orphaned: bool = False
    """True where the span names a parent that was not received."""
    unreadable: str | None = None
    shells: list[Node] = field(default_factory=list)
    """Agent spans around this one that record the same invocation once more."""

    agent: Node | None = None
    """The agent invocation that the span belongs to: itself, or the nearest above."""
    aside: Node | None = None
    """The nearest tool, retrieval or check above it, inside its invocation: what is beneath that is not the agent's."""

    @property
    def place(self) -> tuple[int, str]:
        """Give what spans are ordered by: start time, then span id."""
        return self.span.start_ns, self.span.span_id

    def above(self) -> Iterator[Node]:
        """Walk up from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def subtree(self) -> Iterator[Node]:
        """Walk this node and everything beneath it, parents first."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.children:
                stack.extend(reversed(node.children))

    @property
    def transparent(self) -> bool:
        """Tell whether no dialect says anything of the span: it only holds others."""
        return self.role is None and not self.reading.input and not self.reading.output

    def seat(self) -> Node:
        """Give the outermost span around this one that holds nothing else: a bare wrapper."""
        node = self
        for _ in range(_MAX_WRAPPERS):
            above = node.parent
            if above is None or not above.transparent or len(above.children) != 1:
                break
            node = above
        return node

    def down(self) -> Iterator[Node]:
        """Walk from this span to the one inside, as far as these are bare wrappers."""
        node = self
        for _ in range(_MAX_WRAPPERS):
            yield node
            if not node.transparent or len(node.children) != 1:
                return
            node = node.children[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """All spans of a trace in time order, and the roots among them."""

    nodes: tuple[Node, ...]
    roots: tuple[Node, ...]

    def order(self) -> list[Node]:
        """Give all spans as they hang, parents first."""
        stack = list(reversed(self.roots))
        order: list[Node] = []
        while stack:
            node = stack.pop()
            order.append(node)
            if node.children:
                stack.extend(reversed(node.children))
        return order


def build_tree(trace: Trace, dialects: DialectSet) -> Tree:
    """Read every span and hang it below its parent.

    Cycles are cut at their earliest span. What tracescore wrote itself is left out, and what is beneath it: the judge's
    own model calls must never be scored.
    """
    logs: dict[str, list[LogRecord]] = {}
    for log in trace.logs:
        logs.setdefault(log.span_id, []).append(_storable_log(log))
    spans = _storable(_distinct(trace))
    nodes = {span.span_id: _read(span, tuple(logs.get(span.span_id, ())), dialects) for span in spans}
    for node in nodes.values():
        parent_id = node.span.parent_span_id
        if not parent_id:
            continue
        parent = nodes.get(parent_id)
        node.parent = parent if parent is not node else None
        node.orphaned = parent is None
    _cut_cycles(nodes)
    own = [node for node in nodes.values() if _is_own(node.span)]
    for node in nodes.values():
        if node.parent is not None:
            node.parent.children.append(node)
    kept = tuple(nodes.values())
    if own:
        ignored = {id(beneath) for node in own for beneath in node.subtree()}
        kept = tuple(node for node in kept if id(node) not in ignored)
        for node in kept:
            node.children = [child for child in node.children if id(child) not in ignored]
    return Tree(nodes=kept, roots=tuple([node for node in kept if node.parent is None]))


def _distinct(trace: Trace) -> list[Span]:
    """Give one span for each id, in time order; of several the one that says most."""
    spans: dict[str, Span] = {}
    for span in trace.spans:
        known = spans.get(span.span_id)
        if known is None or _weight(known) < _weight(span):
            spans[span.span_id] = span
    return sorted(spans.values(), key=lambda span: (span.start_ns, span.span_id))


def _storable(spans: list[Span]) -> list[Span]:
    """Give spans whose values can be stored in a run; nearly all are such already, which is found out at once."""
    try:
        orjson.dumps([_values(span) for span in spans])
    except TypeError:
        return [_made_storable(span) for span in spans]
    return spans


def _values(span: Span) -> tuple[Any, ...]:
    events = [event.attributes for event in span.events] if span.events else ()
    return span.name, span.status_message, span.scope_name, span.scope_version, span.attributes, span.resource, events


def _made_storable(span: Span) -> Span:
    try:
        orjson.dumps(_values(span))
    except TypeError:
        return replace(
            span,
            name=storable(span.name),
            scope_name=storable(span.scope_name),
            scope_version=storable(span.scope_version),
            attributes=storable(span.attributes),
            resource=storable(span.resource),
            status_message=storable(span.status_message),
            events=tuple(replace(event, attributes=storable(event.attributes)) for event in span.events),
        )
    return span


def _storable_log(log: LogRecord) -> LogRecord:
    try:
        orjson.dumps([log.body, log.attributes])
    except TypeError:
        return replace(log, body=storable(log.body), attributes=storable(log.attributes))
    return log


def _weight(span: Span) -> tuple[int, int, str]:
    return span.end_ns, len(span.attributes), repr(sorted(span.attributes.items()))


def _read(span: Span, logs: tuple[LogRecord, ...], dialects: DialectSet) -> Node:
    try:
        reading = dialects.read(span, logs)
    except Exception as error:  # noqa: BLE001 - a broken span never blocks its trace
        return Node(span=span, reading=Reading(), role=None, logs=logs, unreadable=type(error).__name__)
    return Node(span=span, reading=reading, role=reading.role, logs=logs)


def _is_own(span: Span) -> bool:
    return span.scope_name == OWN_NAME or span.resource.get(SERVICE_NAME) == OWN_NAME


def _cut_cycles(nodes: dict[str, Node]) -> None:
    """Make the earliest span of each cycle a root. Nodes come in time order, so the cut is the same every time."""
    done: set[int] = set()
    for start in nodes.values():
        if start.parent is None or id(start.parent) in done:
            done.add(id(start))  # nearly every parent started before its children
            continue
        path: list[Node] = []
        walking: set[int] = set()
        node: Node | None = start
        while node is not None and id(node) not in done:
            if id(node) in walking:
                cycle = path[path.index(node) :]
                min(cycle, key=lambda member: member.place).parent = None
                break
            walking.add(id(node))
            path.append(node)
            node = node.parent
        done |= walking
