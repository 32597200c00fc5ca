"""Logfire's integrations: what a span is, is in its message template; the content in plain attributes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.genai_events import events_listed
from tracescore.dialects.response import previous_id_of
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, first_text, object_at, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, Span

_TEMPLATE = "logfire.msg_template"
_OWN_TAG = "LLM"
"""What the integrations themselves tag each model call with."""
_TEMPLATES: tuple[tuple[str, SpanRole], ...] = (
    ("Agent run", "agent"),
    ("Function:", "tool"),
    ("Handoff:", "handoff"),
    ("Guardrail", "guardrail"),
    ("Chat completion", "llm"),
    ("Chat Completion", "llm"),
    ("Responses API", "llm"),
    ("Completion with", "llm"),
    ("Message with", "llm"),
    ("streaming response from", "llm"),
    ("Embedding", "embedding"),
    ("Turn ", "step"),
    ("Task:", "container"),
    ("OpenAI Agents trace", "container"),
)


class Logfire:
    """The spans of Logfire's integrations with SDKs that write none themselves."""

    marks = frozenset({"logfire"})
    names = ()
    content_prefixes = ("request_data", "response_data", "raw_input", "response", "events", "input", "output")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a span by its template; a pending one only repeats the beginning of the span above it."""
        attributes = span.attributes
        template = text_at(attributes, _TEMPLATE)
        if template is None and "logfire.json_schema" not in attributes:
            return None
        if text_at(attributes, "logfire.span_type") == "pending_span":
            return Reading(role="step", generic=False)
        role = _role(template)
        metadata = object_at(attributes, "metadata")
        given, answered = _messages(attributes, role)
        response = object_at(attributes, "response") if role == "llm" else None
        used = tokens_of(_usage(attributes)) if role == "llm" else tokens_of(None)
        returned = recorded(attributes, "output")
        # Nothing is spelled as JSON spells it, also where a tool failed.
        result = span_result(returned) if role == "tool" and returned != "null" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=text_at(attributes, "name") if role == "agent" else None,
            handoff_to=text_at(attributes, "to_agent") if role == "handoff" else None,
            name=text_at(attributes, "name") if role == "container" else None,
            input=given,
            output=answered,
            tool_name=text_at(attributes, "name") if role == "tool" else None,
            tool_arguments=arguments_value(recorded(attributes, "input")) if role == "tool" else None,
            tool_result=result.value if result is not None else text_at(attributes, "to_agent"),
            tool_error=_error(attributes) if role == "tool" else None,
            response_id=text_at(attributes, "response_id") if role == "llm" else None,
            previous_response_id=previous_id_of(attributes.get("request_data"), response) if role == "llm" else None,
            finished=True if used.output is not None else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
            session_id=text_at(attributes, "group_id") or first_text(metadata, ("session_id", "thread_id")),
            user_id=first_text(metadata, ("user_id", "user")),
            tags=_tags(attributes),
            metadata=metadata,
        )


def _plain(response: JSONValue) -> JSONValue:
    """Take out the text that a streamed answer, or a completion, is beside its counts."""
    decoded = parse(response).value
    found = first_text(decoded, ("combined_chunk_content", "text")) if is_object(decoded) else None
    return response if found is None else {"role": "assistant", "content": found}


def _usage(attributes: Attributes) -> Any:
    if "usage" in attributes:
        return attributes["usage"]
    return (object_at(attributes, "response_data") or {}).get("usage")


def _tags(attributes: Attributes) -> tuple[str, ...] | None:
    given = texts_at(attributes, "logfire.tags") or ()
    return tuple(tag for tag in given if tag != _OWN_TAG) or None


def _error(attributes: Attributes) -> str | None:
    """Give what the SDK says of a tool that failed: the error itself, else that it did."""
    error = object_at(attributes, "error")
    details = error.get("data") if error is not None else None
    return first_text(details if is_object(details) else None, ("error",)) or first_text(error, ("message",))


def _role(template: str | None) -> SpanRole | None:
    for start, role in _TEMPLATES:
        if template is not None and template.startswith(start):
            return role
    return None


def _messages(attributes: Attributes, role: SpanRole | None) -> tuple[Content | None, Content | None]:
    if role != "llm":
        return None, None
    listed = parse(attributes.get("events")).value
    if isinstance(listed, list) and "raw_input" not in attributes:
        return events_listed(listed)
    response = parse(attributes.get("response")).value
    asked: Any = parse(attributes.get("raw_input")).value
    if asked is None:
        asked = attributes.get("input")
    elif is_object(response) and response.get("instructions") and isinstance(asked, list):
        asked = [{"role": "system", "content": response["instructions"]}, *asked]
    elif isinstance(listed, list) and isinstance(asked, str):
        return events_listed(listed)
    if asked is None:
        asked = attributes.get("request_data")
    answered: Any = response if response is not None else recorded(attributes, "output")
    if answered is None:
        answered = _plain(attributes.get("response_data"))
    rank = NATIVE if isinstance(asked, list) else DERIVED
    return (
        Content(asked, role="user", rank=rank) if asked else None,
        Content(answered, role="assistant", rank=DERIVED) if answered else None,
    )
