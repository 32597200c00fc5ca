"""Trajectories: the way that an agent took, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from tracescore.model.message import JSONValue, Messages, ToolCall

StepType: TypeAlias = Literal[
    "tool_call",
    "mcp_tool_call",
    "provider_tool_call",
    "model_generation",
    "agent_run",
    "retrieval",
    "processor_run",
    "workflow_run",
    "workflow_step",
    "workflow_conditional",
    "workflow_parallel",
    "workflow_loop",
    "workflow_sleep",
    "workflow_wait_event",
]
STEP_TYPES: tuple[str, ...] = get_args(StepType)
TOOL_TYPES = frozenset(("tool_call", "mcp_tool_call", "provider_tool_call"))


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryStep:
    """One thing that was done; what a type of step does not have, or no span says, is None.

    ``name`` is that of the tool, agent, model or workflow step. ``arguments``, ``result``, ``error`` and ``success``
    are a tool's; ``success`` is None where nothing shows what came of the call. ``model``, ``finish_reason`` and the
    tokens are a model call's, ``status`` an agent's or a workflow step's (``"ok"``, ``"error"``, ``"paused"``).
    ``children`` is what was done inside: by an agent, by a tool that called one, by a workflow.
    """

    name: str
    type: StepType = "tool_call"
    duration_ms: float | None = None
    arguments: JSONValue = None
    result: JSONValue = None
    error: str | None = None
    success: bool | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    status: str | None = None
    span_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    children: tuple[TrajectoryStep, ...] = ()

    def walk(self) -> Iterator[TrajectoryStep]:
        """Walk this step and all inside it, in order."""
        stack: list[TrajectoryStep] = [self]
        while stack:
            step = stack.pop()
            yield step
            stack.extend(reversed(step.children))


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The steps of a run in order.

    ``duration_ms`` is that of the whole, None where no span says. ``raw_output`` is what the run produced; ``left_out``
    counts steps that were too many or nested too deep to be kept.

    Example:
        >>> steps = (TrajectoryStep(name="search", success=True), TrajectoryStep(name="answer", success=True))
        >>> [call.name for call in Trajectory(steps=steps).tool_calls]
        ['search', 'answer']
    """

    steps: tuple[TrajectoryStep, ...] = ()
    duration_ms: float | None = None
    raw_output: Any = None
    left_out: int = 0

    def walk(self) -> Iterator[TrajectoryStep]:
        """Walk all steps at every depth, in order."""
        for step in self.steps:
            yield from step.walk()

    @property
    def tool_calls(self) -> tuple[TrajectoryStep, ...]:
        """Give the tool calls at every depth, in order."""
        return tuple(step for step in self.walk() if step.type in TOOL_TYPES)

    @property
    def total_tokens(self) -> int | None:
        """Give the tokens of all model calls at every depth; None where a model call does not say, or there is none."""
        calls = [step for step in self.walk() if step.type == "model_generation"]
        counts = [(step.input_tokens, step.output_tokens) for step in calls]
        if not counts or any(None in count for count in counts):
            return None
        return sum((given or 0) + (answered or 0) for given, answered in counts)


def trajectory_of_messages(output: Messages, *, duration_ms: float | None = None) -> Trajectory:
    """Give the tool calls of messages as a trajectory: what is known of a run without its spans."""
    return Trajectory(
        steps=tuple(
            TrajectoryStep(
                name=call.name,
                duration_ms=call.duration_ms,
                arguments=call.arguments,
                result=call.result,
                error=call.error,
                success=call_success(call.result, call.error),
            )
            for call in output.tool_calls
        ),
        duration_ms=duration_ms,
        raw_output=output,
    )


def as_output_shows(trajectory: Trajectory, output: Messages) -> Trajectory:
    """Give a trajectory with the tool calls that an output shows, and with what it shows of them.

    For outputs that were cut: a call or a result that is gone from the output must not be seen by another way. Calls
    are told apart by what is known of them, else by name, in order.
    """
    calls = list(output.tool_calls)
    own = [place for place, step in enumerate(trajectory.steps) if step.type in TOOL_TYPES]
    shown: dict[int, ToolCall] = {}
    for same in (_is_equal, _is_named_alike):
        at = 0
        for place in own:
            if place in shown:
                continue
            found = next((n for n in range(at, len(calls)) if same(trajectory.steps[place], calls[n])), None)
            if found is not None:
                shown[place] = calls.pop(found)
                at = found
    steps = [
        replace(step, arguments=call.arguments, result=call.result, error=call.error) if call is not None else step
        for place, step in enumerate(trajectory.steps)
        if (call := shown.get(place)) is not None or step.type not in TOOL_TYPES
    ]
    return replace(trajectory, steps=tuple(steps))


def _is_equal(step: TrajectoryStep, call: ToolCall) -> bool:
    known = (call.name, call.arguments, call.result, call.error)
    return (step.name, step.arguments, step.result, step.error) == known


def _is_named_alike(step: TrajectoryStep, call: ToolCall) -> bool:
    return step.name == call.name


def call_success(result: JSONValue, error: str | None) -> bool | None:
    """Tell whether a tool call went well; None where nothing shows what came of it."""
    if error is not None:
        return False
    return True if result is not None else None
