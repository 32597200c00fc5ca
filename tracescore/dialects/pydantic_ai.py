"""Pydantic AI beside the GenAI conventions: the conversation on the agent's span, and its first versions' names."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.genai_events import events_listed
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import count_at, recorded, text_at
from tracescore.model import LogRecord, Span

_ALL = "pydantic_ai.all_messages"
_OLD_ALL = "all_messages_events"
_FINAL = "final_result"
_EVENTS = "events"
_SETTING = "set include_content=True of InstrumentationSettings, as it is unless turned off"


class PydanticAI:
    """What Pydantic AI writes under names of its own."""

    marks = frozenset({"pydantic_ai", _OLD_ALL, _FINAL, "tool_arguments", "tool_response", _EVENTS})
    names = ()
    content_prefixes = (_ALL, _OLD_ALL, _FINAL, _EVENTS, "tool_arguments", "tool_response")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the conversation, a tool's arguments and result, and the final result."""
        attributes = span.attributes
        is_agent = any(key in attributes for key in (_ALL, _OLD_ALL)) or (
            _FINAL in attributes and "agent_name" in attributes
        )
        is_tool = "tool_arguments" in attributes or "tool_response" in attributes
        listed = parse(attributes.get(_EVENTS)).value if "model_request_parameters" in attributes else None
        old = parse(attributes.get(_OLD_ALL)).value
        if not is_agent and not is_tool and not isinstance(listed, list):
            return None
        role: SpanRole | None = "agent" if is_agent else "tool" if is_tool else "llm"
        given, answered = (None, None)
        if isinstance(listed, list):
            given, answered = events_listed(listed)
        elif isinstance(old, list):
            given, _ = events_listed(old)
        elif (conversation := recorded(attributes, _ALL)) is not None:
            given = Content(conversation, role="user") or None
        final = recorded(attributes, _FINAL)
        result = span_result(recorded(attributes, "tool_response")) if is_tool else None
        return Reading(
            role=role,
            generic=False,
            agent_name=text_at(attributes, "agent_name") if is_agent else None,
            input=given,
            output=answered if final is None else Content(final, role="assistant", rank=DERIVED) or None,
            tool_name=text_at(attributes, "gen_ai.tool.name"),
            tool_arguments=arguments_value(recorded(attributes, "tool_arguments")),
            tool_result=result.value if result is not None else None,
            input_tokens=count_at(attributes, "gen_ai.aggregated_usage.input_tokens"),
            output_tokens=count_at(attributes, "gen_ai.aggregated_usage.output_tokens"),
            content_setting=_SETTING,
        )
