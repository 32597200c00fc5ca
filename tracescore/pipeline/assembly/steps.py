"""What single spans and calls are as steps of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from tracescore.model import AgentRun, TrajectoryStep
from tracescore.pipeline.assembly.answer import answers_of
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.transcript import Slot
from tracescore.pipeline.assembly.tree import Node
from tracescore.pipeline.assembly.usage import counts_of

MAX_DEPTH = 8
"""Levels of steps inside steps: a run repeats what is inside it, and without a bound deep nests cost their square."""
MAX_STEPS = 1_000
LARGEST_INSIDE = 2_000
"""Bytes of JSON that are kept of a value inside another step; the run that it is of has the whole."""
_VALUES = ("arguments", "result")


def model_step(call: Call) -> TrajectoryStep:
    """Give a model call as a step, named by its model."""
    reading = call.reading
    given, answered, *_ = counts_of(reading)
    model = reading.model_answered or reading.model_asked
    return TrajectoryStep(
        name=model or "model",
        type="model_generation",
        duration_ms=_milliseconds(call.start_ns, call.end_ns),
        model=model,
        input_tokens=given,
        output_tokens=answered,
        finish_reason=next((said.finish for said in reversed(answers_of(call)) if said.finish), None),
        status="error" if call.failed else "ok",
        span_id=call.span_id,
    )


def called_step(slot: Slot, children: Sequence[TrajectoryStep]) -> TrajectoryStep:
    """Give a tool call of a run as a step, whether its execution was recorded or not."""
    execution = slot.execution
    answered = slot.answered or slot.result is not None or (execution is not None and execution.span.end_ns > 0)
    return TrajectoryStep(
        name=slot.name,
        duration_ms=slot.duration_ms,
        arguments=slot.arguments,
        result=slot.result,
        error=slot.error,
        success=False if slot.error is not None else (True if answered else None),
        span_id=execution.span.span_id if execution is not None else slot.asked_by,
        children=tuple(children),
    )


def executed_step(node: Node, children: Sequence[TrajectoryStep]) -> TrajectoryStep:
    """Give a tool's execution as a step, where no run has the call: inside another tool, or outside every agent."""
    reading, span = node.reading, node.span
    failed = span.status == "error" or reading.tool_error is not None
    error = (reading.tool_error or span.status_message or reading.error_type or "error") if failed else None
    return TrajectoryStep(
        name=reading.tool_name or span.name,
        duration_ms=_milliseconds(span.start_ns, span.end_ns),
        arguments=reading.tool_arguments,
        result=None if reading.tool_result == error else reading.tool_result,
        error=error,
        success=False if failed else (True if span.end_ns else None),
        span_id=span.span_id,
        children=tuple(children),
    )


def retrieval_step(node: Node) -> TrajectoryStep:
    """Give a retrieval as a step: its query, and how many documents it found."""
    reading, span = node.reading, node.span
    return TrajectoryStep(
        name=reading.name or span.name,
        type="retrieval",
        duration_ms=_milliseconds(span.start_ns, span.end_ns),
        arguments=None if reading.query is None else {"query": reading.query},
        result=None if reading.documents is None else {"documents": len(reading.documents)},
        status=_status(node),
        span_id=span.span_id,
    )


def agent_step(invocation: Invocation, run: AgentRun | None, children: Sequence[TrajectoryStep]) -> TrajectoryStep:
    """Give an agent invocation as a step of whoever called it."""
    span = invocation.node.span
    return TrajectoryStep(
        name=invocation.name or span.name,
        type="agent_run",
        duration_ms=_milliseconds(span.start_ns, span.end_ns),
        status=_status(invocation.node) if run is None else run.status,
        span_id=span.span_id,
        children=tuple(children),
    )


def workflow_step(node: Node, children: Sequence[TrajectoryStep], *, outermost: bool) -> TrajectoryStep:
    """Give a workflow, or a step of one, with what it recorded as its output."""
    span = node.span
    output = node.reading.output
    return TrajectoryStep(
        name=node.reading.name or span.name,
        type="workflow_run" if outermost else "workflow_step",
        duration_ms=_milliseconds(span.start_ns, span.end_ns),
        result=output.value if output else None,
        status=_status(node),
        span_id=span.span_id,
        children=tuple(children),
    )


def check_step(node: Node, children: Sequence[TrajectoryStep]) -> TrajectoryStep:
    """Give a guardrail or another processor as a step."""
    span = node.span
    return TrajectoryStep(
        name=node.reading.name or span.name,
        type="processor_run",
        duration_ms=_milliseconds(span.start_ns, span.end_ns),
        status=_status(node),
        span_id=span.span_id,
        children=tuple(children),
    )


def inside(step: TrajectoryStep) -> TrajectoryStep:
    """Give a step as it stands inside another: without large values, which are named in its metadata.

    What agents did inside it stands there as it is, having been through here.
    """
    changes: dict[str, Any] = {name: None for name in _VALUES if _is_large(getattr(step, name))}
    if changes:
        changes["metadata"] = {**(step.metadata or {}), "cut": sorted(changes)}
    if step.children and step.type != "agent_run":
        changes["children"] = tuple(inside(child) for child in step.children)
    return replace(step, **changes) if changes else step


def shallow(steps: Sequence[TrajectoryStep], depth: int) -> tuple[tuple[TrajectoryStep, ...], int]:
    """Give steps down to a depth, and how many were deeper."""
    left_out = 0
    kept: list[TrajectoryStep] = []
    for step in steps:
        if step.children:
            if depth <= 1:
                left_out += sum(1 for _ in step.walk()) - 1
                step = replace(step, children=())
            else:
                children, deeper = shallow(step.children, depth - 1)
                left_out += deeper
                step = replace(step, children=children) if deeper else step
        kept.append(step)
    return tuple(kept), left_out


def _is_large(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int, float)):
        return False
    if isinstance(value, str):
        return len(value) > LARGEST_INSIDE
    return len(orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS)) > LARGEST_INSIDE


def _milliseconds(start_ns: int, end_ns: int) -> float | None:
    return (end_ns - start_ns) / 1e6 if end_ns >= start_ns > 0 else None


def _status(node: Node) -> str:
    return "error" if node.span.status == "error" else "ok"
