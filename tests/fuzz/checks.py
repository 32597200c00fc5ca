"""What holds of any input: nothing raises but a refusal, order means nothing, run ids are unique."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.fuzz.laws import as_received, hold_runs
from tests.fuzz.seeds import rows_of
from tracescore.dialects import KNOWN_DIALECTS, Content
from tracescore.dialects.decode_json import clean, parse, salvage, storable
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.decode_parts import part_of
from tracescore.dialects.decode_repr import object_message, python_value
from tracescore.dialects.decode_tools import tool_call, tool_result
from tracescore.dialects.unwrap import find_messages
from tracescore.model import LogRecord, Role, Span, Trace
from tracescore.otel import JSON, PROTOBUF, LogRow, SpanRow, decode_logs, decode_traces, read_log, read_span
from tracescore.pipeline.assembly import assemble

Check: TypeAlias = Callable[[bytes], None]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
_MAX_TRACES = 4
"""Of one request: more of them show nothing new."""
_THOROUGH = 4
"""So many texts are read for one whose runs are held against everything: that is another target's work, and slow."""
_NAME = re.compile(rb"[A-Za-z_.0-9]{1,80}\n")


def check_trace(trace: Trace) -> None:
    """Hold the runs of a trace against what any set of runs is, then read what decoding would let through."""
    hold_runs(trace)
    check_reading(trace)


def check_reading(trace: Trace) -> None:
    """Read and assemble what decoding lets through; nothing raises, though assembling would go on and say so."""
    received = as_received(trace)
    for span in received.spans:
        KNOWN_DIALECTS.read(span, [log for log in received.logs if log.span_id == span.span_id])
    for found in assemble(received):
        assert not [issue for issue in found.run.issues if "could not be read (" in issue.detail], (
            "building a run raised"
        )


def check_request(body: bytes) -> None:
    """Decode a request as spans and as log records, in both encodings, and assemble what came out."""
    for encoding in (JSON, PROTOBUF):
        spans: list[SpanRow] = rows_of(decode_traces, body, encoding)
        logs: list[LogRow] = rows_of(decode_logs, body, encoding)
        copies: dict[bytes, dict[bytes, list[bytes]]] = {}
        for row in spans:
            copies.setdefault(row.trace_id, {}).setdefault(row.span_id, []).append(row.body)
        for trace_id, by_span in list(copies.items())[:_MAX_TRACES]:
            for bodies in by_span.values():
                assert read_span(bodies) == read_span(bodies[::-1]), "the order of the copies changed the span"
            read = tuple(read_span(bodies) for bodies in by_span.values())
            check_trace(Trace(trace_id=trace_id.hex(), spans=read, logs=_logs(logs, trace_id)))


def check_text(data: bytes) -> None:
    """Decode an attribute value by everything that reads messages, then as an attribute of spans.

    The value may begin with a line that names the attribute.
    """
    name = "gen_ai.input.messages"
    if (line := _NAME.match(data)) is not None:
        name, data = line.group()[:-1].decode(), data[line.end() :]
    text = data.decode("utf-8", "surrogatepass") if _decodes(data) else data.decode("utf-8", "surrogateescape")
    value = parse(text).value
    for found in (salvage(text), object_message(text), python_value(text), value):
        _storable_said(found)
        part_of(found)
        if isinstance(found, dict):
            fields: dict[str, Any] = {str(key): item for key, item in found.items()}
            tool_call(fields)
            tool_result(fields)
        for role in ROLES:
            find_messages(found, role)
    half = text[: len(text) // 2]
    for role in ROLES:
        whole, cut = Content(text, role=role), Content(half, role=role)
        for content in (whole, cut):
            assert content.kind in ("messages", "text", "value", "nothing")
            content.said()
        assert whole.after(Content(text, role=role)) in (None, ()), "a content says more than itself"
        whole.after(cut)
        cut.after(whole)
    trace = _around({name: storable(text), "gen_ai.output.messages": clean(half)})
    if zlib.crc32(data) % _THOROUGH == 0:
        check_trace(trace)
    else:
        check_reading(trace)


def _around(attributes: Mapping[str, Any]) -> Trace:
    """Give a trace of an agent, a call and a tool that all carry the attributes."""
    kinds = {"a": "invoke_agent", "b": "chat", "c": "execute_tool"}
    spans = tuple(
        Span(
            trace_id="f" * 32,
            span_id=mark * 16,
            parent_span_id=None if mark == "a" else "a" * 16,
            name=kind,
            start_ns=1 + place,
            end_ns=20 - place,
            attributes={"gen_ai.operation.name": kind, **attributes},
        )
        for place, (mark, kind) in enumerate(kinds.items())
    )
    for span in spans:
        KNOWN_DIALECTS.readers(span, ())
    return Trace(trace_id="f" * 32, spans=spans)


def _storable_said(value: Any) -> None:
    for role in ROLES:
        for said in said_of(value, role):
            assert said.role in ROLES
            said.told()


def _logs(rows: list[LogRow], trace_id: bytes) -> tuple[LogRecord, ...]:
    return tuple(read_log(row.body) for row in rows if row.trace_id == trace_id)


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


BYTE_CHECKS: dict[str, Check] = {"otlp": check_request, "decoder": check_text}
"""The checks that take bytes, by name."""
