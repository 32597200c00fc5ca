"""Spans for tests, as short as they can be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tracescore.model import AgentRun, JSONValue, LogRecord, Message, Span, SpanEvent, SpanStatus, Trace
from tracescore.model.message import ToolInvocationPart
from tracescore.pipeline.assembly import assemble

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
MS = 1_000_000


def span(
    name: str,
    *,
    parent: str | None = None,
    at: float = 0,
    until: float | None = None,
    attributes: dict[str, JSONValue] | None = None,
    status: SpanStatus = "unset",
    message: str = "",
    flags: int = 0x100,
    arrived: int = 0,
    events: tuple[SpanEvent, ...] = (),
    scope: str = "test.scope",
    resource: dict[str, JSONValue] | None = None,
    dropped: int = 0,
) -> Span:
    """Build a span. Its name is its id; times are milliseconds, ``until`` 0 leaves it open."""
    end = at + 1 if until is None else until
    return Span(
        trace_id=TRACE_ID,
        span_id=span_id(name),
        name=name,
        parent_span_id=span_id(parent) if parent is not None else None,
        start_ns=int((1000 + at) * MS),
        end_ns=int((1000 + end) * MS) if end else 0,
        attributes=attributes or {},
        status=status,
        status_message=message,
        flags=flags,
        arrived_ns=arrived,
        events=events,
        scope_name=scope,
        scope_version="1.0",
        resource=resource or {"service.name": "tests"},
        dropped_attributes=dropped,
    )


def span_id(name: str) -> str:
    """Give the id of the span of this name."""
    return name.encode().hex()[:16].ljust(16, "0")


def agent(name: str, *, called: str | None = None, **more: Any) -> Span:
    """Build an agent invocation."""
    extra = more.pop("attributes", {})
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": called or name, **extra}
    return span(name, attributes=attributes, **more)


def llm(
    name: str,
    *,
    given: Sequence[dict[str, Any]] | None = None,
    answer: dict[str, Any] | None = None,
    attributes: dict[str, JSONValue] | None = None,
    **more: Any,
) -> Span:
    """Build a model call."""
    content: dict[str, JSONValue] = {}
    if given is not None:
        content["gen_ai.input.messages"] = dumped(list(given))
    if answer is not None:
        content["gen_ai.output.messages"] = dumped([answer])
    base: dict[str, JSONValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
    }
    return span(name, attributes={**base, **content, **(attributes or {})}, **more)


def tool(name: str, *, called: str, attributes: dict[str, JSONValue] | None = None, **more: Any) -> Span:
    """Build the execution of a tool."""
    base: dict[str, JSONValue] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": called}
    return span(name, attributes={**base, **(attributes or {})}, **more)


def says(role: str, text: str, **more: Any) -> dict[str, Any]:
    """Build a message of one text."""
    return {"role": role, "parts": [{"type": "text", "content": text}], **more}


def asks(name: str, arguments: Any = None, *, id: str | None = "c1", text: str | None = None) -> dict[str, Any]:
    """Build an assistant message that calls a tool."""
    call = {"type": "tool_call", "id": id, "name": name, "arguments": {} if arguments is None else arguments}
    said = [{"type": "text", "content": text}] if text is not None else []
    return {"role": "assistant", "parts": [*said, call]}


def returns(value: Any, *, id: str | None = "c1", name: str | None = None) -> dict[str, Any]:
    """Build a tool message."""
    return {"role": "tool", "name": name, "parts": [{"type": "tool_call_response", "id": id, "response": value}]}


def dumped(value: Any) -> str:
    """Encode as JSON text."""
    return orjson.dumps(value).decode()


def trace(*spans: Span, logs: Sequence[LogRecord] = ()) -> Trace:
    """Put spans into one trace."""
    return Trace(trace_id=TRACE_ID, spans=spans, logs=tuple(logs))


def runs(*spans: Span, logs: Sequence[LogRecord] = ()) -> dict[str, AgentRun]:
    """Assemble spans and give each run by the name of its span."""
    by_id = {one.span_id: one.name for one in spans}
    return {by_id[found.run.span_id or ""]: found.run for found in assemble(trace(*spans, logs=logs))}


def brief(messages: Sequence[Message]) -> list[str]:
    """Give messages as short lines: ``a: text``, ``a: tool({'x': 1}) -> result``."""
    return [f"{message.role[0]}: {' | '.join(_part(part) for part in message.parts)}" for message in messages]


def _part(part: Any) -> str:
    if isinstance(part, ToolInvocationPart):
        came = f"!{part.error}" if part.error is not None else part.result
        return f"{part.name}({part.arguments}) -> {came}"
    if part.type in ("text", "reasoning"):
        return part.text if part.type == "text" else f"({part.text})"
    return str(part)
