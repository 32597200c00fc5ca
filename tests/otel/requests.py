"""OTLP requests for tests: built as JSON, turned to protobuf by protobuf's own parser."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"

_IDS = ("traceId", "spanId", "parentSpanId")


def any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
        case None:
            return {}
        case _:
            return {"stringValue": value}


def attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(values: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "chat",
        "startTimeUnixNano": "1796045057675237501",
        "endTimeUnixNano": "1796045057732158252",
        "attributes": attributes(values or {}),
        **fields,
    }


def traces(*spans: Any, resource: Mapping[str, Any] | None = None, scope: str = "agent") -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource or {})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def log(body: Any = None, values: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "timeUnixNano": "1796045057675237501",
        "body": any_value(body),
        "attributes": attributes(values or {}),
        **fields,
    }


def logs(*records: Any, resource: Mapping[str, Any] | None = None, scope: str = "agent") -> dict[str, Any]:
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": attributes(resource or {})},
                "scopeLogs": [{"scope": {"name": scope}, "logRecords": list(records)}],
            }
        ]
    }


def as_json(request: Any) -> bytes:
    return orjson.dumps(request)


def as_protobuf(request: Mapping[str, Any]) -> bytes:
    message = ExportLogsServiceRequest() if "resourceLogs" in request else ExportTraceServiceRequest()
    parsed = json_format.ParseDict(_with_base64_ids(request), message, ignore_unknown_fields=True)
    return parsed.SerializeToString()


def _with_base64_ids(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in _IDS and item else _with_base64_ids(item)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_with_base64_ids(item) for item in value]
    return value
