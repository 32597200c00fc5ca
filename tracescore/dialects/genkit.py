"""Genkit: ``genkit:*``, with the messages of a model as JSON in its input and output."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.response import response_id_of
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.tokens import Tokens, either, tokens_of
from tracescore.dialects.values import Attributes, first_text, object_at, recorded, text_at
from tracescore.model import LogRecord, Span

_INTERRUPTED = "interrupted"
_ROLES: dict[str, SpanRole] = {
    "model": "llm",
    "tool": "tool",
    "tool.v2": "tool",
    "retriever": "retrieval",
    "reranker": "retrieval",
    "embedder": "embedding",
    "evaluator": "evaluator",
    "agent": "agent",
    "flow": "container",
    "prompt": "container",
    "executable-prompt": "container",
}


class Genkit:
    """The spans of Genkit's tracer; a ``generate`` within a ``generate`` only holds calls, it is none."""

    marks = frozenset({"genkit"})
    names = ()
    content_prefixes = ("genkit:input", "genkit:output")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``genkit:``."""
        attributes = span.attributes
        if not any(key.startswith("genkit:") for key in attributes):
            return None
        subtype = text_at(attributes, "genkit:metadata:subtype")
        role = _ROLES.get(subtype, "container") if subtype is not None else "container"
        name = text_at(attributes, "genkit:name")
        answered = object_at(attributes, "genkit:output") if role == "llm" else None
        raw = answered.get("raw") if answered is not None else None
        used = tokens_of(raw.get("usage")) if is_object(raw) else Tokens()
        stated = tokens_of(answered.get("usage")) if answered is not None else Tokens()
        result = span_result(recorded(attributes, "genkit:output")) if role == "tool" else None
        return Reading(
            role=role,
            generic=False,
            agent_name=name if role == "agent" else None,
            name=name if role == "container" else None,
            input=_content(attributes.get("genkit:input"), "user"),
            output=_content(attributes.get("genkit:output"), "assistant"),
            tool_name=name if role == "tool" else None,
            tool_arguments=arguments_value(recorded(attributes, "genkit:input")) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            documents=documents_of(attributes.get("genkit:output")) if role == "retrieval" else None,
            model_asked=name.rpartition("/")[2] if role == "llm" and name is not None else None,
            model_answered=first_text(raw if is_object(raw) else None, ("model", "modelVersion")),
            provider=name.partition("/")[0] if role == "llm" and name is not None and "/" in name else None,
            response_id=response_id_of(raw) if is_object(raw) else None,
            finished=True if answered is not None else None,
            input_tokens=either(stated.input, used.input),
            output_tokens=either(stated.output, used.output),
            cache_read_tokens=either(stated.cache_read, used.cache_read),
            cache_write_tokens=either(stated.cache_write, used.cache_write),
            reasoning_tokens=either(stated.reasoning, used.reasoning),
            paused=True if _waits(attributes) else None,
            session_id=text_at(attributes, "genkit:metadata:sessionId", "genkit:sessionId"),
        )


def _waits(attributes: Attributes) -> bool:
    """Tell a generation that a tool interrupted, to be taken up with what a human says."""
    answered = attributes.get("genkit:output")
    if not isinstance(answered, str) or _INTERRUPTED not in answered:
        return False
    return (object_at(attributes, "genkit:output") or {}).get("finishReason") == _INTERRUPTED


def _content(value: object, role: str) -> Content | None:
    if value is None:
        return None
    return Content(value, role="user" if role == "user" else "assistant", rank=DERIVED) or None
