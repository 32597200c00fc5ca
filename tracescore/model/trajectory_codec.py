"""Trajectories as JSON: what is not known is left out, and what a run's output holds is stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from tracescore.model.message import Messages, ToolCall
from tracescore.model.trajectory import TOOL_TYPES, Trajectory, TrajectoryStep

_FIELDS = tuple(field.name for field in fields(TrajectoryStep) if field.name not in ("name", "type", "children"))
_TIMING = frozenset(("duration_ms",))
_USAGE = frozenset(("input_tokens", "output_tokens"))
_NEVER = frozenset(("span_id", "metadata"))
_OF_CALLS = ("arguments", "result", "error")


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Any]:
    """Give a trajectory as JSON; ``raw_output`` is not part of it, since the run that it is of has it."""
    return _trajectory(trajectory, frozenset(), None)


def trajectory_content(trajectory: Trajectory, *, reads: Sequence[str] = ()) -> dict[str, Any]:
    """Give what a content hash covers: never ids, and times and tokens only for a scorer that reads them."""
    left_out = _NEVER
    if "timing" not in reads:
        left_out |= _TIMING
    if "usage" not in reads:
        left_out |= _USAGE
    return _trajectory(trajectory, left_out, None)


def trajectory_to_stored(trajectory: Trajectory, output: Messages) -> dict[str, Any]:
    """Give a trajectory as it is stored beside the output of its run: a call of the output is named by its place."""
    return _trajectory(trajectory, frozenset(), enumerate(output.tool_calls))


def trajectory_from_json(value: Mapping[str, Any], output: Messages | None = None) -> Trajectory:
    """Read a trajectory back from ``trajectory_to_json``, or beside its run's output from ``trajectory_to_stored``.

    Raises:
        LookupError, TypeError: it is none.
    """
    calls = () if output is None else output.tool_calls
    return Trajectory(
        steps=tuple([_read(step, calls) for step in value["steps"]]),
        duration_ms=value.get("duration_ms"),
        left_out=value.get("left_out", 0),
    )


def _trajectory(
    trajectory: Trajectory, left_out: frozenset[str], calls: Iterator[tuple[int, ToolCall]] | None
) -> dict[str, Any]:
    given: dict[str, Any] = {"steps": [_step(step, left_out, calls) for step in trajectory.steps]}
    if trajectory.duration_ms is not None and "duration_ms" not in left_out:
        given["duration_ms"] = trajectory.duration_ms
    if trajectory.left_out:
        given["left_out"] = trajectory.left_out
    return given


def _step(
    step: TrajectoryStep, left_out: frozenset[str], calls: Iterator[tuple[int, ToolCall]] | None
) -> dict[str, Any]:
    given: dict[str, Any] = {"name": step.name, "type": step.type}
    place = _place_of(step, calls) if calls is not None and step.type in TOOL_TYPES else None
    if place is not None:
        given["call"] = place
    for name in _FIELDS:
        value = getattr(step, name)
        if value is None or name in left_out:
            continue
        if place is None or name not in _OF_CALLS:
            given[name] = value
    if step.children:
        # Only the calls of the run itself stand in its output; what is inside them was called by somebody else.
        given["children"] = [_step(child, left_out, None) for child in step.children]
    return given


def _place_of(step: TrajectoryStep, calls: Iterator[tuple[int, ToolCall]]) -> int | None:
    """Give the place of a step's call; both are in one order, so that no call is looked at twice."""
    for place, call in calls:
        if (step.name, step.error) == (call.name, call.error) and all(
            one is other or one == other
            for one, other in ((step.arguments, call.arguments), (step.result, call.result))
        ):
            return place
    return None


def _read(value: Mapping[str, Any], calls: Sequence[ToolCall]) -> TrajectoryStep:
    fields = dict(value)
    place = fields.pop("call", None)
    if place is not None:
        call = calls[place]
        fields["arguments"], fields["result"], fields["error"] = call.arguments, call.result, call.error
    children = fields.pop("children", None)
    if children:
        fields["children"] = tuple([_read(child, ()) for child in children])
    return TrajectoryStep(**fields)
