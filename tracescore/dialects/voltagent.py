"""VoltAgent: an agent's root span by ``entity.type``, what is below it by ``span.type``."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.values import count_at, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

_TYPE = "span.type"
_ENTITY = "entity.type"
_ROLES: dict[str, SpanRole] = {
    "agent": "agent",
    "llm": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
    "memory": "memory",
    "guardrail": "guardrail",
    "scorer": "evaluator",
}


class VoltAgent:
    """The spans of a VoltAgent agent; every one of them names the agent."""

    marks = frozenset({"entity"})
    names = ()
    content_prefixes = ("llm.messages", "agent.messages", "agent.instructions", "agent.systemPrompt")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a span by its type."""
        attributes = span.attributes
        entity = text_at(attributes, _ENTITY)
        if entity is None:
            return None
        kind = text_at(attributes, _TYPE)
        role: SpanRole = _ROLES.get(kind, "step") if kind is not None else "agent" if entity == "agent" else "container"
        given, answered = recorded(attributes, "input"), recorded(attributes, "output")
        messages = recorded(attributes, "llm.messages") or recorded(attributes, "agent.messages")
        system = recorded(attributes, "agent.instructions") if role == "agent" else None
        is_tool = role == "tool"
        return Reading(
            role=role,
            generic=False,
            agent_name=text_at(attributes, "subagent.name", "entity.name") if role == "agent" else None,
            agent_id=text_at(attributes, "subagent.id", "entity.id") if role == "agent" else None,
            input=_content(messages if role == "llm" else given, "user"),
            output=_content(answered, "assistant"),
            system=Content(role="system", elements={0: system}) if system is not None else None,
            tool_name=text_at(attributes, "tool.name") if is_tool else None,
            tool_call_id=text_at(attributes, "tool.call.id") if is_tool else None,
            tool_arguments=arguments_value(recorded(attributes, "tool.arguments") or given) if is_tool else None,
            tool_result=span_result(answered).value if is_tool else None,
            documents=documents_of(answered) if role == "retrieval" else None,
            model_asked=text_at(attributes, "llm.model", "ai.model.name"),
            provider=text_at(attributes, "llm.provider"),
            finished=True if "llm.finish_reason" in attributes else None,
            # A model span holds the whole loop and counts its last turn alone: the agent's counts are the sum.
            input_tokens=count_at(attributes, "usage.prompt_tokens"),
            output_tokens=count_at(attributes, "usage.completion_tokens"),
            cache_read_tokens=count_at(attributes, "usage.cached_tokens"),
            reasoning_tokens=count_at(attributes, "usage.reasoning_tokens"),
            session_id=text_at(attributes, "conversation.id"),
        )


def _content(value: JSONValue, role: Role) -> Content | None:
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
