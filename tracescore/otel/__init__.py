"""OpenTelemetry's wire: OTLP requests in, stored rows and spans out, and scores as OpenTelemetry events."""

from tracescore.otel.decode import (
    JSON,
    PROTOBUF,
    UNBOUND,
    Bounds,
    decode_logs,
    decode_traces,
    encoding_of,
    logs_from_json,
    traces_from_json,
)
from tracescore.otel.fold import read_log, read_span
from tracescore.otel.json_form import signals_of
from tracescore.otel.json_text import load_json
from tracescore.otel.records import Decoded, EvaluationRow, LogRow, SpanRow
from tracescore.otel.weight import TooLarge

__all__ = [
    "JSON",
    "PROTOBUF",
    "UNBOUND",
    "Bounds",
    "Decoded",
    "EvaluationRow",
    "LogRow",
    "SpanRow",
    "TooLarge",
    "decode_logs",
    "decode_traces",
    "encoding_of",
    "load_json",
    "logs_from_json",
    "read_log",
    "read_span",
    "signals_of",
    "traces_from_json",
]
