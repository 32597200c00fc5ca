"""What turns the recording of messages on, by library: the exact variable or option, as its documentation names it."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracescore.dialects.form import Reading
from tracescore.model import Span

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_STABILITY = "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"
_LATEST = f"set {_STABILITY} and {_CAPTURE}=span_and_event"
_TRACELOOP = "set TRACELOOP_TRACE_CONTENT=true, as it is unless turned off"
_VERCEL = "set recordInputs and recordOutputs of experimental_telemetry to true, as they are unless turned off"
_MICROSOFT = f"set EnableSensitiveData=true of UseOpenTelemetry, or {_CAPTURE}=true"
_SEMANTIC_KERNEL = "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"
NAMELESS = (
    "no setting is known for this scope: have it write the messages to gen_ai.input.messages and gen_ai.output.messages"
)
"""What to do where a hand-written span, or a library that no table knows, holds no messages."""


class Capture(NamedTuple):
    """How a library is told to record content; ``sides`` where input and output are switched apart."""

    setting: str
    sides: bool = False


_BEFORE_2 = re.compile(r"[01]\.")
_SCOPES: tuple[tuple[str, Capture], ...] = (
    ("opentelemetry.instrumentation.openai_v2", Capture(f"set {_CAPTURE}=true")),
    ("@opentelemetry/instrumentation-openai", Capture(f"set {_CAPTURE}=true, and send log records")),
    ("@traceloop/", Capture(_TRACELOOP)),
    ("@sentry/", Capture("set recordInputs and recordOutputs of its integrations to true, or sendDefaultPii", True)),
    ("opentelemetry.instrumentation.botocore", Capture(f"set {_CAPTURE}=true")),
    ("opentelemetry.instrumentation.vertexai", Capture(f"set {_CAPTURE}=true")),
    ("opentelemetry.instrumentation.google_genai", Capture(_LATEST)),
    ("opentelemetry.instrumentation.genai.", Capture(_LATEST)),
    ("opentelemetry.instrumentation.", Capture(_TRACELOOP)),
    ("traceloop.", Capture(_TRACELOOP)),
    (
        "openinference.instrumentation.",
        Capture(
            "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE variables",
            True,
        ),
    ),
    (
        "@arizeai/openinference",
        Capture("unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS", True),
    ),
    ("pydantic-ai", Capture("set include_content=True of InstrumentationSettings, as it is unless turned off")),
    ("@mastra/", Capture("set hideInput and hideOutput of tracingOptions to false, as they are unless set", True)),
    ("agent_framework", Capture("set ENABLE_SENSITIVE_DATA=true, or enable_sensitive_data=True")),
    ("semantic_kernel", Capture(f"set {_SEMANTIC_KERNEL}=true")),
    ("Microsoft.SemanticKernel", Capture(f"set {_SEMANTIC_KERNEL}=true")),
    ("Experimental.Microsoft.Extensions.AI", Capture(_MICROSOFT)),
    ("Experimental.Microsoft.Agents.AI", Capture(_MICROSOFT)),
    ("openlit.", Capture("set capture_message_content=True of openlit.init, as it is unless turned off")),
    ("langfuse-sdk", Capture("set LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true, as it is unless turned off")),
    ("langsmith", Capture("set LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false", True)),
    ("lmnr", Capture("set LMNR_TRACE_CONTENT=true, as it is unless turned off")),
    (
        "litellm",
        Capture(f"set litellm.turn_off_message_logging=False, and {_CAPTURE}=span_only for its second version"),
    ),
    ("ai.koog", Capture("call setVerbose(true) of the OpenTelemetry feature")),
    ("com.anthropic.claude_code", Capture("set OTEL_LOG_USER_PROMPTS=1 and OTEL_LOG_TOOL_CONTENT=1")),
    ("crewai.telemetry", Capture("set share_crew=True of Crew, or add an instrumentation of the model's client")),
    ("autogen", Capture("it records none: add an instrumentation of the model's client")),
    ("com.anthropic.sdk", Capture("it records none: add an instrumentation of the model's client")),
    ("gen_ai", Capture(_VERCEL.replace("experimental_telemetry", "telemetry"), True)),
)
"""By how the name of a scope begins, the longer before the shorter."""


def capture_of(span: Span, reading: Reading) -> Capture:
    """Tell how content is turned on for the library of a span, in the version that wrote it."""
    scope = span.scope_name
    if scope == "ai":
        return Capture(_VERCEL, True)
    if scope == "gcp.vertex.agent":
        old = _BEFORE_2.match(span.scope_version) is not None
        return Capture("set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true" if old else _LATEST)
    if scope == "opentelemetry.instrumentation.google_genai" and span.scope_version.startswith("0."):
        return Capture(f"set {_CAPTURE}=true")
    found = next((capture for start, capture in _SCOPES if scope.startswith(start)), None)
    if found is not None:
        return found
    return Capture(reading.content_setting) if reading.content_setting is not None else Capture(NAMELESS)
