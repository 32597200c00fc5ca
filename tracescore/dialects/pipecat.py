"""Pipecat: GenAI names beside plain ``input`` and ``output``, and function calls under ``tool.*``."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.form import Reading
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import recorded, text_at
from tracescore.model import LogRecord, Role, Span

_FUNCTION = "tool.function_name"
_CHAT = "chat"


class Pipecat:
    """The services of a Pipecat pipeline, and hand-made model calls with a plain input and output."""

    marks = frozenset({"tool", "input", "output"})
    names = ()
    content_prefixes = ("tool.arguments", "tool.result")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a function call, or the messages of a model call."""
        attributes = span.attributes
        if _FUNCTION in attributes:
            failed = text_at(attributes, "tool.result_status") == "error"
            result = span_result(recorded(attributes, "tool.result")).value
            return Reading(
                role="tool",
                generic=False,
                tool_name=text_at(attributes, _FUNCTION),
                tool_call_id=text_at(attributes, "tool.call_id"),
                tool_arguments=arguments_value(recorded(attributes, "tool.arguments")),
                tool_result=None if failed else result,
                tool_error=str(result) if failed else None,
            )
        if attributes.get("gen_ai.operation.name") != _CHAT:
            return None
        return Reading(input=_content(span, "input", "user"), output=_content(span, "output", "assistant"))


def _content(span: Span, key: str, role: Role) -> Content | None:
    value = recorded(span.attributes, key)
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
