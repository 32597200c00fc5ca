"""Traces out of OTLP JSON export files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tracescore.errors import InputError
from tracescore.model import Trace
from tracescore.otel import (
    Decoded,
    LogRow,
    SpanRow,
    load_json,
    logs_from_json,
    read_log,
    read_span,
    signals_of,
    traces_from_json,
)

LOGS_SUFFIX = ".logs.json"
MAX_COPIES = 8
"""Of one span, as in the store: those with the smallest hash."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileProblem:
    """Something about a file that must be said; ``unread`` where nothing of the file could be read."""

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
    """Read OTLP JSON files: one export request, or one request a line.

    ``X.logs.json`` beside ``X.json`` is taken along. What is broken is a problem, never an exception, and never costs
    the rest.
    """
    found: dict[bytes, _Found] = {}
    problems: list[FileProblem] = []
    for path in _with_companions(Path(path) for path in paths):
        problems.extend(_read_file(path, found))
    return FileRead(traces=[_trace(trace_id, parts) for trace_id, parts in found.items()], problems=problems)


def _with_companions(paths: Iterable[Path]) -> list[Path]:
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
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        yield FileProblem(path=name, message="no such file", unread=True)
        return
    except IsADirectoryError:
        yield FileProblem(path=name, message="is a directory: name the files in it", unread=True)
        return
    except OSError as error:
        yield FileProblem(path=name, message=f"cannot be read: {error.strerror or error}", unread=True)
        return
    if not content.strip():
        yield FileProblem(path=name, message="is empty", unread=True)
        return
    read_any = False
    refused: list[str] = []
    notes: list[str] = []
    for place, request in _requests(content):
        try:
            for decoded in _decode(request, alone=not place):
                _keep(decoded.rows, found)
                notes.extend(f"{place}{reason}" for reason in decoded.reasons)
                read_any = read_any or bool(decoded.rows) or not decoded.rejected
        except InputError as error:
            refused.append(f"{place}{error}")
    for message in (*refused, *notes):
        yield FileProblem(path=name, message=message, unread=not read_any)


def _requests(content: bytes) -> Iterator[tuple[str, Any]]:
    """Give each request of a file with the words that say where it stands."""
    lines = content.splitlines()
    if len(lines) < 2 or not _is_json(lines[0]):
        yield "", content
        return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number}: ", line


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _decode(content: bytes, *, alone: bool) -> Iterator[Decoded[SpanRow] | Decoded[LogRow]]:
    try:
        request = load_json(content)
    except InputError as error:
        raise InputError(str(error).replace("the body", "it", 1)) from error
    signals = signals_of(request)
    if not signals:
        raise InputError("it is JSON, but no OTLP export request: it has neither 'resourceSpans' nor 'resourceLogs'")
    if signals == ["metrics"] and alone:  # a collector writes all signals into one file of lines
        raise InputError("it holds metrics only")
    if "traces" in signals:
        yield traces_from_json(request)
    if "logs" in signals:
        yield logs_from_json(request)


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
