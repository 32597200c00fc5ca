"""Google's Agent Development Kit, version 1: whole requests and responses under ``gcp.vertex.agent.*``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracescore.dialects.content import NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.decode_tools import first, is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.genai import MERGED
from tracescore.dialects.results import arguments_value, returned_values, span_result
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, first_text, object_at, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

PREFIX = "gcp.vertex.agent."
_AGENT = re.compile(r"agent_run \[(.+)\]")
_CALL = re.compile(r"tool_call \[(.+)\]")
_EVENT = "tool_response ["
"""How version 1.0 names the span of the event that carries a result; the next request repeats it."""
_PLACEHOLDERS = ("", "{}", "null")
_WAITS = "This tool call requires confirmation"
"""What a tool that must be confirmed gives in place of its result."""
_SETTING = "set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"


class GoogleADK:
    """The attributes that ADK writes beside, and in version 1 instead of, the GenAI conventions."""

    marks = frozenset({"gcp"})
    names = ("agent_run [", "call_llm", "invocation", "tool_")
    content_prefixes = tuple(
        f"{PREFIX}{name}" for name in ("llm_request", "llm_response", "tool_call_args", "tool_response", "data")
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the request, the response, a tool's call and the session."""
        attributes = span.attributes
        named = _AGENT.fullmatch(span.name)
        if named is None and not any(key.startswith(PREFIX) for key in attributes):
            return None
        role = _role(span, attributes, is_agent=named is not None)
        request = object_at(attributes, f"{PREFIX}llm_request") if role == "llm" else None
        response = object_at(attributes, f"{PREFIX}llm_response") if role == "llm" else None
        used = tokens_of(first(response, ("usage_metadata", "usageMetadata")) if response is not None else None)
        refused = (
            None if response is None or response.get("content") else first_text(response, ("error_code", "errorCode"))
        )
        called = _CALL.fullmatch(span.name) if role == "tool" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            tool_name=called.group(1) if called is not None else None,
            agent_name=named.group(1) if named is not None else None,
            input=_content(attributes, "llm_request", "user") if role == "llm" else None,
            output=_content(attributes, "llm_response", "assistant") if role == "llm" and refused is None else None,
            tool_arguments=arguments_value(_stated(attributes, "tool_call_args")) if role == "tool" else None,
            tool_result=_returned(_stated(attributes, "tool_response")) if role == "tool" else None,
            model_asked=first_text(request, ("model",)),
            model_answered=first_text(response, ("model_version", "modelVersion")),
            finished=True if response else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            reasoning_tokens=used.reasoning,
            error_type=refused,
            paused=True if role == "tool" and _waits(_stated(attributes, "tool_response")) else None,
            session_id=text_at(attributes, "gen_ai.conversation.id", f"{PREFIX}session_id"),
            user_id=text_at(attributes, "user.id", f"{PREFIX}user_id"),
            content_setting=_SETTING if role == "llm" and "gen_ai.operation.name" not in attributes else None,
        )


def _role(span: Span, attributes: Attributes, *, is_agent: bool) -> SpanRole | None:
    if is_agent:
        return "agent"
    if span.name.startswith(_EVENT) or text_at(attributes, "gen_ai.tool.name") == MERGED:
        return "step"
    if "gen_ai.operation.name" in attributes and span.name != "call_llm":
        return "tool" if text_at(attributes, "gen_ai.operation.name") == "execute_tool" else None
    if span.name == "call_llm" or _stated(attributes, "llm_request") is not None:
        return "llm"
    if _stated(attributes, "tool_call_args") is not None or _stated(attributes, "tool_response") is not None:
        return "tool"
    return "container" if span.name == "invocation" else None


def _stated(attributes: Attributes, name: str) -> JSONValue:
    value = attributes.get(f"{PREFIX}{name}")
    return None if value in _PLACEHOLDERS else value


def _waits(response: JSONValue) -> bool:
    decoded = parse(response).value
    said = decoded.get("error") if is_object(decoded) else None
    return isinstance(said, str) and said.startswith(_WAITS)


def _content(attributes: Attributes, name: str, role: Role) -> Content | None:
    value = _stated(attributes, name)
    return None if value is None else Content(value, role=role, rank=NATIVE, decode=returned_values(said_of)) or None


def _returned(value: JSONValue) -> JSONValue:
    decoded = parse(value).value
    if is_object(decoded) and decoded.keys() <= {"result", "response"} and len(decoded) == 1:
        return next(iter(decoded.values()))
    return span_result(value).value
