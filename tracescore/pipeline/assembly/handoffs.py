"""Hand-offs: an agent that takes over is the child of the one that handed over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tracescore.pipeline.assembly.agents import MAX_AGENT_DEPTH
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.transfers import hands_over, names_fit, normalized, target_of, transfers
from tracescore.pipeline.assembly.tree import Node

_EARLIER = 8
"""Siblings before an agent, or tools around one, that are asked about it."""
_CLIMBED = 16
"""Spans above an agent that are looked at to tell which others are near."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A transfer that was the last thing an agent asked for: when, and to whom where that is known."""

    at_ns: int
    target: str | None


def link_invocations(invocations: Sequence[Invocation]) -> None:
    """Set parents by hand-off, the executions that sub-agents answer, and the children of each invocation."""
    by_name: dict[str, list[Invocation]] = {}
    groups: dict[int, list[Invocation]] = {}
    for found in invocations:
        groups.setdefault(id(found.parent), []).append(found)
        for name in {found.node.reading.agent_name, found.node.reading.agent_id}:
            if name is not None:
                by_name.setdefault(name, []).append(found)
    for siblings in groups.values():
        around = siblings[0].parent
        taken = {id(found.tool) for found in siblings if found.tool is not None}
        for place, found in enumerate(siblings):
            if found.parent is not None and found.tool is None:
                found.tool = _tool_at_that_time(found.parent, found, taken)
                taken.add(id(found.tool))
            earlier = siblings[max(0, place - _EARLIER) : place]
            _link(found, around, _nearest_last(found, earlier) if around is None else earlier, by_name)
    for found in invocations:
        if found.parent is not None:
            found.parent.children.append(found)


def _nearest_last(found: Invocation, earlier: Sequence[Invocation]) -> Sequence[Invocation]:
    """Order the agents before one so that those come last which hang nearest to it: a trace may hold conversations."""
    if len(earlier) < 2:
        return earlier
    above: dict[int, int] = {}
    for steps, node in enumerate(found.node.above()):
        above[id(node)] = steps
        if steps == _CLIMBED:
            break
    return sorted(earlier, key=lambda one: -_distance(one, above))


def _distance(one: Invocation, above: dict[int, int]) -> int:
    """Tell how far up the nearest span lies that holds an agent and the one whose spans above are given."""
    for node, _ in zip(one.node.above(), range(_CLIMBED), strict=False):
        if (steps := above.get(id(node))) is not None:
            return steps
    return _CLIMBED + 1


def _tool_at_that_time(parent: Invocation, found: Invocation, taken: set[int]) -> Node | None:
    """Find the tool of the parent in whose time an agent beside it ran.

    Of several at once it is the one that names the agent, else one that no other agent answers yet: the latest, and of
    parallel calls of one tool each agent takes the next.
    """
    span = found.node.span
    place = bisect_right(parent.tools, span.start_ns, key=lambda tool: tool.span.start_ns)
    around = [
        tool
        for tool in parent.tools[max(0, place - _EARLIER) : place]
        if 0 < span.end_ns <= tool.span.end_ns and not hands_over(tool)
    ]
    around = [tool for tool in around if _names_agent(tool, found.name)] or around
    around = [tool for tool in around if id(tool) not in taken] or around
    return next((tool for tool in around if tool.reading.tool_name == around[-1].reading.tool_name), None)


def _names_agent(tool: Node, name: str | None) -> bool:
    """Tell whether a tool, or one of its arguments, goes by an agent's name."""
    if name is None:
        return False
    arguments = tool.reading.tool_arguments
    stated = [tool.reading.tool_name, *(arguments.values() if isinstance(arguments, dict) else ())]
    return normalized(name) in {normalized(value) for value in stated if isinstance(value, str)}


def _link(
    found: Invocation,
    around: Invocation | None,
    earlier: Sequence[Invocation],
    by_name: dict[str, list[Invocation]],
) -> None:
    called = found.tool is not None and not hands_over(found.tool)
    stated = found.node.reading.stated_parent
    named = by_name.get(stated, []) if stated is not None else []
    place = bisect_left(named, found.place, key=lambda one: one.place)
    if place:
        last = named[max(0, place - _EARLIER) : place]
        parent = last[-1] if around is not None else _nearest_last(found, last)[-1]
        if not (called and parent is around):
            _hand_over(found, parent)
        return
    if called:
        return
    if around is not None:
        if around.node.reading.paused and found.name == around.name:
            _hand_over(found, around)  # it takes up, inside the paused invocation's own span, what waited
            return
        request = _last_request(around, found)
        if request is not None and _fits(request.target, found):
            _hand_over(found, around)
            return
    for one in reversed(earlier):
        request = _last_request(one, found)
        if request is None or _is_answered(one, request, earlier):
            continue
        if _fits(request.target, found):
            _hand_over(found, one)
        if request.target is None or found.took_over:
            return
    if around is None:
        _find_caller(found, earlier)


def _find_caller(found: Invocation, earlier: Sequence[Invocation]) -> None:
    """Make an agent the child of the one beside it whose tool gave back just what this one answered in its time."""
    answer = _last_words(found)
    span = found.node.span
    for one in reversed(earlier) if answer and span.end_ns else ():
        place = bisect_right(one.tools, span.start_ns, key=lambda tool: tool.span.start_ns)
        for tool in one.tools[max(0, place - _EARLIER) : place]:
            if span.end_ns <= tool.span.end_ns and tool.reading.tool_result == answer and not hands_over(tool):
                found.parent, found.tool = one, tool
                return


def _last_words(found: Invocation) -> str:
    output = found.calls[-1].reading.output if found.calls else found.node.reading.output
    return output.said()[-1].text.strip() if output and output.said() else ""


def _is_answered(one: Invocation, request: _Request, siblings: Sequence[Invocation]) -> bool:
    return any(other.parent is one and other.took_over and other.place[0] >= request.at_ns for other in siblings)


def _hand_over(found: Invocation, parent: Invocation) -> None:
    above = [parent, *parent.above()]
    if any(one is found for one in above) or len(above) >= MAX_AGENT_DEPTH:
        return
    found.parent = parent
    found.tool = None
    # A parent that asks its model again afterwards was called back: then its own answer is the last.
    found.took_over = not (parent.calls and parent.calls[-1].start_ns > found.node.span.start_ns)


def _last_request(one: Invocation, before: Invocation) -> _Request | None:
    """Give the transfer that was the last act of an agent before another started."""
    until = before.node.span.start_ns
    asked = bisect_right(one.calls, until, key=lambda call: call.start_ns)
    executed = bisect_right(one.tools, until, key=lambda tool: tool.span.start_ns)
    call = one.calls[asked - 1] if asked else None
    tool = one.tools[executed - 1] if executed else None
    if tool is not None and hands_over(tool):
        target = tool.reading.handoff_to or target_of(tool.reading.tool_name or "", tool.reading.tool_arguments)
        if call is None or tool.span.start_ns >= call.start_ns:
            return _Request(tool.span.start_ns, target or _asked_target(call))
        if target is not None and before.name is not None and names_fit(target, before.name):
            # Some agents have a last word after they handed over, and the other starts then.
            return _Request(tool.span.start_ns, target)
    if call is None or not _has_transfer(call):
        return None
    return _Request(call.start_ns, _asked_target(call))


def _has_transfer(call: Call) -> bool:
    output = call.reading.output
    return bool(output) and any(transfers(part.name) for said in output.said() for part in said.calls)


def _asked_target(call: Call | None) -> str | None:
    if call is None or not call.reading.output:
        return None
    parts = [part for said in call.reading.output.said() for part in said.calls if transfers(part.name)]
    return target_of(parts[-1].name, parts[-1].arguments) if parts else None


def _fits(target: str | None, found: Invocation) -> bool:
    """Tell whether a transfer may mean this agent: by name, where both are known."""
    name = found.name
    return target is None or name is None or names_fit(target, name)
