"""Claude Code's traces (beta): one interaction a prompt, with only what is new in each model call."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value
from tracescore.dialects.values import Attributes, count_at, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

PREFIX = "claude_code."
_ROLES: dict[str, SpanRole] = {
    "interaction": "agent",
    "llm_request": "llm",
    "tool": "tool",
    "tool.execution": "step",
    "tool.blocked_on_user": "step",
    "hook": "step",
}
_GIVEN = {"agent": ("user_prompt",), "llm": ("new_context",)}
_ANSWERED = {"llm": ("response.model_output",)}
_SETTING = "set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1"


class ClaudeCode:
    """The spans of Claude Code and of the Claude Agent SDK; input counts leave out what came from a cache."""

    marks = frozenset({"span", "claude_code"})
    names = ("claude_code.",)
    content_prefixes = (
        "user_prompt",
        "new_context",
        "response.model_output",
        "system_prompt_preview",
        "tool_input",
        "full_command",
        "tool.output",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a span by its type or its name."""
        attributes = span.attributes
        stated = text_at(attributes, "span.type") or ""
        kind = stated.removeprefix(PREFIX) if stated else span.name.removeprefix(PREFIX)
        if not span.name.startswith(PREFIX) and not (
            stated.startswith(PREFIX) or span.scope_name.endswith(".claude_code.tracing")
        ):
            return None
        role = _ROLES.get(kind, "step")
        is_call = role == "llm"
        return Reading(
            role=role,
            generic=False,
            agent_name=text_at(attributes, "agent.name", "subagent_type") if role == "agent" else None,
            input=_content(attributes, _GIVEN.get(role, ()), "user"),
            output=_content(attributes, _ANSWERED.get(role, ()), "assistant"),
            tool_name=text_at(attributes, "tool_name") if role == "tool" else None,
            tool_call_id=text_at(attributes, "tool_use_id"),
            tool_arguments=_arguments(attributes) if role == "tool" else None,
            tool_result=_result(span) if role == "tool" else None,
            model_asked=text_at(attributes, "model") if is_call else None,
            model_answered=text_at(attributes, "response.model", "model") if is_call else None,
            provider="anthropic" if is_call else None,
            finished=True if is_call and "stop_reason" in attributes else None,
            input_tokens=count_at(attributes, "input_tokens") if is_call else None,
            output_tokens=count_at(attributes, "output_tokens") if is_call else None,
            cache_read_tokens=count_at(attributes, "cache_read_tokens") if is_call else None,
            cache_write_tokens=count_at(attributes, "cache_creation_tokens") if is_call else None,
            session_id=text_at(attributes, "session.id"),
            user_id=text_at(attributes, "user.id", "user.account_uuid"),
            content_setting=_SETTING,
        )


def _content(attributes: Attributes, keys: Sequence[str], role: Role) -> Content | None:
    for key in keys:
        value = recorded(attributes, key)
        if value is not None:
            return Content(value, role=role, rank=DERIVED) or None
    return None


def _arguments(attributes: Attributes) -> JSONValue:
    given = arguments_value(recorded(attributes, "tool_input"))
    if given is not None:
        return given
    for key, name in (("full_command", "command"), ("file_path", "file_path")):
        if (value := recorded(attributes, key)) is not None:
            return {name: value}
    return None


def _result(span: Span) -> JSONValue:
    for event in span.events:
        if event.name == "tool.output":
            for key in ("output", "content", "diff"):
                value = recorded(event.attributes, key)
                if value is not None:
                    decoded = parse(value).value
                    return value if is_object(decoded) else decoded
    return None
