"""Gemini CLI: operations of its own under GenAI's names, a tool's request and response as its scheduler keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object, unwrapped_response
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import span_result
from tracescore.dialects.values import recorded, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

_ROLES: dict[str, SpanRole] = {
    "user_prompt": "agent",
    "system_prompt": "agent",
    "agent_call": "agent",
    "llm_call": "llm",
    "tool_call": "tool",
    "schedule_tool_calls": "step",
}
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SETTING = "set telemetry.traces and telemetry.logPrompts to true in settings.json"


class GeminiCLI:
    """The spans of Gemini CLI; the records that it logs carry no span."""

    marks: frozenset[str] | None = frozenset()
    names = tuple(_ROLES)
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read a span by its operation."""
        attributes = span.attributes
        role = _ROLES.get(span.name)
        if role is None or text_at(attributes, "gen_ai.operation.name") != span.name:
            return None
        given = parse(recorded(attributes, _INPUT)).value
        answered = parse(recorded(attributes, _OUTPUT)).value
        if role == "tool":
            call = given if is_object(given) else {}
            result, failed = _result(answered)
            return Reading(
                role="tool",
                generic=False,
                tool_arguments=call.get("args"),
                tool_result=None if failed else result,
                tool_error=str(result) if failed else None,
                content_setting=_SETTING,
            )
        return Reading(
            role=role,
            generic=False,
            input=_content(given, "user"),
            output=_content(_joined(answered), "assistant"),
            provider="gcp.gemini" if role == "llm" else None,
            content_setting=_SETTING,
        )


def _content(value: Any, role: Role) -> Content | None:
    # Said before the conventions' dialect reads the same attributes, which hold none of its messages here.
    return None if value is None else Content(value, role=role, rank=NATIVE + 1) or None


def _joined(value: Any) -> Any:
    """Make one message of the pieces in which an answer was streamed, and text of what a sub-agent returned."""
    if is_object(value) and "llmContent" in value:
        return span_result(value["llmContent"]).value
    if not isinstance(value, list) or not all(is_object(piece) and "parts" in piece for piece in value):
        return value
    parts: list[Any] = []
    for part in (part for piece in value for part in piece["parts"] or ()):
        last = parts[-1] if parts else None
        if is_object(part) and is_object(last) and _is_text(part) and _is_text(last):
            same = part.get("thought") == last.get("thought")
            if same:
                parts[-1] = {**last, "text": last["text"] + part["text"]}
                continue
        parts.append(part)
    return {"role": "model", "parts": parts}


def _is_text(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _result(completed: Any) -> tuple[JSONValue, bool]:
    """Read what the model is given of a completed call, and whether it failed."""
    if not is_object(completed) or not is_object(response := completed.get("response")):
        return None, False
    failed = completed.get("status") in ("error", "cancelled")
    for part in response.get("responseParts") or ():
        if is_object(part) and is_object(function := part.get("functionResponse")):
            given = function.get("response")
            if failed and is_object(given) and "error" in given:
                return given["error"], True
            return unwrapped_response(given), failed
    return response.get("resultDisplay"), failed
