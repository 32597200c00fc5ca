"""Haystack's own tracing: pipelines, components and agent steps under ``haystack.*``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, first_text, object_at, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

PREFIX = "haystack."
_NAMED: dict[str, tuple[SpanRole, str]] = {
    "haystack.pipeline.run": ("container", "haystack.pipeline"),
    "haystack.async_pipeline.run": ("container", "haystack.pipeline"),
    "haystack.agent.run": ("agent", "haystack.agent"),
    "haystack.agent.step": ("step", "haystack.agent.step"),
    "haystack.agent.step.llm": ("llm", "haystack.agent.step.llm"),
    "haystack.agent.step.tool": ("tool", "haystack.agent.step.tool"),
}
_COMPONENTS: tuple[tuple[str, SpanRole], ...] = (
    ("Generator", "llm"),
    ("Retriever", "retrieval"),
    ("Ranker", "retrieval"),
    ("Embedder", "embedding"),
)
_SETTING = "set HAYSTACK_CONTENT_TRACING_ENABLED=true"


class Haystack:
    """The spans that Haystack writes itself; what each is, is in its name or in its component's type."""

    marks = frozenset({"haystack"})
    names = ("haystack.",)
    content_prefixes = (
        "haystack.pipeline.input_data",
        "haystack.pipeline.output_data",
        "haystack.component.input",
        "haystack.component.output",
        "haystack.agent.input",
        "haystack.agent.output",
        "haystack.agent.step.llm.",
        "haystack.agent.step.tool.",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``haystack.``."""
        attributes = span.attributes
        if not span.name.startswith(PREFIX) and not any(key.startswith(PREFIX) for key in attributes):
            return None
        role, place = _NAMED.get(span.name) or (_component(attributes), "haystack.component")
        given, answered = (
            recorded(attributes, f"{place}.{side}{'_data' if place == 'haystack.pipeline' else ''}")
            for side in ("input", "output")
        )
        reply = _reply(attributes, f"{place}.output") if role == "llm" else {}
        used = tokens_of(reply.get("usage"))
        result = span_result(answered) if role == "tool" else None
        request = object_at(attributes, f"{place}.input") if role == "retrieval" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=text_at(attributes, "haystack.component.name") if role == "agent" else None,
            name=text_at(attributes, "haystack.component.name") if role == "container" else None,
            input=_content(given, "user"),
            output=_content(answered, "assistant"),
            tool_name=text_at(attributes, "haystack.tool.name"),
            tool_arguments=arguments_value(given) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            query=first_text(request, ("query",)),
            documents=documents_of(answered) if role == "retrieval" else None,
            model_answered=first_text(reply, ("model",)),
            finished=True if reply else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
            content_setting=_SETTING,
        )


def _component(attributes: Attributes) -> SpanRole | None:
    kind = text_at(attributes, "haystack.component.type")
    if kind is None:
        return None
    if kind == "Agent":
        # The span inside it is the same invocation, without the name that the pipeline gives it.
        return "agent"
    for end, role in _COMPONENTS:
        if kind.endswith(end):
            return role
    return "container"


def _reply(attributes: Attributes, key: str) -> dict[str, Any]:
    """Give what Haystack notes beside the first reply: model, usage and how it finished."""
    answered = object_at(attributes, key) or {}
    replies = answered.get("replies")
    first = replies[0] if isinstance(replies, list) and replies else None
    meta = first.get("meta") if is_object(first) else answered.get("meta")
    if isinstance(meta, list):
        meta = meta[0] if meta else None
    return meta if is_object(meta) else {}


def _content(value: JSONValue, role: Role) -> Content | None:
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
