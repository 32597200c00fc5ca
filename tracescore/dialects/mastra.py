"""Mastra: ``mastra.*``, whichever exporter wrote the span; a step's messages are on the step, its usage below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, NATIVE, Content
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.said import Said, ToolResult
from tracescore.dialects.values import object_at, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, Role, Span, TextPart

_TYPE = "mastra.span.type"
_METADATA = "mastra.metadata."
_LEFT_OUT = re.compile(r"\[tool(-result)?: ([^\]]+)\]")
_WAITS = ("tool-call-approval", "tool-call-suspended")
"""Chunks that say that a call waits for a human."""
_SUSPENDED = "suspended"
"""The status that stands in an agent's output meanwhile."""
_ROLES: dict[str, SpanRole] = {
    "agent_run": "agent",
    "model_generation": "step",
    "model_step": "llm",
    "model_inference": "llm",
    "model_chunk": "step",
    "tool_call": "tool",
    "mcp_tool_call": "tool",
    "provider_tool_call": "tool",
    "workflow_run": "container",
    "memory_operation": "memory",
    "rag_embedding": "embedding",
    "rag_vector_operation": "step",
    "processor_run": "guardrail",
    "scorer_run": "evaluator",
    "scorer_step": "evaluator",
}


class Mastra:
    """The spans of Mastra's exporters and of its bridge."""

    marks = frozenset({"mastra"})
    names = ()
    content_prefixes = tuple(
        f"mastra.{name}.{side}"
        for name in ("agent_run", "model_generation", "model_step", "model_chunk", "tool_call", "workflow_run")
        for side in ("input", "output")
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``mastra.``."""
        attributes = span.attributes
        kind = text_at(attributes, _TYPE)
        if kind is None:
            return None
        role = _ROLES.get(kind, "step")
        given, answered = (recorded(attributes, f"mastra.{kind}.{side}") for side in ("input", "output"))
        metadata = {
            key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)
        }
        is_call = role == "tool"
        suspended = (
            role == "agent" and (object_at(attributes, f"mastra.{kind}.output") or {}).get("status") == _SUSPENDED
        )
        return Reading(
            role=role,
            generic=False,
            input=_content(given, "user", kind),
            output=None if suspended else _content(answered, "assistant", kind),
            tool_arguments=arguments_value(given) if is_call and given is not None else None,
            tool_result=span_result(answered).value if is_call and answered is not None else None,
            user_id=text_at(metadata, "userId", "user_id", "resourceId"),
            tags=texts_at(attributes, "mastra.tags"),
            paused=True if suspended or (kind == "model_chunk" and any(word in span.name for word in _WAITS)) else None,
            metadata={key: value for key, value in metadata.items() if key not in ("body", "headers")} or None,
        )


def _content(value: JSONValue, role: Role, kind: str) -> Content | None:
    if value is None:
        return None
    return Content(value, role=role, rank=NATIVE if kind == "model_step" else DERIVED, decode=_said_of) or None


def _said_of(raw: Any, role: Role) -> list[Said]:
    """Read a message; a later step's input names the calls and results of the earlier ones, and leaves them out."""
    return [_elided(said) for said in said_of(raw, role)]


def _elided(said: Said) -> Said:
    if said.role == "tool":
        results = tuple(
            ToolResult(id=result.id, name=result.name or found.group(2), elided=True)
            if isinstance(result.value, str) and (found := _LEFT_OUT.fullmatch(result.value.strip()))
            else result
            for result in said.results
        )
        return said._replace(results=results)
    kept = tuple(
        part for part in said.parts if not (isinstance(part, TextPart) and _LEFT_OUT.fullmatch(part.text.strip()))
    )
    return said if len(kept) == len(said.parts) else said._replace(parts=kept, elided=True)
