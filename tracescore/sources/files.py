"""Traces out of files of spans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracescore.errors import InputError
from tracescore.model import Trace
from tracescore.otel import Decoded, LogRow, SpanRow, decode_logs, decode_traces, read_log, read_span
from tracescore.sources.packed import opened
from tracescore.sources.requests import ExportRequest, requests_in
from tracescore.sources.units import units_in

LOGS_SUFFIX = ".logs.json"
MAX_COPIES = 8
"""Of one span, as in the store: those with the smallest hash."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileProblem:
    """Something about a file that must be said; ``unread`` where a file, or a request in it, could not be read."""

    path: str
    message: str
    unread: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """What files hold: their traces, in the order of their first appearance, and what could not be read."""

    traces: list[Trace] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)


@dataclass(slots=True)
class _Found:
    """One trace while files are being read."""

    spans: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    """By span id: the distinct copies by their hash."""
    logs: dict[bytes, bytes] = field(default_factory=dict)


def read_files(paths: Iterable[str | os.PathLike[str]]) -> FileRead:
    """Read files of OTLP export requests, JSON or protobuf, one or many, packed or not; or of Langfuse's exports.

    ``X.logs.json`` beside ``X.json`` is taken along. What is broken is a problem, never an exception, and never costs
    the rest.
    """
    found: dict[bytes, _Found] = {}
    problems: list[FileProblem] = []
    for path in with_companions(Path(path) for path in paths):
        problems.extend(_read_file(path, found))
    return FileRead(traces=[_trace(trace_id, parts) for trace_id, parts in found.items()], problems=problems)


def with_companions(paths: Iterable[Path]) -> list[Path]:
    """Give each file once, its log file behind it."""
    wanted: dict[Path, None] = {}
    for path in paths:
        wanted[path] = None
        logs = path.with_suffix(LOGS_SUFFIX)
        if path.suffix == ".json" and not path.name.endswith(LOGS_SUFFIX) and logs.is_file():
            wanted[logs] = None
    return list(wanted)


def _read_file(path: Path, found: dict[bytes, _Found]) -> Iterator[FileProblem]:
    name = str(path)
    refused: list[str] = []
    notes: list[str] = []
    try:
        with opened(path) as file:
            for unit in units_in(file.content):
                try:
                    for request in requests_in(unit):
                        decoded = _decode(request)
                        _keep(decoded.rows, found)
                        none_kept = decoded.rejected and not decoded.rows
                        (refused if none_kept else notes).extend(f"{unit.place}{said}" for said in decoded.reasons)
                except InputError as error:
                    refused.append(f"{unit.place}{error}")
    except InputError as error:
        refused.append(str(error))
    yield from (FileProblem(path=name, message=message, unread=True) for message in refused)
    yield from (FileProblem(path=name, message=message) for message in notes)


def _decode(request: ExportRequest) -> Decoded[SpanRow] | Decoded[LogRow]:
    if request.signal == "traces":
        return decode_traces(request.body, request.encoding)
    return decode_logs(request.body, request.encoding)


def _keep(rows: Sequence[SpanRow | LogRow], found: dict[bytes, _Found]) -> None:
    for row in rows:
        parts = found.setdefault(row.trace_id, _Found())
        if isinstance(row, SpanRow):
            parts.spans.setdefault(row.span_id, {})[row.copy_hash] = row.body
        else:
            parts.logs[row.copy_hash] = row.body


def _trace(trace_id: bytes, parts: _Found) -> Trace:
    return Trace(
        trace_id=trace_id.hex(),
        spans=tuple(read_span([copies[key] for key in sorted(copies)[:MAX_COPIES]]) for copies in parts.spans.values()),
        logs=tuple(read_log(body) for body in parts.logs.values()),
    )
