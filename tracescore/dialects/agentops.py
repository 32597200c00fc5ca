"""AgentOps: what a function is under ``agentops.span.kind``, its arguments and result under names of that kind.

The messages of a model call are numbered as OpenLLMetry numbers them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.called_with import called_with
from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import Attributes, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, Role, Span

_KIND = "agentops.span.kind"
_ROLES: dict[str, SpanRole] = {
    "session": "container",
    "workflow": "container",
    "chain": "container",
    "task": "step",
    "operation": "step",
    "agent": "agent",
    "tool": "tool",
    "llm": "llm",
    "guardrail": "guardrail",
}
_SIDES = ("input", "output")
_KINDS = ("entity", *_ROLES)
_RESULT = "tool.result"
_ASKED = "tool_call."
"""How the span is named that only repeats a call out of a model's reply."""


class AgentOps:
    """The spans of AgentOps' decorators."""

    marks = frozenset({"agentops."})
    names = ()
    content_prefixes = (*(f"agentops.{kind}.{side}" for kind in _KINDS for side in _SIDES), "tool.parameters", _RESULT)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``agentops.``, and of a tool beside it."""
        attributes = span.attributes
        stated = text_at(attributes, _KIND)
        if stated is None:
            return None
        kind = stated.rpartition(".")[2].lower()
        role = _ROLES.get(kind)
        if role == "tool" and span.name.startswith(_ASKED) and _RESULT not in attributes:
            role = "step"
        given, answered = (_recorded(attributes, kind, side) for side in _SIDES)
        name = text_at(attributes, f"{kind}.name", "operation.name", "agentops.entity.name")
        arguments = recorded(attributes, "tool.parameters") if "tool.parameters" in attributes else given
        result = span_result(attributes.get(_RESULT, answered)) if role == "tool" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=name if role == "agent" else None,
            agent_id=text_at(attributes, "agent.id") if role == "agent" else None,
            name=name if role in ("container", "step") else None,
            input=_content(_asked(given), "user") if role != "tool" else None,
            output=_content(answered, "assistant") if role != "tool" else None,
            tool_name=name if role == "tool" else None,
            tool_call_id=text_at(attributes, "tool.call.id") if role == "tool" else None,
            tool_arguments=arguments_value(arguments) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            tags=texts_at(attributes, "agentops.tags"),
        )


def _recorded(attributes: Attributes, kind: str, side: str) -> JSONValue:
    found = recorded(attributes, f"agentops.{kind}.{side}")
    return found if found is not None else recorded(attributes, f"agentops.entity.{side}")


def _asked(given: JSONValue) -> JSONValue:
    """Take what a function was called with out of its arguments: one of them alone is what it was asked."""
    values = called_with(given)
    if values is None:
        return given
    return values[0] if len(values) == 1 else (given if values else None)


def _content(value: JSONValue, role: Role) -> Content | None:
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
