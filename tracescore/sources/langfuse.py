"""Langfuse's own export form written as OTLP: traces with their observations, from its pages or its API.

The fields are those of its public API ("Traces" and "Observations"). An observation that came by OpenTelemetry keeps
the attributes of its span in its metadata: they are read, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tracescore.sources.langfuse_values import (
    Object,
    attributes_of,
    hex_id,
    is_object,
    name_of,
    object_in,
    objects_in,
    parsed,
    text_of,
    time_ns,
)

SCOPE = "langfuse-sdk"
_OBSERVATION = "langfuse.observation."
_KEPT_APART: tuple[tuple[str, str, str, str], ...] = (
    # an attribute, how its value begins, and where such spans keep what Langfuse moves into input and output
    ("ai.operationId", "ai.toolCall", "ai.toolCall.args", "ai.toolCall.result"),
    ("ai.operationId", "ai.generateText.do", "ai.prompt.messages", "ai.response"),
    ("ai.operationId", "ai.streamText.do", "ai.prompt.messages", "ai.response"),
    ("ai.operationId", "ai.", "ai.prompt", "ai.response"),
)
_MODEL = f"{_OBSERVATION}model.name"
_TOLD_BY_OWN = frozenset((*(f"{_OBSERVATION}{name}" for name in ("type", "input", "output", "usage_details")), _MODEL))
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
_STATES = {"ERROR": 2}
_EVALUATION = "gen_ai.evaluation."
_SAY_ROLES = ("gen_ai.operation.name", "openinference.span.kind", "ai.operationId", "traceloop.span.kind")
"""Attributes by which a span said itself what it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """The OTLP requests of an export; None where there is nothing for one."""

    traces: Object | None
    logs: Object | None
    """Its scores, as OpenTelemetry's evaluation events."""


def is_export(value: Any) -> bool:
    """Tell whether a JSON value is an export of traces, or of observations alone."""
    return any(_is_exported(item) for item in _items(value))


def requests_of(value: Any) -> Converted:
    """Write an export as OTLP; the same export gives the same ids each time."""
    spans: list[Object] = []
    scores: list[Object] = []
    for item in _items(value):
        trace = _trace_of(item)
        trace_id = hex_id(trace.get("id") or item.get("traceId"), 16)
        observations = objects_in(item.get("observations")) if "observations" in item else [item]
        if "observations" not in item and "traceId" not in item:
            observations = []
        spans.extend(_resource_spans(observation, trace, trace_id) for observation in observations)
        scores.extend(_evaluations(trace, trace_id, observations))
    logs = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": SCOPE}, "logRecords": scores}]}]}
    return Converted(traces={"resourceSpans": spans} if spans else None, logs=logs if scores else None)


def _items(value: Any) -> list[Object]:
    if is_object(value) and isinstance(value.get("data"), list):  # a page of the API's
        value = value["data"]
    return objects_in(value if isinstance(value, list) else [value])


def _is_exported(item: Object) -> bool:
    if isinstance(item.get("observations"), list):
        return "trace" in item or "id" in item
    return all(isinstance(item.get(key), str) for key in ("traceId", "id", "type", "startTime"))


def _trace_of(item: Object) -> Object:
    if is_object(trace := item.get("trace")):
        return trace
    return item if "observations" in item else {}


def _resource_spans(observation: Object, trace: Object, trace_id: str) -> Object:
    metadata = object_in(observation.get("metadata"))
    scope = object_in(metadata.get("scope"))
    resource = object_in(metadata.get("resourceAttributes"))
    given = metadata.keys() & {"attributes", "resourceAttributes", "scope"}
    own = {key: value for key, value in metadata.items() if not given or key not in given}
    original = object_in(metadata.get("attributes") if given else None)
    read = _of_observation(observation)
    if observation.get("type") == "AGENT" and any(key in original for key in _SAY_ROLES):
        # It was told from these: the name of such a span is not its agent's, and its model is no call of its own.
        read = {key: value for key, value in read.items() if key not in (f"{_OBSERVATION}type", _MODEL)}
    name = name_of(observation.get("name"))
    if observation.get("type") == "TOOL":
        name = next((original[key] for key in _TOOL_NAMES if isinstance(original.get(key), str)), name)
    read, original = _put_back(read, original)
    attributes = {
        **original,
        **_of_trace(trace),
        **read,
        **{f"{_OBSERVATION}metadata.{key}": text_of(value) for key, value in own.items()},
    }
    parent = observation.get("parentObservationId")
    start = time_ns(observation.get("startTime") or trace.get("timestamp"))
    span: Object = {
        "traceId": trace_id,
        "spanId": hex_id(observation.get("id"), 8, within=trace_id),
        **({"parentSpanId": hex_id(parent, 8, within=trace_id)} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(start),
        # An event has no end of its own: it is as long as a moment.
        "endTimeUnixNano": str(max(start, time_ns(observation.get("endTime")))),
        "attributes": attributes_of(attributes),
        "status": {
            "code": _STATES.get(str(observation.get("level")), 0),
            **({"message": str(observation["statusMessage"])} if observation.get("statusMessage") else {}),
        },
    }
    named = {"name": name_of(scope.get("name")) or SCOPE, "version": name_of(scope.get("version"))}
    return {
        "resource": {"attributes": attributes_of(resource)},
        "scopeSpans": [{"scope": named, "spans": [span]}],
    }


def _put_back(read: Object, original: Object) -> tuple[Object, Object]:
    """Give the AI SDK's spans back what Langfuse took out: their own attributes tell more than Langfuse's type."""
    for key, start, given, answered in _KEPT_APART:
        if not str(original.get(key, "")).startswith(start):
            continue
        output = read.get(f"{_OBSERVATION}output")
        if answered == "ai.response":
            answered = "ai.response.toolCalls" if _is_list(output) else "ai.response.text"
        moved = {given: read.get(f"{_OBSERVATION}input"), answered: output}
        kept = {name: value for name, value in read.items() if name not in _TOLD_BY_OWN}
        return kept, {**{name: value for name, value in moved.items() if value is not None}, **original}
    return read, original


def _is_list(text: Any) -> bool:
    return isinstance(text, str) and isinstance(parsed(text), list)


def _of_trace(trace: Object) -> dict[str, Any]:
    found = {
        "langfuse.trace.name": trace.get("name"),
        "session.id": trace.get("sessionId"),
        "user.id": trace.get("userId"),
        "langfuse.trace.tags": trace.get("tags") or None,
        "langfuse.release": trace.get("release"),
        "langfuse.environment": trace.get("environment"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _of_observation(observation: Object) -> dict[str, Any]:
    kind = observation.get("type")
    cost = object_in(observation.get("costDetails"))
    if not cost and observation.get("totalCost"):
        cost = {"total": observation["totalCost"]}
    found = {
        f"{_OBSERVATION}type": kind.lower() if isinstance(kind, str) else None,
        f"{_OBSERVATION}input": text_of(observation.get("input")),
        f"{_OBSERVATION}output": text_of(observation.get("output")),
        _MODEL: observation.get("model"),
        f"{_OBSERVATION}model.parameters": text_of(observation.get("modelParameters") or None),
        f"{_OBSERVATION}usage_details": text_of(_usage(observation)),
        f"{_OBSERVATION}cost_details": text_of(cost or None),
        f"{_OBSERVATION}level": observation.get("level"),
        f"{_OBSERVATION}status_message": observation.get("statusMessage"),
        f"{_OBSERVATION}version": observation.get("version"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _usage(observation: Object) -> Object | None:
    usage = object_in(observation.get("usageDetails"))
    if usage:
        return usage
    counts = {"input": observation.get("inputUsage"), "output": observation.get("outputUsage")}
    return counts if any(counts.values()) else None


def _evaluations(trace: Object, trace_id: str, observations: Iterable[Object]) -> Iterator[Object]:
    """Give a trace's scores as evaluation events: of what they name, or of the trace's root."""
    observations = list(observations)
    roots = [item.get("id") for item in observations if not item.get("parentObservationId")]
    root = (roots or [item.get("id") for item in observations] or [None])[0]
    for score in objects_in(trace.get("scores")):
        about = score.get("observationId") or root
        value = score.get("value")
        if about is None or not isinstance(score.get("name"), str):
            continue
        found: dict[str, Any] = {
            f"{_EVALUATION}name": score["name"],
            f"{_EVALUATION}score.value": float(value)
            if isinstance(value, int | float) and not isinstance(value, bool)
            else None,
            f"{_EVALUATION}score.label": score.get("stringValue"),
            f"{_EVALUATION}explanation": score.get("comment"),
        }
        yield {
            "traceId": trace_id,
            "spanId": hex_id(about, 8, within=trace_id),
            "timeUnixNano": str(time_ns(score.get("timestamp") or score.get("createdAt"))),
            "eventName": "gen_ai.evaluation.result",
            "attributes": attributes_of({key: value for key, value in found.items() if value is not None}),
        }
