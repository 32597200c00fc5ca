"""What turns the recording of messages on, by the instrumentation that a span's scope names.

From each library's own documentation, and for the versions of the recorded spans from what these hold.
"""

from __future__ import annotations

import re

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
LATEST = f"set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and {_CAPTURE}=span_and_event"
OLD = f"set {_CAPTURE}=true"
UNLESS_OFF = "as it is unless turned off"
OPENLLMETRY = f"set TRACELOOP_TRACE_CONTENT=true, {UNLESS_OFF}"
OPENINFERENCE = "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE variables"
AI_SDK = "set recordInputs and recordOutputs of experimental_telemetry to true, as they are unless turned off"

_BY_SCOPE: tuple[tuple[str, str], ...] = (
    (r"opentelemetry\.instrumentation\.genai\.|opentelemetry\.instrumentation\.google_genai", LATEST),
    (r"opentelemetry\.instrumentation\.(openai_v2|botocore)", OLD),
    (r"openinference\.instrumentation|@arizeai/openinference", OPENINFERENCE),
    (r"pydantic-ai", f"set include_content=True of InstrumentationSettings, {UNLESS_OFF}"),
    (r"(ai|gen_ai)$", AI_SDK),
    (r"agent_framework", "set ENABLE_INSTRUMENTATION=true and ENABLE_SENSITIVE_DATA=true"),
    (
        r"semantic_kernel|Microsoft\.SemanticKernel",
        "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
    ),
    (r"Experimental\.Microsoft\.", "set EnableSensitiveData = true where UseOpenTelemetry is called"),
    (r"openlit", f"{OLD}, {UNLESS_OFF}"),
    (r"langfuse-sdk", f"set LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true, {UNLESS_OFF}"),
    (r"langsmith", "unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS"),
    (r"haystack", "set HAYSTACK_CONTENT_TRACING_ENABLED=true"),
    (r"litellm", f"set litellm.turn_off_message_logging=False, {UNLESS_OFF}"),
    (
        r"com\.anthropic\.claude_code",
        "set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1",
    ),
    (r"@mastra/", "leave hideInput and hideOutput of tracingOptions off, as they are unless turned on"),
    (r"logfire", "leave the messages out of Logfire's scrubbing: they are recorded unless they are scrubbed"),
    (r"strands", "send the log records of the service too: AWS's distribution moves the messages there"),
    (r"autogen-core", "instrument the model's client too: AutoGen's own spans never hold messages"),
    (r"com\.anthropic\.sdk", "add an instrumentation: the SDK's own spans never hold messages"),
)
_FIRST_ADK = re.compile(r"[01]\.")
# Its own versions are 0.40.5 or 0.62.4, those of OpenTelemetry's contributions 0.65b0 or 2.1b0.
_OPENLLMETRY_VERSION = re.compile(r"\d+\.\d+\.\d+$")


def content_setting_of(scope_name: str, scope_version: str) -> str | None:
    """Say what turns content on for an instrumentation of a version; None where its name does not tell."""
    for pattern, setting in _BY_SCOPE:
        if re.match(pattern, scope_name):
            return setting
    if scope_name.startswith("gcp.vertex.agent"):
        return "set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true" if _FIRST_ADK.match(scope_version) else LATEST
    if scope_name.startswith("opentelemetry.instrumentation.") and _OPENLLMETRY_VERSION.match(scope_version):
        return OPENLLMETRY
    return None
