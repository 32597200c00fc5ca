"""Take a run in: what a caller or the store hands over becomes the run of the scorer's type."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypedDict

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from tracescore.arguments import first_line
from tracescore.errors import ScorerError
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    DataPart,
    InvalidExpectation,
    Message,
    Messages,
    RetrievedDocument,
    Role,
    ScorerRun,
    Target,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryRun,
    text_message,
    to_messages,
    trajectory_from_json,
    trajectory_of_messages,
)
from tracescore.model.codec import messages_from_json

_FIELDS = tuple(field.name for field in fields(ScorerRun) if field.name not in ("input", "output"))


class RunFields(TypedDict, total=False):
    """What a run may be given with beside its input and output."""

    run_id: str
    ground_truth: Any
    expected_trajectory: Any
    request_context: Mapping[str, Any]
    additional_context: Mapping[str, Any]
    metadata: Mapping[str, Any]
    target: Target | None
    contexts: tuple[RetrievedDocument, ...]
    trajectory: Trajectory | None


class UnsuitableRun(Exception):
    """A run that is not of the scorer's type: nothing for it to score."""


def take_agent_run(run: ScorerRun[Any, Any]) -> AgentRun:
    """Give a run as an agent's: text and sequences of messages become its input and output.

    Raises:
        UnsuitableRun: an input or output that is neither text nor messages.
    """
    if type(run) is AgentRun:
        return run if run.run_id else replace(run, run_id=uuid.uuid4().hex)
    values = _plain_fields(run)
    return AgentRun(**values, input=_agent_input(run.input), output=_agent_output(run.output))


def take_trajectory_run(run: ScorerRun[Any, Any]) -> TrajectoryRun:
    """Give a run with the way that was taken as its output, as the spans show it, else as the messages do.

    Raises:
        UnsuitableRun: an output that is neither a trajectory nor messages, or an expectation that is none.
    """
    if type(run) is TrajectoryRun:
        return run if run.run_id else replace(run, run_id=uuid.uuid4().hex)
    values = _plain_fields(run)
    expected = values.pop("expected_trajectory")
    values["trajectory"] = None
    try:
        expectation = None if expected is None else TrajectoryExpectation.read(expected)
    except InvalidExpectation as error:
        raise UnsuitableRun(str(error)) from error
    try:
        given = _agent_input(run.input)
    except UnsuitableRun:  # what a workflow was given need not be messages
        given = AgentInput(input_messages=Messages([Message(role="user", parts=(DataPart(data=run.input),))]))
    return TrajectoryRun(**values, input=given, output=_trajectory(run, run.output), expected_trajectory=expectation)


def _trajectory(run: ScorerRun[Any, Any], output: Any) -> Trajectory:
    if isinstance(output, Trajectory):
        return output
    if isinstance(output, Mapping) and "steps" in output:
        try:
            return trajectory_from_json(output)
        except (KeyError, TypeError, ValueError) as error:
            raise UnsuitableRun(f"the run's output is no trajectory: {output!r:.80} ({error!r})") from error
    if run.trajectory is not None:
        return replace(run.trajectory, raw_output=output)
    duration = (run.end_ns - run.start_ns) / 1e6 if run.end_ns > run.start_ns > 0 else None
    return trajectory_of_messages(_agent_output(output), duration_ms=duration)


def check_type(where: str, kind: Any) -> None:
    """Refuse what pydantic can make no reader of.

    Raises:
        ScorerError: saying where.
    """
    if type(kind).__module__ == "builtins" and not isinstance(kind, (type, str)):
        raise ScorerError(f"{where}{kind!r:.80} is no type that pydantic knows: give one, such as dict[str, str]")
    try:
        type_adapter(kind)
    except Exception as error:  # pydantic raises many kinds, some of typing's own
        raise ScorerError(f"{where}{kind!r:.80} is no type that pydantic knows: {first_line(error)}") from error


def take_typed_run(
    run: ScorerRun[Any, Any], input_type: TypeAdapter[Any] | None, output_type: TypeAdapter[Any] | None
) -> ScorerRun[Any, Any]:
    """Give a run with its input and output checked by pydantic, where the scorer states their types.

    Raises:
        UnsuitableRun: what does not fit, with pydantic's message.
    """
    if input_type is None and output_type is None:
        return run if run.run_id else replace(run, run_id=uuid.uuid4().hex)
    given = _checked("input", run.input, input_type)
    return ScorerRun(**_plain_fields(run), input=given, output=_checked("output", run.output, output_type))


def type_adapter(kind: Any) -> TypeAdapter[Any]:
    """Give pydantic's reader of a type; a class that pydantic does not know is checked by ``isinstance``."""
    try:
        return TypeAdapter(kind)
    except PydanticSchemaGenerationError:
        return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))


def _plain_fields(run: ScorerRun[Any, Any]) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in _FIELDS}
    values["run_id"] = values["run_id"] or uuid.uuid4().hex
    return values


def _checked(what: str, value: Any, adapter: TypeAdapter[Any] | None) -> Any:
    if adapter is None:
        return value
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise UnsuitableRun(f"the run's {what} is not of the scorer's {what}_type: {error}") from error


def _agent_input(value: Any) -> AgentInput:
    if isinstance(value, AgentInput):
        return value
    return AgentInput() if value is None else AgentInput(input_messages=_messages(value, "input", role="user"))


def _agent_output(value: Any) -> AgentOutput:
    if isinstance(value, AgentOutput):
        return value
    return AgentOutput() if value is None else AgentOutput(_messages(value, "output", role="assistant"))


def _messages(value: Any, what: str, *, role: Role) -> Messages:
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, Sequence) and not isinstance(value, (str, Messages)):
        value = [_message(item) for item in value]
    try:
        return to_messages(value, role=role)
    except TypeError as error:
        raise UnsuitableRun(f"the run's {what} is neither text nor messages: {value!r:.80}") from error


def _message(item: Any) -> Any:
    """Read a chat message ``{"role", "content"}`` or our own JSON form ``{"role", "parts"}``; else leave it."""
    if isinstance(item, Mapping) and "parts" in item:
        try:
            return messages_from_json([item])[0]
        except (KeyError, TypeError, ValueError) as error:
            raise UnsuitableRun(f"not a message: {item!r:.80} ({error})") from error
    if isinstance(item, Mapping) and isinstance(item.get("content"), str) and isinstance(item.get("role"), str):
        return text_message(item["role"], item["content"])
    return item
