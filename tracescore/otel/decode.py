"""OTLP requests to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from tracescore.errors import InputError
from tracescore.otel import json_form, lenient, protobuf
from tracescore.otel.attributes import OutOfOrdinary
from tracescore.otel.big_values import BIG, shrink
from tracescore.otel.body import Group, Origin, copy_hash, is_own, origin_of
from tracescore.otel.json_text import load_json
from tracescore.otel.problems import Problems
from tracescore.otel.records import Decoded, EvaluationRow, LogRow, SpanRow
from tracescore.otel.weight import LARGEST, ROW, ROWS, TooLarge, check_json, check_protobuf, may_be_tolerant

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_ENCODINGS = {PROTOBUF: PROTOBUF, "application/protobuf": PROTOBUF, JSON: JSON}

SAFE = 64
"""No parsed form is so many times its body: a body smaller than that share of its limit needs no look."""

RowT = TypeVar("RowT", SpanRow, LogRow)
_ReadOne = Callable[[Any, Origin, Problems], RowT | EvaluationRow | None]


def encoding_of(content_type: str) -> str | None:
    """Tell which OTLP encoding a content type means: ``PROTOBUF``, ``JSON``, or None for neither."""
    return _ENCODINGS.get(content_type.partition(";")[0].strip().lower())


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What is kept of a request: ``limit`` bounds in bytes what it may amount to, where it comes from anybody."""

    limit: int | None = None
    keep_media: bool = False


UNBOUND = Bounds()


def decode_traces(body: bytes, content_type: str, bounds: Bounds = UNBOUND) -> Decoded[SpanRow]:
    """Decode an ``ExportTraceServiceRequest``, protobuf or JSON.

    Raises:
        TooLarge: it would take more memory than its bounds allow.
        InputError: the body cannot be read at all. What is broken within it is rejected or left out, with a reason.
    """
    if _encoding(content_type) == JSON:
        return traces_from_json(_json(body, bounds), bounds)
    _check(body, bounds)
    try:
        return _decoded(Problems(), protobuf.trace_groups(body), protobuf.read_span, bounds, _largest(body, bounds))
    except OutOfOrdinary:
        _check_tolerant(body, bounds)
        problems = Problems()
        return _decoded(problems, lenient.trace_groups(body, problems), lenient.read_span, bounds)


def decode_logs(body: bytes, content_type: str, bounds: Bounds = UNBOUND) -> Decoded[LogRow]:
    """Decode an ``ExportLogsServiceRequest``, protobuf or JSON; only what may hold a span's content is kept.

    Raises:
        TooLarge: it would take more memory than its bounds allow.
        InputError: the body cannot be read at all. What is broken within it is rejected or left out, with a reason.
    """
    if _encoding(content_type) == JSON:
        return logs_from_json(_json(body, bounds), bounds)
    _check(body, bounds)
    try:
        return _decoded(Problems(), protobuf.log_groups(body), protobuf.read_log, bounds, _largest(body, bounds))
    except OutOfOrdinary:
        _check_tolerant(body, bounds)
        problems = Problems()
        return _decoded(problems, lenient.log_groups(body, problems), lenient.read_log, bounds)


def traces_from_json(request: Any, bounds: Bounds = UNBOUND) -> Decoded[SpanRow]:
    """Decode an ``ExportTraceServiceRequest`` whose JSON is parsed already."""
    problems = Problems()
    return _decoded(problems, json_form.trace_groups(request, problems), json_form.read_span, bounds)


def logs_from_json(request: Any, bounds: Bounds = UNBOUND) -> Decoded[LogRow]:
    """Decode an ``ExportLogsServiceRequest`` whose JSON is parsed already."""
    problems = Problems()
    return _decoded(problems, json_form.log_groups(request, problems), json_form.read_log, bounds)


def _json(body: bytes, bounds: Bounds) -> Any:
    if bounds.limit is None:
        return load_json(body)
    if len(body) * SAFE > bounds.limit:
        check_json(body, bounds.limit)
    return load_json(body, tolerant=may_be_tolerant(body, bounds.limit))


def _check(body: bytes, bounds: Bounds) -> None:
    if bounds.limit is not None and len(body) * SAFE > bounds.limit:
        check_protobuf(body, bounds.limit)


def _largest(body: bytes, bounds: Bounds) -> int | None:
    """Give how large one item may be, where the body may hold a larger one."""
    if bounds.limit is None or len(body) * LARGEST <= bounds.limit:
        return None
    return bounds.limit // LARGEST


def _check_tolerant(body: bytes, bounds: Bounds) -> None:
    if bounds.limit is not None and not may_be_tolerant(body, bounds.limit):
        raise TooLarge(
            "the body is broken protobuf, not UTF-8 somewhere or nested too deeply, and too large to be read piece by "
            "piece: send smaller batches"
        )


def _encoding(content_type: str) -> str:
    encoding = encoding_of(content_type)
    if encoding is None:
        raise InputError(f"content type {content_type!r} is not OTLP: expected {PROTOBUF} or {JSON}")
    return encoding


def _decoded(
    problems: Problems, groups: Iterable[Group], read_one: _ReadOne[RowT], bounds: Bounds, largest: int | None = None
) -> Decoded[RowT]:
    rows: list[RowT] = []
    evaluations: list[EvaluationRow] = []
    room = inf if bounds.limit is None else bounds.limit * ROWS
    for group in groups:
        if is_own(group.scope_name, group.resource):
            problems.ignored += len(group.items)
            continue
        origin = origin_of(group)
        for item in group.items:
            if room <= 0:  # a large resource, say, is part of each of its spans
                problems.reject(f"the request amounts to more than {bounds.limit} bytes: send smaller batches")
                continue
            if largest is not None and item.ByteSize() > largest:
                problems.reject(f"a span or log record is larger than {largest} bytes")
                continue
            row = read_one(item, origin, problems)
            if row is None:
                continue
            size = len(row.body)
            if bounds.limit is not None and size * 2 > bounds.limit:
                problems.reject(f"a span or log record is larger than {bounds.limit // 2} bytes")
                continue
            room -= size + ROW
            if isinstance(row, EvaluationRow):
                evaluations.append(row)
                continue
            rows.append(row if size <= BIG else _shrunk(row, bounds.keep_media))
            if isinstance(row, SpanRow) and row.evaluations:
                evaluations.extend(row.evaluations)
                room -= sum(len(evaluation.body) + ROW for evaluation in row.evaluations)
    return Decoded(
        rows=rows,
        rejected=problems.rejected,
        reasons=problems.reasons,
        ignored=problems.ignored,
        evaluations=evaluations,
    )


def _shrunk(row: RowT, keep_media: bool) -> RowT:
    body = shrink(row.body, keep_media=keep_media)
    return row if body is row.body else row._replace(body=body, copy_hash=copy_hash(body))
