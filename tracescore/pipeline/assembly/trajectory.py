"""The way that a run took, and the way of a whole trace, from what assembly found out already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tracescore.model import AgentRun, Trajectory, TrajectoryStep
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.steps import (
    MAX_DEPTH,
    MAX_STEPS,
    agent_step,
    called_step,
    check_step,
    executed_step,
    inside,
    model_step,
    retrieval_step,
    shallow,
    workflow_step,
)
from tracescore.pipeline.assembly.transcript import Slot, Transcript
from tracescore.pipeline.assembly.tree import Node

_HOLDERS = frozenset(("agent_run", "workflow_run", "workflow_step"))


@dataclass(slots=True)
class Ways:
    """The steps of one trace, as far as its runs are built."""

    runs: Mapping[int, AgentRun]
    """By invocation."""
    of_node: dict[int, TrajectoryStep] = field(default_factory=dict)
    """By span: the model call or the tool call that it is of."""
    unexecuted: dict[int, list[TrajectoryStep]] = field(default_factory=dict)
    """By the step of a model call: the tool calls that it asked for and that no span is of."""


def way_of(invocation: Invocation, transcript: Transcript, joined: Mapping[int, Slot], ways: Ways) -> Trajectory:
    """Give the trajectory of a run: its model calls and tool calls in order, and inside them whom they called.

    Its tool calls are those of its output. Agents and retrievals that no tool called stand where they began.
    """
    walk = _Inside(invocation, joined, ways)
    sequence: list[tuple[int, TrajectoryStep]] = []
    calls = {call.span_id: call for call in invocation.calls}
    at_ns = 0
    asking: list[TrajectoryStep] = []
    for entry in transcript.entries:
        call = calls.pop(entry.span_id or "", None)
        if call is not None:
            at_ns = call.start_ns
            sequence.append((at_ns, walk.model(call)))
            asking = ways.unexecuted.setdefault(id(sequence[-1][1]), [])
        for slot in entry.slots:
            at_ns = slot.execution.span.start_ns if slot.execution is not None else at_ns
            sequence.append((at_ns, walk.tool(slot)))
            if slot.execution is None:
                asking.append(sequence[-1][1])
    sequence += [(call.start_ns, walk.model(call)) for call in calls.values()]
    span = invocation.node.span
    duration = (span.end_ns - span.start_ns) / 1e6 if span.end_ns >= span.start_ns > 0 else None
    return _bounded(_merged(sequence, sorted(walk.beside(), key=lambda one: one[0])), duration)


def way_through(nodes: Sequence[Node], invocations: Iterable[Invocation], ways: Ways) -> Trajectory:
    """Give what was done beneath these spans: workflows, their steps, agents with what they did, calls of none.

    One agent or workflow alone holds all the rest: what it did are the steps then.
    """
    by_node = {id(invocation.node): invocation for invocation in invocations}
    trajectory = _bounded(_level(nodes, by_node, ways, set(), 0))
    if len(trajectory.steps) == 1 and trajectory.steps[0].type in _HOLDERS:
        only = trajectory.steps[0]
        return replace(trajectory, steps=only.children, duration_ms=only.duration_ms)
    starts = [node.span.start_ns for node in nodes if node.span.start_ns > 0]
    ends = [node.span.end_ns for node in nodes]
    whole = (max(ends) - min(starts)) / 1e6 if starts and all(ends) else None
    return replace(trajectory, duration_ms=whole)


def name_calls(calls: Iterable[Call], ways: Ways) -> None:
    """Add the model calls that belong to no run: those outside every agent of a trace that has some."""
    for call in calls:
        if not any(id(node) in ways.of_node for node in call.nodes):
            step = model_step(call)
            ways.of_node.update((id(node), step) for node in call.nodes)


class _Inside:
    """What is inside one invocation."""

    def __init__(self, invocation: Invocation, joined: Mapping[int, Slot], ways: Ways) -> None:
        self._invocation = invocation
        self._ways = ways
        self._children = {id(child.node): child for child in invocation.children}
        self._calls = {id(node): call for call in invocation.inner_calls for node in call.nodes}
        self._copies = {id(copy) for copies in invocation.copies.values() for copy in copies}
        self._called: dict[int, list[Invocation]] = {}
        self._apart: list[Invocation] = []
        for child in invocation.children:
            slot = joined.get(id(child.tool)) if child.tool is not None else None
            if slot is None or child.took_over:
                self._apart.append(child)
            else:
                self._called.setdefault(id(slot), []).append(child)

    def model(self, call: Call) -> TrajectoryStep:
        step = model_step(call)
        for node in call.nodes:
            self._ways.of_node[id(node)] = step
        return step

    def tool(self, slot: Slot) -> TrajectoryStep:
        """Give a tool call, with what its execution did; an agent that stands elsewhere may have been called by it."""
        execution = slot.execution
        found = self._beneath(execution, 1) if execution is not None else []
        if called := self._called.get(id(slot)):
            there = {step.span_id for _, step in found}
            found += [
                (child.node.span.start_ns, self._agent(child))
                for child in called
                if child.node.span.span_id not in there
            ]
            found.sort(key=lambda one: one[0])
        step = called_step(slot, [inside(step) for _, step in found])
        if execution is not None:
            self._ways.of_node[id(execution)] = step
            for copy in self._invocation.copies.get(id(execution), ()):
                self._ways.of_node[id(copy)] = step
        return step

    def beside(self) -> Iterator[tuple[int, TrajectoryStep]]:
        """Give what no tool call of the run holds."""
        for child in self._apart:
            yield child.node.span.start_ns, self._agent(child)
        for node in self._invocation.retrievals:
            if node.aside is None:
                step = self._ways.of_node[id(node)] = retrieval_step(node)
                yield node.span.start_ns, step

    def _agent(self, child: Invocation) -> TrajectoryStep:
        run = self._ways.runs.get(id(child))
        done = run.trajectory.steps if run is not None and run.trajectory is not None else ()
        return agent_step(child, run, [inside(step) for step in done])

    def _beneath(self, top: Node, depth: int) -> list[tuple[int, TrajectoryStep]]:
        if not top.children:
            return []
        found: list[tuple[int, TrajectoryStep]] = []
        seen: set[int] = set()
        stack = list(reversed(top.children))
        while stack:
            node = stack.pop()
            child = self._children.get(id(node))
            if child is not None:
                found.append((node.span.start_ns, self._agent(child)))
                continue
            if node.agent is node:
                continue
            call = self._calls.get(id(node))
            if call is not None and id(call) not in seen:
                seen.add(id(call))
                found.append((call.start_ns, model_step(call)))
            elif node.role in ("tool", "handoff") and id(node) not in self._copies and depth < MAX_DEPTH:
                beneath = [step for _, step in self._beneath(node, depth + 1)]
                found.append((node.span.start_ns, executed_step(node, beneath)))
                continue
            elif node.role == "retrieval":
                found.append((node.span.start_ns, retrieval_step(node)))
            stack.extend(reversed(node.children))
        return sorted(found, key=lambda one: one[0])


def _merged(
    sequence: Sequence[tuple[int, TrajectoryStep]], others: Sequence[tuple[int, TrajectoryStep]]
) -> list[TrajectoryStep]:
    """Put what stands beside a sequence where it began, the sequence's own order kept."""
    if not others:
        return [step for _, step in sequence]
    merged: list[TrajectoryStep] = []
    waiting = iter((*others, None))
    other = next(waiting)
    for at_ns, step in sequence:
        while other is not None and other[0] < at_ns:
            merged.append(other[1])
            other = next(waiting)
        merged.append(step)
    while other is not None:
        merged.append(other[1])
        other = next(waiting)
    return merged


def _bounded(steps: Sequence[TrajectoryStep], duration_ms: float | None = None) -> Trajectory:
    """Give a trajectory of the first steps, down to a depth; the others are counted."""
    kept, left_out = shallow(steps, MAX_DEPTH)
    count = 0
    for place, step in enumerate(kept):
        count += sum(1 for _ in step.walk()) if step.children else 1
        if count > MAX_STEPS:
            left_out += sum(1 for other in kept[place:] for _ in other.walk())
            return Trajectory(steps=kept[:place], left_out=left_out, duration_ms=duration_ms)
    return Trajectory(steps=kept, left_out=left_out, duration_ms=duration_ms)


def _level(
    nodes: Sequence[Node], by_node: Mapping[int, Invocation], ways: Ways, seen: set[int], depth: int
) -> list[TrajectoryStep]:
    found: list[tuple[int, TrajectoryStep]] = []
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        invocation = by_node.get(id(node))
        if invocation is not None and invocation.kind == "agent":
            if invocation.parent is None:  # else it stands inside the one that called or handed over
                run = ways.runs.get(id(invocation))
                done = run.trajectory.steps if run is not None and run.trajectory is not None else ()
                found.append((node.span.start_ns, agent_step(invocation, run, [inside(step) for step in done])))
            continue
        step = ways.of_node.get(id(node))
        if step is not None:
            if id(step) not in seen:
                seen.add(id(step))
                found.append((node.span.start_ns, step))
                found += [(node.span.start_ns, asked) for asked in ways.unexecuted.get(id(step), ())]
            if step.type != "model_generation":
                continue
        elif node.role in ("container", "step", "guardrail") and depth < MAX_DEPTH:
            inner = _level(node.children, by_node, ways, seen, depth + 1)
            if node.role == "guardrail":
                step = check_step(node, inner)
            else:
                step = workflow_step(node, inner, outermost=depth == 0 and node.role == "container")
            found.append((node.span.start_ns, inside(step)))
            continue
        elif node.role in ("tool", "handoff") and depth < MAX_DEPTH:
            found.append(
                (node.span.start_ns, executed_step(node, _level(node.children, by_node, ways, seen, depth + 1)))
            )
            continue
        elif node.role == "retrieval":
            found.append((node.span.start_ns, retrieval_step(node)))
        stack.extend(reversed(node.children))
    return [step for _, step in sorted(found, key=lambda one: one[0])]
