"""What a unit of a file holds: OTLP export requests, or what can be written as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

from tracescore.errors import InputError
from tracescore.otel import JSON, Decoded, decode_logs, decode_traces, load_json, signals_of
from tracescore.sources.langfuse import is_export, requests_of
from tracescore.sources.units import Unit

Signal: TypeAlias = Literal["traces", "logs"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportRequest:
    """The body of one OTLP export request, as a receiver takes it."""

    signal: Signal
    body: bytes
    encoding: str


def requests_in(unit: Unit) -> Iterator[ExportRequest]:
    """Give the requests of a unit: OTLP in JSON or protobuf, or an export of Langfuse's written as OTLP.

    Raises:
        InputError: it is none of these.
    """
    if unit.encoding != JSON:
        yield _of_protobuf(unit)
        return
    try:
        value = load_json(unit.body)
    except InputError as error:
        raise InputError(str(error).replace("the body", "it", 1)) from error
    signals = signals_of(value)
    if "traces" in signals:
        yield ExportRequest(signal="traces", body=unit.body, encoding=JSON)
    if "logs" in signals:
        yield ExportRequest(signal="logs", body=unit.body, encoding=JSON)
    if signals == ["metrics"] and not unit.number:  # a collector writes all signals into one file of lines
        raise InputError("it holds metrics only")
    if signals:
        return
    if not is_export(value):
        raise InputError(
            "it is JSON, but no OTLP export request: it has neither 'resourceSpans' nor 'resourceLogs' "
            "(and it is no export of Langfuse's)"
        )
    yield from _of_langfuse(value)


def _of_langfuse(value: Any) -> Iterator[ExportRequest]:
    converted = requests_of(value)
    if converted.traces:
        yield ExportRequest(signal="traces", body=orjson.dumps(converted.traces), encoding=JSON)
    if converted.logs:
        yield ExportRequest(signal="logs", body=orjson.dumps(converted.logs), encoding=JSON)


def _of_protobuf(unit: Unit) -> ExportRequest:
    # Requests of all signals number their fields alike, and nothing in one says which it is: spans have ids, log
    # records have theirs elsewhere.
    found: list[ExportRequest] = []
    refused = False
    readers: tuple[tuple[Signal, Callable[[bytes, str], Decoded[Any]]], ...]
    readers = (("traces", decode_traces), ("logs", decode_logs))
    for signal, decode in readers:
        try:
            decoded = decode(unit.body, unit.encoding)
        except InputError:
            refused = True
            continue
        request = ExportRequest(signal=signal, body=unit.body, encoding=unit.encoding)
        if decoded.rows or (decoded.ignored and not decoded.rejected):
            return request
        if not decoded.rejected:
            found.append(request)
    if found and not refused:
        return found[0]
    raise InputError("it is no OTLP request for spans or log records in protobuf")
