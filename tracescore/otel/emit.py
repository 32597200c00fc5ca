"""Scores as OpenTelemetry events: one ``gen_ai.evaluation.result`` log record on the scored span.

Not re-exported by ``tracescore.otel``: the exporter takes a quarter of a second to import, and only a sink needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import requests
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from tracescore.errors import TracescoreError
from tracescore.otel import semconv

LOGS_PATH = "/v1/logs"


class EmitError(TracescoreError):
    """An OTLP endpoint did not take events; ``status`` is its HTTP status, None where it gave no answer."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationEvent:
    """One outcome as it goes out: ``value`` is None and ``error_type`` set where there is no score."""

    trace_id: str
    span_id: str | None = None
    name: str
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    error_type: str | None = None
    response_id: str | None = None
    time_ns: int
    run_id: str
    score_key: str
    scorer_id: str
    scorer_version: str
    outcome: str = "score"
    source: str = "live"
    probability: float = 1.0
    counted: bool = True


def emit_scores(
    endpoint: str,
    events: Sequence[EvaluationEvent],
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
) -> None:
    """Send outcomes to an OTLP/HTTP endpoint, given with or without ``/v1/logs``; blocks until it answered.

    The exporter is called directly, not through a batch processor, so that a refusal is seen and can be put right.

    Raises:
        EmitError: the endpoint did not take them.
    """
    if not events:
        return
    url = endpoint if endpoint.rstrip("/").endswith(LOGS_PATH) else endpoint.rstrip("/") + LOGS_PATH
    status: list[int] = []

    def note_status(response: requests.Response, *_: Any, **__: Any) -> None:
        status[:] = [response.status_code]

    session = requests.Session()
    session.hooks["response"].append(note_status)
    exporter = OTLPLogExporter(
        endpoint=url,
        headers=dict(headers or {}),
        timeout=timeout,
        compression=Compression.Gzip,
        session=session,
    )
    try:
        result = exporter.export([_readable(event) for event in events])
    finally:
        exporter.shutdown()
    if result is not LogRecordExportResult.SUCCESS:
        said = f"answered {status[0]}" if status else "gave no answer"
        raise EmitError(
            f"{url} {said}: {len(events)} evaluation events were not taken", status=status[0] if status else None
        )


def _readable(event: EvaluationEvent) -> ReadableLogRecord:
    span = SpanContext(
        trace_id=int(event.trace_id, 16),
        span_id=int(event.span_id, 16) if event.span_id else 0,
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return ReadableLogRecord(
        log_record=LogRecord(
            timestamp=event.time_ns,
            # Fixed as well: the same outcome sent again is the same record.
            observed_timestamp=event.time_ns,
            context=set_span_in_context(NonRecordingSpan(span)),
            event_name=semconv.EVALUATION_RESULT,
            attributes=_attributes(event),
        ),
        resource=Resource({semconv.SERVICE_NAME: semconv.OWN_NAME}),
        instrumentation_scope=InstrumentationScope(semconv.OWN_NAME),
    )


def _attributes(event: EvaluationEvent) -> dict[str, str | float]:
    stated: dict[str, str | float | bool | None] = {
        semconv.EVALUATION_NAME: event.name,
        semconv.EVALUATION_SCORE_VALUE: event.value,
        semconv.EVALUATION_SCORE_LABEL: event.label,
        semconv.EVALUATION_EXPLANATION: event.explanation,
        semconv.ERROR_TYPE: event.error_type,
        semconv.GEN_AI_RESPONSE_ID: event.response_id,
        semconv.RUN_ID: event.run_id,
        semconv.SCORE_KEY: event.score_key,
        semconv.SCORER_ID: event.scorer_id,
        semconv.SCORER_VERSION: event.scorer_version,
        semconv.OUTCOME: event.outcome,
        semconv.SCORE_SOURCE: event.source,
        semconv.SCORE_PROBABILITY: event.probability,
        semconv.SCORE_COUNTED: None if event.counted else False,
    }
    return {name: _encodable(value) for name, value in stated.items() if value is not None}


def _encodable(value: str | float) -> str | float:
    """Replace lone surrogates, which a judge's JSON may hold: protobuf refuses the whole batch for one."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
