"""Langfuse's own SDK, from version 3: ``langfuse.observation.*`` (Langfuse documentation, "OpenTelemetry")."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.called_with import called_with
from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.graph_node import role_in_graph
from tracescore.dialects.response import response_id_of
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.spelled import spelled_content
from tracescore.dialects.tokens import Tokens, tokens_of
from tracescore.dialects.values import Attributes, number_of, object_at, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, Role, Span

PREFIX = "langfuse."
_OBSERVATION = "langfuse.observation."
_METADATA = ("langfuse.observation.metadata.", "langfuse.trace.metadata.")
"""Of the observation itself, and of the trace: that is on every one of its spans."""
_ROLES: dict[str, SpanRole] = {
    "agent": "agent",
    "generation": "llm",
    "tool": "tool",
    "chain": "container",
    "retriever": "retrieval",
    "embedding": "embedding",
    "evaluator": "evaluator",
    "guardrail": "guardrail",
}


class Langfuse:
    """The observations of Langfuse's SDK, and of those who write its attributes by hand."""

    marks = frozenset({"langfuse"})
    names = ()
    content_prefixes = (
        "langfuse.observation.input",
        "langfuse.observation.output",
        "langfuse.trace.input",
        "langfuse.trace.output",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``langfuse.``."""
        attributes = span.attributes
        if not any(key.startswith(PREFIX) for key in attributes):
            return None
        model = text_at(attributes, f"{_OBSERVATION}model.name")
        kind = (text_at(attributes, f"{_OBSERVATION}type") or "").lower()
        own, whole = (_metadata(attributes, prefix) for prefix in _METADATA)
        metadata = {**own, **whole}
        role = _ROLES.get(kind) or ("llm" if model is not None else None)
        if role == "agent":
            role = role_in_graph(span.name, own)
        given, answered = (recorded(attributes, f"{_OBSERVATION}{side}") for side in ("input", "output"))
        result = span_result(answered) if role == "tool" else None
        used = tokens_of(attributes.get(f"{_OBSERVATION}usage_details")) if role == "llm" else Tokens()
        cost = object_at(attributes, f"{_OBSERVATION}cost_details") or {}
        failed = text_at(attributes, f"{_OBSERVATION}level") == "ERROR"
        message = text_at(attributes, f"{_OBSERVATION}status_message")
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=text_at(own, "lc_agent_name") or (span.name if role == "agent" else None),
            name=span.name if role == "container" else None,
            input=_content(_asked(given), "user", spelled=role == "llm"),
            output=_content(answered, "assistant"),
            tool_name=span.name if role == "tool" else None,
            tool_call_id=result.call_id if result is not None else None,
            tool_arguments=_arguments(given) if role == "tool" else None,
            tool_result=None if failed or result is None else result.value,
            tool_error=message if failed and role == "tool" else None,
            documents=documents_of(answered) if role == "retrieval" else None,
            model_answered=model,
            provider=text_at(metadata, "ls_provider") if role == "llm" else None,
            response_id=response_id_of(answered) if role == "llm" else None,
            finished=True if role == "llm" and answered is not None else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
            cost=_total(cost),
            session_id=text_at(attributes, "session.id", "langfuse.session.id")
            or text_at(metadata, "langfuse_session_id", "session_id", "thread_id"),
            user_id=text_at(attributes, "user.id", "langfuse.user.id")
            or text_at(metadata, "langfuse_user_id", "user_id"),
            tags=texts_at(attributes, "langfuse.trace.tags", "langfuse.tags"),
            metadata=metadata or None,
            error_type=message if failed else None,
        )


def _total(cost: dict[str, JSONValue]) -> float | None:
    """Give the whole cost; where only its parts are stated, their sum."""
    if "total" in cost:
        return number_of(cost["total"])
    parts = [part for value in cost.values() if (part := number_of(value)) is not None]
    return sum(parts) if parts else None


def _metadata(attributes: Attributes, prefix: str) -> dict[str, JSONValue]:
    found: dict[str, JSONValue] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            parsed = parse(value).value if isinstance(value, str) else value
            found[key.removeprefix(prefix)] = parsed if parsed is not None else value
    return found


def _asked(value: JSONValue) -> JSONValue:
    """Take what a decorated function was called with for its input, where that is one value."""
    values = called_with(value)
    return values[0] if values is not None and len(values) == 1 else value


def _arguments(value: JSONValue) -> JSONValue:
    only = _asked(value)
    return only if is_object(only) else arguments_value(value)


def _content(value: JSONValue, role: Role, *, spelled: bool = False) -> Content | None:
    if value is None:
        return None
    turns = spelled_content(value, role) if spelled else None
    return turns or Content(value, role=role, rank=DERIVED) or None
