"""The scenario that every library ran, for spans written by hand."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson

from tests.assembly import building
from tests.assembly.building import brief
from tracescore.model import AgentRun, JSONValue, Span, Trace
from tracescore.pipeline.assembly import assemble

SYSTEM = "You are WeatherBot."
QUESTION = "What is the weather in Paris?"
ANSWER = "It is 18C in Paris."
ARGUMENTS = '{"city": "Paris"}'
RESULT = "18C and sunny"
ASKED: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
RETURNED = {"role": "tool", "tool_call_id": "c", "content": RESULT}
USED: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": 57, "gen_ai.usage.output_tokens": 11}
CALL = "a: get_weather({'city': 'Paris'}) -> 18C and sunny"


def span(name: str, *, parent: str | None = None, **more: Any) -> Span:
    """Build a span; what follows a second space in its name tells its id from another's and is not part of the name."""
    spelled, _, _ = name.partition("  ")
    built = building.span(spelled, **more)
    above = hashed(parent) if parent is not None else None
    return replace(built, span_id=hashed(name), parent_span_id=above)


def hashed(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:16]


def runs(*spans: Span) -> list[AgentRun]:
    return [assembled.run for assembled in assemble(Trace(trace_id=building.TRACE_ID, spans=spans))]


def dumped(value: Any) -> str:
    return orjson.dumps(value).decode()


def check(run: AgentRun, *, system: bool = True) -> None:
    assert brief(run.input.input_messages) == [f"u: {QUESTION}"]
    assert [message.content for message in run.input.system_messages] == ([SYSTEM] if system else [])
    assert brief(run.output) == [CALL, f"a: {ANSWER}"]
    assert run.issues == ()


def numbered(prefix: str, *messages: dict[str, Any]) -> dict[str, JSONValue]:
    return {f"{prefix}{place}.{key}": value for place, message in enumerate(messages) for key, value in message.items()}
