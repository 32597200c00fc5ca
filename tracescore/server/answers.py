"""What a sender is answered once its request was taken, by whichever door it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tracescore.pipeline.ingest import Taken


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """What differs between the answers to spans and to log records."""

    response: Any
    rejected_name: str
    json_rejected_name: str


TRACES = Signal(response=ExportTraceServiceResponse, rejected_name="rejected_spans", json_rejected_name="rejectedSpans")
LOGS = Signal(
    response=ExportLogsServiceResponse, rejected_name="rejected_log_records", json_rejected_name="rejectedLogRecords"
)


def protobuf_answer(signal: Signal, taken: Taken) -> bytes:
    """Give the response message, with what was rejected and why as partial success."""
    response = signal.response()
    if taken.rejected or taken.reason:
        setattr(response.partial_success, signal.rejected_name, taken.rejected)
        response.partial_success.error_message = taken.reason
    encoded: bytes = response.SerializeToString()
    return encoded


def json_answer(signal: Signal, taken: Taken) -> bytes:
    """Give the same in JSON."""
    content: dict[str, Any] = {}
    if taken.rejected or taken.reason:
        # 64-bit integers are strings in protobuf's JSON.
        content["partialSuccess"] = {signal.json_rejected_name: str(taken.rejected), "errorMessage": taken.reason}
    return orjson.dumps(content)
