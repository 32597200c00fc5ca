"""LiveKit Agents: ``lk.*``; an agent's turn, its model node, and the request below it with an event a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import Attributes, count_at, recorded, text_at
from tracescore.model import LogRecord, Span

PREFIX = "lk."
_TOOL = "lk.function_tool."
_NAMES: dict[str, SpanRole] = {
    "agent_session": "container",
    "agent_turn": "agent",
    "llm_node": "llm",
    "llm_request": "llm",
    "llm_request_run": "step",
    "function_tool": "tool",
}
_REQUEST = "llm_request"


class LiveKit:
    """The spans of a voice agent; what only speaks and listens is a step."""

    marks = frozenset({"lk"})
    names = (_REQUEST,)
    content_prefixes = (
        "lk.chat_ctx",
        "lk.response.",
        "lk.user_input",
        "lk.instructions",
        "lk.function_tool.arguments",
        "lk.function_tool.output",
        "lk.user_transcript",
        "lk.input_text",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a span by its name."""
        attributes = span.attributes
        if span.name not in _NAMES and not any(key.startswith(PREFIX) for key in attributes):
            return None
        role = _NAMES.get(span.name, "step")
        result = span_result(recorded(attributes, f"{_TOOL}output")) if role == "tool" else None
        failed = attributes.get(f"{_TOOL}is_error") is True
        instructions = recorded(attributes, "lk.instructions")
        return Reading(
            role=role,
            generic=False,
            agent_name=text_at(attributes, "lk.agent_name") if role == "agent" else None,
            input=_given(attributes, role),
            output=_answered(attributes) if role in ("agent", "llm") else None,
            system=Content(role="system", elements={0: instructions}) if instructions is not None else None,
            tool_name=text_at(attributes, f"{_TOOL}name"),
            tool_call_id=text_at(attributes, f"{_TOOL}id"),
            tool_arguments=arguments_value(recorded(attributes, f"{_TOOL}arguments")),
            tool_result=result.value if result is not None and not failed else None,
            tool_error=str(result.value) if result is not None and failed else None,
            cache_read_tokens=count_at(attributes, "gen_ai.usage.input_cached_tokens"),
        )


def _given(attributes: Attributes, role: SpanRole) -> Content | None:
    if role == "agent":
        asked = recorded(attributes, "lk.user_input")
        return Content(asked, role="user", plain=True) if asked is not None else None
    context = parse(recorded(attributes, "lk.chat_ctx")).value
    items = context.get("items") if isinstance(context, dict) else None
    return Content(items, role="user") if isinstance(items, list) and items else None


def _answered(attributes: Attributes) -> Content | None:
    """Make one message of the text and the calls that a node answered with."""
    blocks: list[Any] = []
    if text := recorded(attributes, "lk.response.text"):
        blocks.append({"type": "text", "text": text})
    calls = parse(recorded(attributes, "lk.response.function_calls")).value
    if isinstance(calls, list):
        blocks += [{**call, "id": call.get("call_id"), "type": "tool_call"} for call in calls if isinstance(call, dict)]
    message = {"role": "assistant", "content": blocks}
    return Content(role="assistant", rank=DERIVED, elements={0: message}) if blocks else None
