"""An agent that is traced by OpenTelemetry's SDK, for tests."""

from __future__ import annotations

import json

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from tracescore import AgentRun, TraceScore, scorer

SECRET = "sk-ant-api03-" + "aB3d" * 12


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def provider_of() -> TracerProvider:
    return TracerProvider(resource=Resource({"service.name": "shop", "deployment.environment.name": "test"}))


def run_agent(provider: TracerProvider, *, question: str = "How warm is it?", answer: str = "18 degrees.") -> None:
    """Make one trace of an agent, a model call and a tool, with all that a span may hold."""
    tracer = provider.get_tracer("shop.agents", "1.2", attributes={"team": "a"})
    other = SpanContext(trace_id=7, span_id=9, is_remote=True, trace_flags=TraceFlags(1))
    with tracer.start_as_current_span("invoke_agent Guide", links=[Link(other, {"why": "asked before"})]) as agent:
        agent.set_attributes(
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Guide", "session.id": "s1", "ratio": 0.5}
        )
        with tracer.start_as_current_span("chat m") as call:
            call.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "m",
                    "gen_ai.input.messages": message("user", question),
                    "gen_ai.output.messages": message("assistant", answer),
                    "gen_ai.usage.input_tokens": 3,
                    "tags": ["a", "b"],
                    "note": f"the key is {SECRET}",
                }
            )
            call.add_event("noted", {"n": 1})
        with tracer.start_as_current_span("execute_tool look") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})
            tool.set_status(Status(StatusCode.ERROR, "no window"))


@scorer(id="brief")
def brief(run: AgentRun) -> float:
    return 1.0 if len(run.output.text) < 20 else 0.0


@scorer(id="broken")
def broken(run: AgentRun) -> float:
    raise ValueError(run.output.text)


def app() -> TraceScore:
    return TraceScore([brief, broken])
