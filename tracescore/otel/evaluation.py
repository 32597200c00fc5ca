"""Evaluation results that others made: ``gen_ai.evaluation.result`` as a log record or as an event of a span."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from math import isfinite
from typing import Any

import orjson

from tracescore.otel.problems import Problems
from tracescore.otel.records import EvaluationRow
from tracescore.otel.semconv import (
    ERROR_TYPE,
    EVALUATION_EXPLANATION,
    EVALUATION_NAME,
    EVALUATION_SCORE_LABEL,
    EVALUATION_SCORE_VALUE,
    GEN_AI_RESPONSE_ID,
)

MAX_NAME = 200
MAX_LABEL = 1000
MAX_EXPLANATION = 64 * 1024
MAX_BODY = 256 * 1024
_STATED = (
    EVALUATION_NAME,
    EVALUATION_SCORE_VALUE,
    EVALUATION_SCORE_LABEL,
    EVALUATION_EXPLANATION,
    ERROR_TYPE,
    GEN_AI_RESPONSE_ID,
)


def evaluation_row(
    *,
    trace_id: bytes,
    span_id: bytes,
    time_ns: int,
    attributes: Mapping[str, Any],
    origin: Mapping[str, Any],
    problems: Problems,
) -> EvaluationRow | None:
    """Build the row of an evaluation result; None, with the reason noted, where it says nothing of anything.

    It may name a response instead of a span. What is too long is cut: the sender may be anybody.
    """
    trace_id = trace_id if len(trace_id) == 16 and any(trace_id) else b""
    span_id = span_id if trace_id and len(span_id) == 8 and any(span_id) else b""
    name = _text(attributes.get(EVALUATION_NAME), MAX_NAME)
    response_id = _text(attributes.get(GEN_AI_RESPONSE_ID), MAX_LABEL)
    if not name or not (span_id or response_id):
        problems.ignored += 1
        lacks = "names neither a span nor a response" if name else f"has no {EVALUATION_NAME}"
        problems.note(f"an evaluation result {(name or '')[:60]!r} {lacks}")
        return None
    value = attributes.get(EVALUATION_SCORE_VALUE)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    plain: dict[str, Any] = {
        "trace_id": trace_id.hex(),
        "span_id": span_id.hex(),
        "response_id": response_id,
        "time_ns": time_ns,
        "name": name,
        "value": float(value) if is_number and value is not None else None,
        "label": _text(attributes.get(EVALUATION_SCORE_LABEL), MAX_LABEL),
        "explanation": _text(attributes.get(EVALUATION_EXPLANATION), MAX_EXPLANATION),
        "error_type": _text(attributes.get(ERROR_TYPE), MAX_LABEL),
        "attributes": {key: value for key, value in attributes.items() if key not in _STATED},
        **origin,
    }
    body = orjson.dumps(plain)
    if len(body) > MAX_BODY:
        body = orjson.dumps(plain | {"attributes": {}, **dict.fromkeys(origin)})
    return EvaluationRow(trace_id, span_id, blake2b(body, digest_size=16).digest(), response_id or "", time_ns, body)


def _text(value: Any, limit: int) -> str | None:
    return value[:limit] if isinstance(value, str) and value else None
