"""Spring AI: ``spring.ai.*`` beside the GenAI names (Spring AI reference, "Observability")."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import Content
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import recorded, text_at
from tracescore.model import LogRecord, Span

_STARTS = ("spring.ai.", "db.vector.query.")
_ROLES: dict[str, SpanRole] = {
    "chat_client": "container",
    "advisor": "step",
    "tool_call": "tool",
    "vector_store": "retrieval",
}
_CALL = "spring.ai.tool.call."
_SETTING = "set spring.ai.chat.observations.log-prompt=true and log-completion=true, and export them as attributes"


class SpringAI:
    """What Spring AI's observations say under names of their own."""

    marks = frozenset({"spring", "db"})
    names = ()
    content_prefixes = (
        "spring.ai.tool.call.arguments",
        "spring.ai.tool.call.result",
        "spring.ai.chat.client.user.text",
        "spring.ai.chat.client.system.text",
        "db.vector.query.content",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read kind, tool call, query and the client's own texts."""
        attributes = span.attributes
        if not any(key.startswith(_STARTS) for key in attributes):
            return None
        role = _ROLES.get((text_at(attributes, "spring.ai.kind") or "").lower())
        if role is None and f"{_CALL}id" in attributes:
            role = "tool"
        system = text_at(attributes, "spring.ai.chat.client.system.text")
        asked = text_at(attributes, "spring.ai.chat.client.user.text")
        result = recorded(attributes, f"{_CALL}result")
        return Reading(
            role=role,
            generic=False if role is not None else None,
            input=Content(asked, role="user", rank=1) if asked is not None else None,
            system=Content(role="system", elements={0: system}) if system is not None else None,
            tool_name=text_at(attributes, "spring.ai.tool.definition.name"),
            tool_call_id=text_at(attributes, f"{_CALL}id"),
            tool_arguments=arguments_value(recorded(attributes, f"{_CALL}arguments")),
            tool_result=span_result(result).value,
            query=text_at(attributes, "db.vector.query.content"),
            content_setting=_SETTING,
        )
