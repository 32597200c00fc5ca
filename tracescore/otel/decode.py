"""OTLP requests to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tracescore.errors import InputError
from tracescore.otel import json_form, lenient, protobuf
from tracescore.otel.body import Group, Origin, is_own, origin_of
from tracescore.otel.json_text import load_json
from tracescore.otel.problems import Problems
from tracescore.otel.records import Decoded, EvaluationRow, LogRow, SpanRow

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_ENCODINGS = {PROTOBUF: PROTOBUF, "application/protobuf": PROTOBUF, JSON: JSON}

RowT = TypeVar("RowT")
_ReadOne = Callable[[Any, Origin, Problems], RowT | EvaluationRow | None]


def encoding_of(content_type: str) -> str | None:
    """Tell which OTLP encoding a content type means: ``PROTOBUF``, ``JSON``, or None for neither."""
    return _ENCODINGS.get(content_type.partition(";")[0].strip().lower())


def decode_traces(body: bytes, content_type: str) -> Decoded[SpanRow]:
    """Decode an ``ExportTraceServiceRequest``, protobuf or JSON.

    Raises:
        InputError: the body cannot be read at all. What is broken within it is rejected or left out, with a reason.
    """
    if _encoding(content_type) == JSON:
        return traces_from_json(load_json(body))
    try:
        return _decoded(Problems(), protobuf.trace_groups(body), protobuf.read_span)
    except protobuf.OutOfOrdinary:
        problems = Problems()
        return _decoded(problems, lenient.trace_groups(body, problems), lenient.read_span)


def decode_logs(body: bytes, content_type: str) -> Decoded[LogRow]:
    """Decode an ``ExportLogsServiceRequest``, protobuf or JSON; only what may hold a span's content is kept.

    Raises:
        InputError: the body cannot be read at all. What is broken within it is rejected or left out, with a reason.
    """
    if _encoding(content_type) == JSON:
        return logs_from_json(load_json(body))
    try:
        return _decoded(Problems(), protobuf.log_groups(body), protobuf.read_log)
    except protobuf.OutOfOrdinary:
        problems = Problems()
        return _decoded(problems, lenient.log_groups(body, problems), lenient.read_log)


def traces_from_json(request: Any) -> Decoded[SpanRow]:
    """Decode an ``ExportTraceServiceRequest`` whose JSON is parsed already."""
    problems = Problems()
    return _decoded(problems, json_form.trace_groups(request, problems), json_form.read_span)


def logs_from_json(request: Any) -> Decoded[LogRow]:
    """Decode an ``ExportLogsServiceRequest`` whose JSON is parsed already."""
    problems = Problems()
    return _decoded(problems, json_form.log_groups(request, problems), json_form.read_log)


def _encoding(content_type: str) -> str:
    encoding = encoding_of(content_type)
    if encoding is None:
        raise InputError(f"content type {content_type!r} is not OTLP: expected {PROTOBUF} or {JSON}")
    return encoding


def _decoded(problems: Problems, groups: Iterable[Group], read_one: _ReadOne[RowT]) -> Decoded[RowT]:
    rows: list[RowT] = []
    evaluations: list[EvaluationRow] = []
    for group in groups:
        if is_own(group.scope_name, group.resource):
            problems.ignored += len(group.items)
            continue
        origin = origin_of(group)
        for item in group.items:
            row = read_one(item, origin, problems)
            if isinstance(row, EvaluationRow):
                evaluations.append(row)
            elif row is not None:
                rows.append(row)
                if isinstance(row, SpanRow) and row.evaluations:
                    evaluations.extend(row.evaluations)
    return Decoded(
        rows=rows,
        rejected=problems.rejected,
        reasons=problems.reasons,
        ignored=problems.ignored,
        evaluations=evaluations,
    )
