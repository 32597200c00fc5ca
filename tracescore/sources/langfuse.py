"""Langfuse's own export form written as OTLP: traces with their observations, from its pages or its API.

The fields are those of its public API ("Traces" and "Observations"). An observation that came by OpenTelemetry keeps
the attributes of its span in its metadata: they are read, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeGuard, cast

import orjson

from tracescore.errors import InputError
from tracescore.otel import load_json

Object = dict[str, Any]

SCOPE = "langfuse-sdk"
_OBSERVATION = "langfuse.observation."
_MODEL = f"{_OBSERVATION}model.name"
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
_STATES = {"ERROR": 2}
_EVALUATION = "gen_ai.evaluation."
_AS_JSON = orjson.OPT_NON_STR_KEYS
_LIMIT = 2**63
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
        trace_id = _hex_id(trace.get("id") or item.get("traceId"), 16)
        observations = _objects(item.get("observations")) if "observations" in item else [item]
        if "observations" not in item and "traceId" not in item:
            observations = []
        spans.extend(_resource_spans(observation, trace, trace_id) for observation in observations)
        scores.extend(_evaluations(trace, trace_id, observations))
    logs = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": SCOPE}, "logRecords": scores}]}]}
    return Converted(traces={"resourceSpans": spans} if spans else None, logs=logs if scores else None)


def _items(value: Any) -> list[Object]:
    if _is_object(value) and isinstance(value.get("data"), list):  # a page of the API's
        value = value["data"]
    return _objects(value if isinstance(value, list) else [value])


def _is_exported(item: Object) -> bool:
    if isinstance(item.get("observations"), list):
        return "trace" in item or "id" in item
    return all(isinstance(item.get(key), str) for key in ("traceId", "id", "type", "startTime"))


def _trace_of(item: Object) -> Object:
    if _is_object(trace := item.get("trace")):
        return trace
    return item if "observations" in item else {}


def _resource_spans(observation: Object, trace: Object, trace_id: str) -> Object:
    metadata = _object(observation.get("metadata"))
    scope = _object(metadata.get("scope"))
    resource = _object(metadata.get("resourceAttributes"))
    given = metadata.keys() & {"attributes", "resourceAttributes", "scope"}
    own = {key: value for key, value in metadata.items() if not given or key not in given}
    original = _object(metadata.get("attributes") if given else None)
    read = _of_observation(observation)
    if observation.get("type") == "AGENT" and any(key in original for key in _SAY_ROLES):
        # It was told from these: the name of such a span is not its agent's, and its model is no call of its own.
        read = {key: value for key, value in read.items() if key not in (f"{_OBSERVATION}type", _MODEL)}
    name = _name(observation.get("name"))
    if observation.get("type") == "TOOL":
        name = next((original[key] for key in _TOOL_NAMES if isinstance(original.get(key), str)), name)
    attributes = {
        **original,
        **_of_trace(trace),
        **read,
        **{f"{_OBSERVATION}metadata.{key}": _text(value) for key, value in own.items()},
    }
    parent = observation.get("parentObservationId")
    start = _time(observation.get("startTime") or trace.get("timestamp"))
    span: Object = {
        "traceId": trace_id,
        "spanId": _hex_id(observation.get("id"), 8, within=trace_id),
        **({"parentSpanId": _hex_id(parent, 8, within=trace_id)} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(start),
        # An event has no end of its own: it is as long as a moment.
        "endTimeUnixNano": str(max(start, _time(observation.get("endTime")))),
        "attributes": _attributes(attributes),
        "status": {
            "code": _STATES.get(str(observation.get("level")), 0),
            **({"message": str(observation["statusMessage"])} if observation.get("statusMessage") else {}),
        },
    }
    named = {"name": _name(scope.get("name")) or SCOPE, "version": _name(scope.get("version"))}
    return {
        "resource": {"attributes": _attributes(resource)},
        "scopeSpans": [{"scope": named, "spans": [span]}],
    }


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
    cost = _object(observation.get("costDetails"))
    if not cost and observation.get("totalCost"):
        cost = {"total": observation["totalCost"]}
    found = {
        f"{_OBSERVATION}type": kind.lower() if isinstance(kind, str) else None,
        f"{_OBSERVATION}input": _text(observation.get("input")),
        f"{_OBSERVATION}output": _text(observation.get("output")),
        _MODEL: observation.get("model"),
        f"{_OBSERVATION}model.parameters": _text(observation.get("modelParameters") or None),
        f"{_OBSERVATION}usage_details": _text(_usage(observation)),
        f"{_OBSERVATION}cost_details": _text(cost or None),
        f"{_OBSERVATION}level": observation.get("level"),
        f"{_OBSERVATION}status_message": observation.get("statusMessage"),
        f"{_OBSERVATION}version": observation.get("version"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _usage(observation: Object) -> Object | None:
    usage = _object(observation.get("usageDetails"))
    if usage:
        return usage
    counts = {"input": observation.get("inputUsage"), "output": observation.get("outputUsage")}
    return counts if any(counts.values()) else None


def _evaluations(trace: Object, trace_id: str, observations: Iterable[Object]) -> Iterator[Object]:
    """Give a trace's scores as evaluation events: of what they name, or of the trace's root."""
    observations = list(observations)
    roots = [item.get("id") for item in observations if not item.get("parentObservationId")]
    root = (roots or [item.get("id") for item in observations] or [None])[0]
    for score in _objects(trace.get("scores")):
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
            "spanId": _hex_id(about, 8, within=trace_id),
            "timeUnixNano": str(_time(score.get("timestamp") or score.get("createdAt"))),
            "eventName": "gen_ai.evaluation.result",
            "attributes": _attributes({key: value for key, value in found.items() if value is not None}),
        }


def _hex_id(given: Any, size: int, *, within: str = "") -> str:
    """Give an id in OpenTelemetry's form: as it is where it has that form, else one made of it."""
    text = str(given or "")
    if len(text) == 2 * size and all(digit in "0123456789abcdef" for digit in text) and text.strip("0"):
        return text
    return hashlib.sha256(f"{within}\x1f{text}".encode("utf-8", "replace")).hexdigest()[: 2 * size]


def _time(given: Any) -> int:
    """Give a time as nanoseconds since 1970; 0 for none."""
    if not isinstance(given, str):
        return 0
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return 0
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return max(0, (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value, option=_AS_JSON, default=str).decode()


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _attributes(values: Mapping[str, Any]) -> list[Object]:
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> Object:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_LIMIT <= value < _LIMIT:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value)):
        return {"arrayValue": {"values": [{"stringValue": item} for item in cast("list[str]", value)]}}
    return {"stringValue": _text(value) or ""}


def _object(value: Any) -> Object:
    if isinstance(value, str) and value.lstrip().startswith("{"):  # the pages write objects as text
        value = _parsed(value)
    return value if _is_object(value) else {}


def _parsed(text: str) -> Any:
    try:
        return load_json(text.encode("utf-8", "replace"))
    except InputError:
        return None


def _objects(value: Any) -> list[Object]:
    return [item for item in cast("list[Any]", value) if _is_object(item)] if isinstance(value, list) else []


def _is_object(value: Any) -> TypeGuard[Object]:
    return isinstance(value, dict)
