"""Traces for tests: the spans that an instrumented agent emits, by the OpenTelemetry GenAI conventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from tracescore.model import AgentRun, JSONValue, Message, Messages, Span, TextPart, ToolInvocationPart, Trace
from tracescore.pipeline.assembly import assemble
from tracescore.testing.runs import Said, messages

_MS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpans:
    """What one agent did, as ``trace`` makes spans of it; made by ``agent``."""

    name: str
    input: Messages
    output: Messages
    tools: tuple[ToolInvocationPart | AgentSpans, ...] = ()
    remembered: Messages = field(default_factory=Messages)
    system: Messages = field(default_factory=Messages)
    attributes: Mapping[str, JSONValue] = field(default_factory=dict)
    status_message: str | None = None


def agent(
    name: str,
    *,
    input: Said = (),
    output: Said = (),
    tools: Sequence[ToolInvocationPart | AgentSpans] = (),
    remembered: Said = (),
    system: Said = (),
    attributes: Mapping[str, JSONValue] | None = None,
    error: str | None = None,
) -> AgentSpans:
    """Say what an agent did in a trace.

    Args:
        name: its name.
        input: what it was asked; text is the user's.
        output: what it answered; text is the assistant's.
        tools: the calls that it made first; another agent among them is called as a tool of that agent's name.
        remembered: what stood before the input; text is the user's.
        system: its instructions.
        attributes: further attributes of its span, such as ``session.id`` or ``tracescore.ground_truth``.
        error: how it failed; None if it did not.
    """
    return AgentSpans(
        name=name,
        input=messages(input, role="user"),
        output=messages(output, role="assistant"),
        tools=tuple(tools),
        remembered=messages(remembered, role="user"),
        system=messages(system, role="system"),
        attributes=dict(attributes or {}),
        status_message=error,
    )


def trace(*agents: AgentSpans, number: int = 1, service: str = "tests", environment: str | None = None) -> Trace:
    """Make a trace of what agents did, one after the other; ``number`` is what its ids are made of.

    Example:
        >>> made = trace(agent("helper", input="Is it sunny?", output="Yes."))
        >>> [found.output.text for found in runs_of(made)]
        ['Yes.']
    """
    resource: dict[str, JSONValue] = {"service.name": service}
    if environment is not None:
        resource["deployment.environment.name"] = environment
    writing = _Writing(trace_id=f"{number:032x}", resource=resource)
    for one in agents:
        writing.agent(one, parent=None)
    return Trace(trace_id=writing.trace_id, spans=tuple(sorted(writing.spans, key=lambda span: span.start_ns)))


def runs_of(trace: Trace) -> list[AgentRun]:
    """Rebuild the runs of a trace, as the scheduler does."""
    return [assembled.run for assembled in assemble(trace)]


class _Writing:
    """The spans of one trace as they are written; each begins a millisecond after the one before."""

    def __init__(self, *, trace_id: str, resource: Mapping[str, JSONValue]) -> None:
        self.trace_id = trace_id
        self.spans: list[Span] = []
        self._resource = resource
        self._clock = count(1_000)
        self._ids = count(1)

    def agent(self, one: AgentSpans, *, parent: str | None) -> None:
        span_id, start = self._begin()
        given = [*_plain(one.remembered), *_plain(one.input)]
        system = {"gen_ai.system_instructions": _dumped([part for said in one.system for part in _parts(said)])}
        if one.tools:
            calls = [self._called(called, number) for number, called in enumerate(one.tools, start=1)]
            asked = {"role": "assistant", "parts": [part for part, _ in calls]}
            self._chat(span_id, given, [asked], system if one.system else {})
            for (_, returned), called in zip(calls, one.tools, strict=True):
                self._tool(span_id, called, returned)
            given = [*given, asked, *({"role": "tool", "parts": [returned]} for _, returned in calls)]
        if one.output:
            self._chat(span_id, given, _plain(one.output), system if one.system else {})
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": one.name, **one.attributes}
        self._end(span_id, start, f"invoke_agent {one.name}", parent, attributes, error=one.status_message)

    def _called(self, called: ToolInvocationPart | AgentSpans, number: int) -> tuple[Any, Any]:
        """Give the part that asks for a call and the one that answers it."""
        if isinstance(called, AgentSpans):
            call_id = f"call-{number}"
            asked = {
                "type": "tool_call",
                "id": call_id,
                "name": called.name,
                "arguments": {"input": _text(called.input)},
            }
            return asked, {"type": "tool_call_response", "id": call_id, "response": _text(called.output)}
        call_id = called.id or f"call-{number}"
        asked = {"type": "tool_call", "id": call_id, "name": called.name, "arguments": called.arguments}
        response = called.result if called.error is None else called.error
        return asked, {"type": "tool_call_response", "id": call_id, "response": response}

    def _tool(self, parent: str, called: ToolInvocationPart | AgentSpans, returned: Any) -> None:
        span_id, start = self._begin()
        attributes: dict[str, JSONValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": called.name,
            "gen_ai.tool.call.id": returned["id"],
        }
        error = None
        if isinstance(called, AgentSpans):
            self.agent(called, parent=span_id)
        else:
            error = called.error
            attributes["gen_ai.tool.call.arguments"] = called.arguments
            if called.result is not None:
                attributes["gen_ai.tool.call.result"] = called.result
        self._end(span_id, start, f"execute_tool {called.name}", parent, attributes, error=error)

    def _chat(self, parent: str, given: Any, answered: Any, system: Mapping[str, JSONValue]) -> None:
        span_id, start = self._begin()
        attributes: dict[str, JSONValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "tests",
            "gen_ai.request.model": "fake-model",
            "gen_ai.input.messages": _dumped(given),
            "gen_ai.output.messages": _dumped(answered),
            **system,
        }
        self._end(span_id, start, "chat fake-model", parent, attributes)

    def _begin(self) -> tuple[str, int]:
        return f"{next(self._ids):016x}", next(self._clock) * _MS

    def _end(
        self,
        span_id: str,
        start_ns: int,
        name: str,
        parent: str | None,
        attributes: Mapping[str, JSONValue],
        *,
        error: str | None = None,
    ) -> None:
        self.spans.append(
            Span(
                trace_id=self.trace_id,
                span_id=span_id,
                name=name,
                parent_span_id=parent,
                start_ns=start_ns,
                end_ns=next(self._clock) * _MS,
                status="ok" if error is None else "error",
                status_message=error or "",
                attributes=attributes,
                resource=self._resource,
                scope_name="tracescore.testing",
            )
        )


def _plain(said: Sequence[Message]) -> list[Any]:
    return [{"role": message.role, "parts": list(_parts(message))} for message in said]


def _parts(message: Message) -> Iterator[dict[str, JSONValue]]:
    for part in message.parts:
        if not isinstance(part, TextPart):
            raise TypeError(f"a message of a trace for tests holds text; give calls as tools=, not {part!r:.80}")
        yield {"type": "text", "content": part.text}


def _text(said: Messages) -> str:
    return "\n".join(message.content for message in said)


def _dumped(value: Any) -> str:
    return orjson.dumps(value).decode()
