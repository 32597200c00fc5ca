"""Laminar: ``lmnr.*``; the messages of a model call are in the GenAI attributes, in the provider's own shape."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import Attributes, recorded, text_at, texts_at
from tracescore.model import LogRecord, Role, Span

PREFIX = "lmnr."
_PROPERTIES = "lmnr.association.properties."
_METADATA = f"{_PROPERTIES}metadata."
_ROLES: dict[str, SpanRole] = {
    "LLM": "llm",
    "CACHED": "llm",
    "TOOL": "tool",
    "EVALUATOR": "evaluator",
    "HUMAN_EVALUATOR": "evaluator",
    "EXECUTOR": "container",
    "EVALUATION": "container",
}


class Laminar:
    """The spans of Laminar's SDK."""

    marks = frozenset({"lmnr"})
    names = ()
    content_prefixes = ("lmnr.span.input", "lmnr.span.output")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``lmnr.``."""
        attributes = span.attributes
        if not any(key.startswith(PREFIX) for key in attributes):
            return None
        role = _ROLES.get((text_at(attributes, "lmnr.span.type") or "").upper())
        metadata = {
            key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)
        }
        result = span_result(recorded(attributes, "lmnr.span.output")) if role == "tool" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            input=_content(attributes, "lmnr.span.input", "user"),
            output=_content(attributes, "lmnr.span.output", "assistant"),
            tool_name=span.name if role == "tool" else None,
            tool_call_id=result.call_id if result is not None else None,
            tool_arguments=arguments_value(recorded(attributes, "lmnr.span.input")) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            tags=texts_at(attributes, f"{_PROPERTIES}tags"),
            metadata=metadata or None,
        )


def _content(attributes: Attributes, key: str, role: Role) -> Content | None:
    value = recorded(attributes, key)
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
