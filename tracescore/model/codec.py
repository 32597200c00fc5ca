"""Runs as JSON: the public form (``tracescore runs --json``, the API) and the stored form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from tracescore.model.cut import Cut
from tracescore.model.message import (
    DataPart,
    ErrorPart,
    MediaPart,
    Message,
    Messages,
    Part,
    ReasoningPart,
    TextPart,
    ToolInvocationPart,
)
from tracescore.model.run import AgentInput, AgentOutput, AgentRun, Issue, RetrievedDocument, ScorerRun, Usage
from tracescore.model.target import Target
from tracescore.model.trajectory import Trajectory
from tracescore.model.trajectory_codec import trajectory_content, trajectory_from_json, trajectory_to_stored

_TOOL_CALL_FIELDS = ("id", "name", "arguments", "result", "error", "duration_ms")


def part_to_json(part: Part) -> dict[str, Any]:
    """Give a part as JSON, its type first."""
    match part:
        case TextPart() | ReasoningPart():
            return {"type": part.type, "text": part.text}
        case ToolInvocationPart():
            return {"type": part.type, **{name: getattr(part, name) for name in _TOOL_CALL_FIELDS}}
        case MediaPart():
            return {"type": part.type, "media_type": part.media_type, "url": part.url, "file_id": part.file_id}
        case DataPart():
            return {"type": part.type, "data": part.data}
        case ErrorPart():
            return {"type": part.type, "message": part.message}


def part_from_json(value: Mapping[str, Any]) -> Part:
    """Read a part back from ``part_to_json``."""
    match value["type"]:
        case "text":
            return TextPart(text=value["text"])
        case "reasoning":
            return ReasoningPart(text=value["text"])
        case "tool-invocation":
            return ToolInvocationPart(**{name: value[name] for name in _TOOL_CALL_FIELDS})
        case "image" | "file" | "audio" as kind:
            return MediaPart(type=kind, media_type=value["media_type"], url=value["url"], file_id=value["file_id"])
        case "data":
            return DataPart(data=value["data"])
        case "error":
            return ErrorPart(message=value["message"])
        case other:
            raise ValueError(f"unknown part type {other!r}")


def messages_to_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Give messages as ``[{role, parts}]``."""
    return [{"role": message.role, "parts": [part_to_json(part) for part in message.parts]} for message in messages]


def messages_from_json(value: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Read messages back from ``messages_to_json``."""
    return [Message(role=item["role"], parts=tuple(part_from_json(part) for part in item["parts"])) for item in value]


def _input_to_json(value: AgentInput) -> dict[str, Any]:
    return {
        "input_messages": messages_to_json(value.input_messages),
        "remembered_messages": messages_to_json(value.remembered_messages),
        "system_messages": messages_to_json(value.system_messages),
        "tagged_system_messages": {
            tag: messages_to_json(messages) for tag, messages in value.tagged_system_messages.items()
        },
    }


def _value_to_json(value: Any) -> Any:
    return messages_to_json(value) if isinstance(value, Messages) else value


def run_to_json(run: ScorerRun[Any, Any]) -> dict[str, Any]:
    """Give a run in its public JSON form; one that is no agent's has its ``input`` in place of an agent's messages.

    ``error`` is there where a failed run says why, and nowhere else.
    """
    output: Messages = run.output if isinstance(run.output, Messages) else Messages()
    return {
        "run_id": run.run_id,
        "trace_id": run.trace_id,
        "span_id": run.span_id,
        "parent_run_id": run.parent_run_id,
        "kind": run.kind,
        "agent_name": run.agent_name,
        "model": run.model,
        "session_id": run.session_id,
        "user_id": run.user_id,
        "status": run.status,
        **({} if run.error is None else {"error": run.error}),
        **(
            _input_to_json(run.input)
            if isinstance(run.input, AgentInput)
            else {"name": run.name, "input": _value_to_json(run.input)}
        ),
        "output": _value_to_json(run.output),
        "output_text": output.text,
        "tool_calls": [{name: getattr(call, name) for name in _TOOL_CALL_FIELDS} for call in output.tool_calls],
        "contexts": [asdict(document) for document in run.contexts],
        "usage": asdict(run.usage),
        "issues": [asdict(issue) for issue in run.issues],
    }


def content_to_json(run: ScorerRun[Any, Any], *, reads: Sequence[str] = ()) -> dict[str, Any]:
    """Give what the content hash of a run covers: never usage, cost, times, ids or issues.

    ``reads`` tells of a trajectory whether its times and tokens count; they are in ``content_hash`` else.
    """
    given: Any = _input_to_json(run.input) if isinstance(run.input, AgentInput) else _content(run.input)
    output: Any = run.output
    if isinstance(output, Trajectory):
        output = {**trajectory_content(output, reads=reads), "raw_output": _content(output.raw_output)}
    return {
        "input": given,
        "output": _content(output),
        "status": run.status,
        "ground_truth": run.ground_truth,
        "expected_trajectory": run.expected_trajectory,
        "contexts": [asdict(document) for document in run.contexts],
    }


def _content(value: Any) -> Any:
    if not isinstance(value, Messages):
        return value
    said = messages_to_json(value)
    for message in said:
        for part in message["parts"]:
            if part["type"] == "tool-invocation":
                del part["id"], part["duration_ms"]
    return said


def content_hash(run: ScorerRun[Any, Any], *, reads: Sequence[str] = ()) -> str:
    """Hash what a run's content amounts to, 32 hex digits.

    ``reads`` adds ``"usage"``, ``"timing"`` or ``"trajectory"`` for a scorer that says it reads them.
    """
    content = content_to_json(run, reads=reads)
    if "trajectory" in reads and run.trajectory is not None:
        content["trajectory"] = trajectory_content(run.trajectory, reads=reads)
    if "usage" in reads:
        content["usage"] = asdict(run.usage)
        content["cost"] = run.cost
    if "timing" in reads:
        content["timing"] = [run.start_ns, run.end_ns]
        if isinstance(run.output, Messages):
            content["durations"] = [call.duration_ms for call in run.output.tool_calls]
    return hashlib.sha256(_hashable(content)).hexdigest()[:32]


def _hashable(content: dict[str, Any]) -> bytes:
    """Write what is hashed; a run that is built by hand may hold lone surrogates, which UTF-8 has no bytes for."""
    try:
        return orjson.dumps(content, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(content, default=repr, sort_keys=True, separators=(",", ":"), skipkeys=True).encode("ascii")


_PLAIN_FIELDS = (
    "run_id",
    "kind",
    "status",
    "error",
    "ground_truth",
    "expected_trajectory",
    "agent_name",
    "name",
    "model",
    "provider",
    "session_id",
    "user_id",
    "service",
    "environment",
    "parent_run_id",
    "outermost",
    "start_ns",
    "end_ns",
    "cost",
)


def _stored_content(run: ScorerRun[Any, Any]) -> dict[str, Any]:
    if isinstance(run, AgentRun):
        return {**_input_to_json(run.input), "output": messages_to_json(run.output)}
    return {
        name: {"messages": messages_to_json(value)} if isinstance(value, Messages) else {"value": value}
        for name, value in (("given", run.input), ("answered", run.output))
    }


def dump_run(run: ScorerRun[Any, Any]) -> bytes:
    """Give a run's stored form; what is no agent's must have JSON or messages as its input and output."""
    return orjson.dumps(
        {
            **{name: getattr(run, name) for name in _PLAIN_FIELDS},
            "trace_id": run.trace_id,
            "span_id": run.span_id,
            "tags": list(run.tags),
            "resumed_in": list(run.resumed_in),
            "request_context": dict(run.request_context),
            "additional_context": dict(run.additional_context),
            "metadata": dict(run.metadata),
            "attributes": dict(run.attributes),
            **_stored_content(run),
            "contexts": [asdict(document) for document in run.contexts],
            "usage": asdict(run.usage),
            "issues": [asdict(issue) for issue in run.issues],
            **_stored_trajectory(run),
            **({"cuts": [asdict(cut) for cut in run.cuts]} if run.cuts else {}),
        }
    )


def _stored_trajectory(run: ScorerRun[Any, Any]) -> dict[str, Any]:
    if run.trajectory is None:
        return {}
    output = run.output if isinstance(run.output, Messages) else Messages()
    return {"trajectory": trajectory_to_stored(run.trajectory, output)}


def load_run(stored: bytes) -> AgentRun:
    """Read an agent's run back from ``dump_run``; so is that of a whole trace.

    Raises:
        ValueError: it is the run of another kind of target.
    """
    run = load_any_run(stored)
    if not isinstance(run, AgentRun):
        raise ValueError(f"run {run.run_id} is of kind {run.kind}, not an agent's")
    return run


def load_any_run(stored: bytes) -> ScorerRun[Any, Any]:
    """Read a run of any kind back from ``dump_run``."""
    value = orjson.loads(stored)
    fields: dict[str, Any] = {
        **{name: value[name] for name in _PLAIN_FIELDS if name in value},
        "target": Target(trace_id=value["trace_id"], span_id=value["span_id"]) if value["trace_id"] else None,
        "tags": tuple(value["tags"]),
        "resumed_in": tuple(value.get("resumed_in", ())),
        "request_context": value["request_context"],
        "additional_context": value["additional_context"],
        "metadata": value["metadata"],
        "attributes": value["attributes"],
        "contexts": tuple(RetrievedDocument(**document) for document in value["contexts"]),
        "usage": Usage(**value["usage"]),
        "issues": tuple(Issue(**issue) for issue in value["issues"]),
        "cuts": tuple(Cut(**cut) for cut in value.get("cuts", ())),
    }
    stored_trajectory = value.get("trajectory")
    if "given" in value:
        if stored_trajectory is not None:
            fields["trajectory"] = trajectory_from_json(stored_trajectory)
        return ScorerRun(**fields, input=_stored_value(value["given"]), output=_stored_value(value["answered"]))
    output = AgentOutput(messages_from_json(value["output"]))
    if stored_trajectory is not None:
        fields["trajectory"] = trajectory_from_json(stored_trajectory, output)
    return AgentRun(
        **fields,
        input=AgentInput(
            input_messages=Messages(messages_from_json(value["input_messages"])),
            remembered_messages=Messages(messages_from_json(value["remembered_messages"])),
            system_messages=Messages(messages_from_json(value["system_messages"])),
            tagged_system_messages={
                tag: Messages(messages_from_json(messages)) for tag, messages in value["tagged_system_messages"].items()
            },
        ),
        output=output,
    )


def _stored_value(stored: Mapping[str, Any]) -> Any:
    return Messages(messages_from_json(stored["messages"])) if "messages" in stored else stored["value"]
