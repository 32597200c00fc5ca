"""Model calls: what several spans record of one call is one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tracescore.dialects import Reading, Said, combine
from tracescore.pipeline.assembly.tree import Node

BOUNDARIES = frozenset(
    {"agent", "loop", "tool", "handoff", "retrieval", "embedding", "memory", "guardrail", "evaluator"}
)
"""Spans through which a model call does not repeat the one above."""
_NEIGHBOURS = 4
_CARRIED = 64
"""Calls inside an envelope that an envelope around it sees; without a bound, nested ones cost quadratic time."""
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost")


@dataclass(slots=True, eq=False)
class Call:
    """One model call: its spans, the one that says most first, and what they say together."""

    nodes: tuple[Node, ...]
    reading: Reading
    node: Node
    """The outermost of its spans: it decides where the call belongs."""
    start_ns: int
    end_ns: int
    answers: Sequence[Said] | None = None
    """What it answered, once that was asked for."""

    @property
    def span_id(self) -> str:
        """Give the span that says most of the call."""
        return self.nodes[0].span.span_id

    @property
    def place(self) -> tuple[int, str]:
        """Give what calls are ordered by."""
        return self.start_ns, self.node.span.span_id

    @property
    def turn(self) -> tuple[int, int, str]:
        """Give what the calls of a conversation are ordered by: of one time, a longer history is the later one."""
        return self.start_ns, self.reading.input.size if self.reading.input else 0, self.node.span.span_id

    @property
    def failed(self) -> bool:
        """Tell whether the call ended in an error."""
        return self.reading.error_type is not None or "error" in [node.span.status for node in self.nodes]


class _Groups:
    """Disjoint sets of spans; the earliest span stands for its set."""

    def __init__(self) -> None:
        self._up: dict[int, Node] = {}

    def of(self, node: Node) -> Node:
        while (up := self._up.get(id(node))) is not None:
            further = self._up.get(id(up))
            if further is not None:
                self._up[id(node)] = further
            node = up
        return node

    def unite(self, one: Node, other: Node) -> None:
        one, other = self.of(one), self.of(other)
        if one is other:
            return
        if other.place < one.place:
            one, other = other, one
        self._up[id(other)] = one


def find_calls(order: Sequence[Node]) -> list[Call]:
    """Find the model calls of a trace, each once, among its spans as they hang.

    Spans are one call where they state the same response and overlap, or lie inside each other and state one model, or
    lie beside each other from two instrumentations of which one records no content, or the same answer.
    """
    models = [node for node in order if node.role == "llm"]
    if not models:
        return []
    groups = _Groups()
    _unite_by_response(models, groups)
    enclosing = _enclosing(order)
    envelopes = _unite_nested(models, enclosing, groups)
    _unite_neighbours(models, groups)
    members: dict[int, list[Node]] = {}
    for node in models:
        if id(node) not in envelopes:
            members.setdefault(id(groups.of(node)), []).append(node)
    calls = [_call(nodes) for nodes in members.values()]
    calls = _content_of_envelopes(calls, envelopes)
    return _without_preparations(sorted(calls, key=lambda call: call.turn))


def _unite_by_response(models: Sequence[Node], groups: _Groups) -> None:
    by_id: dict[str, list[Node]] = {}
    for node in models:
        if node.reading.response_id is not None:
            by_id.setdefault(node.reading.response_id, []).append(node)
    for nodes in by_id.values():
        if len(nodes) < 2:
            continue
        nodes.sort(key=lambda node: node.place)
        for earlier, later in pairwise(nodes):
            # Gateways and mocks repeat an id for calls that follow each other; copies of one call overlap.
            if _overlap(earlier, later):
                groups.unite(earlier, later)


def _enclosing(order: Iterable[Node]) -> dict[int, Node]:
    """Find, for each span, the model call above it that it may repeat."""
    enclosing: dict[int, Node] = {}
    for node in order:
        parent = node.parent
        if parent is None or parent.role in BOUNDARIES:
            continue
        found = parent if parent.role == "llm" else enclosing.get(id(parent))
        if found is not None:
            enclosing[id(node)] = found
    return enclosing


def _unite_nested(models: Sequence[Node], enclosing: dict[int, Node], groups: _Groups) -> dict[int, list[Node]]:
    """Unite a call with the one inside it; one that holds several is their envelope and no call itself."""
    beneath: dict[int, list[Node]] = {}
    envelopes: dict[int, list[Node]] = {}
    for node in reversed(models) if enclosing else ():
        inner = beneath.get(id(node), [])
        if inner:
            distinct = {id(groups.of(child)): child for child in inner if groups.of(child) is not groups.of(node)}
            if len(distinct) == 1:
                groups.unite(node, next(iter(distinct.values())))
            elif distinct:
                envelopes[id(node)] = [node, *inner]
        above = enclosing.get(id(node))
        if above is not None:
            found = inner[:_CARRIED] if id(node) in envelopes else [node]
            beneath.setdefault(id(above), []).extend(child for child in found if _same_model(above, child))
    return envelopes


def _unite_neighbours(models: Sequence[Node], groups: _Groups) -> None:
    if len({node.span.scope_name for node in models}) < 2:
        return  # of one instrumentation, which records each call once
    by_parent: dict[int, list[Node]] = {}
    for node in models:
        above = node.seat().parent
        if above is not None:
            by_parent.setdefault(id(above), []).append(node)
    for nodes in by_parent.values():
        if len({node.span.scope_name for node in nodes}) < 2:
            continue
        nodes.sort(key=lambda node: node.place)
        for place, later in enumerate(nodes):
            for earlier in nodes[max(0, place - _NEIGHBOURS) : place]:
                if _copies(earlier, later):
                    groups.unite(earlier, later)


def _copies(one: Node, other: Node) -> bool:
    """Tell whether two instrumentations recorded one call side by side."""
    return (
        one.span.scope_name != other.span.scope_name
        and len({one.reading.response_id, other.reading.response_id} - {None}) < 2
        and _overlap(one, other)
        and _same_model(one, other)
        and ((0, 0) in (_richness(one)[:2], _richness(other)[:2]) or _same_answer(one, other))
    )


def _same_answer(one: Node, other: Node) -> bool:
    """Tell whether one span lies in the time of the other, and both record the same answer."""
    first, second = (one, other) if one.place <= other.place else (other, one)
    if not 0 < second.span.end_ns <= first.span.end_ns:
        return False
    outputs = [node.reading.output for node in (one, other)]
    told = [[what for said in output.said() for what in said.told()] for output in outputs if output]
    return len(told) == 2 and told[0] == told[1] != []


def _overlap(one: Node, other: Node) -> bool:
    """Tell whether two spans share time; a span without an end shares all time after its start."""
    first, second = (one.span, other.span) if one.place <= other.place else (other.span, one.span)
    return not first.end_ns or second.start_ns < first.end_ns or second.start_ns == first.start_ns


def _same_model(one: Node, other: Node) -> bool:
    mine = {_model_name(name) for name in (one.reading.model_asked, one.reading.model_answered) if name}
    theirs = {_model_name(name) for name in (other.reading.model_asked, other.reading.model_answered) if name}
    if not mine or not theirs:
        return True
    return any(a.startswith(b) or b.startswith(a) for a in mine for b in theirs)


def _model_name(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _richness(node: Node) -> tuple[int, int, bool]:
    reading = node.reading
    output = reading.output.rank if reading.output else 0
    given = reading.input.rank if reading.input else 0
    return output, given, reading.output_tokens is not None


def _call(nodes: Sequence[Node]) -> Call:
    if len(nodes) == 1:
        only = nodes[0]
        span = only.span
        return Call(nodes=(only,), reading=only.reading, node=only, start_ns=span.start_ns, end_ns=span.end_ns)
    ranked = sorted(nodes, key=lambda node: (*(-int(value) for value in _richness(node)), node.place))
    ends = [node.span.end_ns for node in nodes]
    reading = combine([node.reading for node in ranked])
    counted = _as_client_counted(ranked)
    return Call(
        nodes=tuple(ranked),
        reading=reading if counted is None else reading.but(output_tokens=counted),
        node=min(nodes, key=lambda node: node.place),
        start_ns=min(node.span.start_ns for node in nodes),
        end_ns=max(ends) if all(ends) else 0,
    )


def _as_client_counted(ranked: Sequence[Node]) -> int | None:
    """Give the output tokens that a client library counted on a span of its own, without content, where they are fewer.

    A stream states its count at its start and, with all since, at its end: an instrumentation may add up both, which is
    at most twice the count.
    """
    whole = ranked[0].reading
    if whole.response_id is None or whole.output_tokens is None or whole.reasoning_tokens:
        return None
    for node in ranked[1:]:
        own = node.reading
        if (
            own.output_tokens is not None
            and own.output_tokens < whole.output_tokens <= 2 * own.output_tokens
            and own.input_tokens == whole.input_tokens
            and own.response_id == whole.response_id
            and not own.input
            and not own.output
        ):
            return own.output_tokens
    return None


def _content_of_envelopes(calls: list[Call], envelopes: dict[int, list[Node]]) -> list[Call]:
    """Keep the messages of an envelope where the calls inside it record none."""
    if not envelopes:
        return calls
    of_node = {id(node): call for call in calls for node in call.nodes}
    for outer, *inner in envelopes.values():
        held = list({id(call): call for node in inner if (call := of_node.get(id(node))) is not None}.values())
        if not held or _richness(outer)[:2] == (0, 0):
            continue
        if any(call.reading.output or call.reading.input for call in held):
            continue
        gone = {id(call) for call in held}
        calls = [call for call in calls if id(call) not in gone]
        whole = _call([outer, *(node for call in held for node in call.nodes)])
        whole.reading = _summed(whole.reading, held)
        calls.append(whole)
        of_node.update({id(node): whole for node in whole.nodes})
    return calls


def _summed(reading: Reading, held: Sequence[Call]) -> Reading:
    """Count the tokens of the calls inside an envelope, not the envelope's sum beside them."""
    sums: dict[str, float] = {}
    for call in held:
        for name in _TOKENS:
            value = getattr(call.reading, name)
            if value is not None:
                sums[name] = sums.get(name, 0) + value
    return reading.but(**sums)


def _without_preparations(calls: list[Call]) -> list[Call]:
    """Drop spans that only prepare a call: no reply, no error, and a call beside them that follows."""
    kept: list[Call] = []
    for place, call in enumerate(calls):
        following = calls[place + 1] if place + 1 < len(calls) else None
        if (
            following is not None
            and not _replied(call)
            and _replied(following)
            and _beside(call.node, following.node)
            and call.end_ns
            and following.start_ns >= call.end_ns
            and _same_model(call.node, following.node)
        ):
            continue
        kept.append(call)
    return kept


def _beside(one: Node, other: Node) -> bool:
    above = one.seat().parent
    return above is not None and above is other.seat().parent


def _replied(call: Call) -> bool:
    reading = call.reading
    if call.failed or reading.finished or reading.response_id is not None or reading.output_tokens or not call.end_ns:
        return True
    if not reading.output:
        return False
    if reading.output.kind != "messages":
        return reading.output.kind == "text"
    return any(message.role == "assistant" and message.parts for message in reading.output.said()[-1:])
