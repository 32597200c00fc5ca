"""A library that no dialect knows: its attributes are read by how their names end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.foreign_messages import (
    Found,
    Groups,
    content_found,
    event_contents,
    first_value,
    found_documents,
    with_calls,
)
from tracescore.dialects.foreign_names import CONTENT, Meaning, meaning_of, role_of
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.instructions import instructions
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.tokens import Tokens, either, tokens_of
from tracescore.dialects.values import Attributes, count_of, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Span

_AROUND_TOOL = re.compile(r"^(?:execut\w*[ _]tool|running tool|tool|function|call)[ .:/_-]+|[ .:](?:tool|run|call)$")


class Foreign:
    """The last resort: asked where no dialect knows a span, or what is recorded of it.

    ``known`` are the namespaces that dialects read whole: what they leave is left.
    """

    marks: frozenset[str] | None = None
    names = ()
    content_prefixes = ()

    def __init__(self, *, known: frozenset[str]) -> None:
        self.known = known

    def holds_content(self, key: str) -> bool:
        """Tell whether content is read from an attribute of this name."""
        meaning = meaning_of(key)
        return meaning is not None and meaning.field in CONTENT and meaning.start not in self.known

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read role, messages, tool call, model and usage."""
        found, groups = _sorted_out(_sources(span, logs), self.known)
        if not found and not groups:
            return None
        role, sure = _role(found)
        events = event_contents(found, span, logs)
        whole = role not in ("llm", None)
        given = content_found(found.get("input", ()), groups.get("input"), "user", whole=whole) or events[0]
        answered = content_found(found.get("output", ()), groups.get("output"), "assistant", whole=whole) or events[1]
        answered = with_calls(answered, found.get("calls", ()), groups.get("calls"))
        model, asked = _text(found, "model_answered"), _text(found, "model_asked")
        used = {name: _count(found, name) for name in _COUNTS}
        usage = tokens_of(first_value(found, "usage"))
        tool_name = _text(found, "tool_name")
        arguments, result = first_value(found, "arguments"), first_value(found, "result")
        agent_name, agent_id = _text(found, "agent_name"), _text(found, "agent_id")
        replied = _REPLIED & found.keys() or usage != Tokens() or any(count is not None for count in used.values())
        speaks = model or asked or replied or any(side and side.kind == "messages" for side in (given, answered))
        if not sure and ((role == "llm" and not speaks) or (role == "agent" and not (agent_name or given or answered))):
            role = None
        if role is None and (arguments is not None or result is not None) and _names_tool(found):
            role = "tool"
        if role in (None, "container") and (model or asked) and answered and replied:
            role = "llm"
        if role is None and (given or answered):
            role = _role_of_name(span.name)
            role = None if role == "llm" and not speaks else role
        if role is None:
            return None
        if role == "llm" and answered is None and tool_name is not None:
            call = {"id": _text(found, "tool_call_id"), "name": tool_name, "arguments": arguments}
            answered = Content(role="assistant", elements={0: {"role": "assistant", "tool_calls": [call]}})
        is_tool, entity = role == "tool", _text(found, "entity")
        if is_tool:
            arguments = arguments if arguments is not None else first_value(found, "input")
            result = result if result is not None else first_value(found, "output")
        system = first_value(found, "system")
        return Reading(
            role=role,
            generic=True,
            unknown=True,
            agent_name=agent_name or (entity if role == "agent" else None),
            agent_id=agent_id,
            name=entity if role in ("container", "step") else None,
            input=given,
            output=answered,
            system=instructions(system) if system is not None else None,
            tool_name=tool_name or ((entity or _AROUND_TOOL.sub("", span.name) or None) if is_tool else None),
            tool_call_id=_text(found, "tool_call_id"),
            tool_arguments=arguments_value(arguments) if is_tool else None,
            tool_result=span_result(result).value if is_tool else None,
            query=_text(found, "query") if role == "retrieval" else None,
            documents=found_documents(found, groups) if role == "retrieval" else None,
            model_asked=asked,
            model_answered=model,
            provider=_text(found, "provider"),
            response_id=_text(found, "response_id"),
            finished=True if "finish" in found else None,
            input_tokens=either(used["input_tokens"], usage.input),
            output_tokens=either(used["output_tokens"], usage.output),
            cache_read_tokens=either(used["cache_read_tokens"], usage.cache_read),
            cache_write_tokens=either(used["cache_write_tokens"], usage.cache_write),
            reasoning_tokens=either(used["reasoning_tokens"], usage.reasoning),
            session_id=_text(found, "session_id"),
            user_id=_text(found, "user_id"),
        )


_HOLDERS = frozenset({"container", "step"})
_CALLS = ("llm", "chat", "completion")
_DOING = frozenset({"agent", "tool", "llm", "retrieval"})
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_REPLIED = frozenset({"finish", "response_id"})
"""What, beside tokens, only the reply of a model brings: a model, a prompt and an answer may stand on any span."""
_SURE = 3
"""How many of the names for what a span is are of tracing; a "type" or an "operation" may be of any trade."""
_TOOL_NAMES = 2
"""How many of the names for a tool's name have the word in them; a function may be any."""


def _role(found: Found) -> tuple[SpanRole | None, bool]:
    """Read what the span is, and whether that is sure; what it does says more than that it only holds others."""
    holds: SpanRole | None = None
    for place, _, value in found.get("kind", ()):
        role = role_of(value)
        if role is not None and role not in _HOLDERS:
            return role, place < _SURE
        holds = holds or role
    return holds, False


def _names_tool(found: Found) -> bool:
    return "tool_call_id" in found or any(place < _TOOL_NAMES for place, _, _ in found.get("tool_name", ()))


def _sources(span: Span, logs: Sequence[LogRecord]) -> list[Attributes]:
    if not span.events and not logs:
        return [span.attributes]
    bodies = [parse(log.body).value for log in logs]
    return [
        span.attributes,
        *[event.attributes for event in span.events if event.name != "exception"],
        *[log.attributes for log in logs],
        *[body for body in bodies if isinstance(body, dict)],
    ]


def _sorted_out(sources: Sequence[Attributes], known: frozenset[str]) -> tuple[Found, Groups]:
    found: Found = {}
    numbered: dict[tuple[str, int, str], dict[int, dict[str, JSONValue]]] = {}
    for source in sources:
        for key in source:
            meaning = meaning_of(key)
            if meaning is None or meaning.start in known or (value := recorded(source, key)) is None:
                continue
            if meaning.group is None:
                found.setdefault(meaning.field, []).append((meaning.place, key, value))
            else:
                _number(numbered, meaning, value)
    for listed in found.values():
        listed.sort(key=lambda item: item[0])
    groups: Groups = {}
    for (field, _, _), group in sorted(numbered.items(), key=lambda item: item[0]):
        groups.setdefault(field, dict(sorted(group.items())))
    return found, groups


def _number(
    numbered: dict[tuple[str, int, str], dict[int, dict[str, JSONValue]]], meaning: Meaning, value: JSONValue
) -> None:
    group = numbered.setdefault((meaning.field, meaning.place, meaning.group or ""), {})
    group.setdefault(meaning.number, {})[meaning.rest] = value


def _role_of_name(name: str) -> SpanRole | None:
    """Read the role out of a span's name, where that says no more than what agents are made of."""
    role = role_of(re.split(r"[.:/]", name)[-1]) or role_of(name)
    if role == "llm" and not any(word in name.lower() for word in _CALLS):
        return None  # models are trained, and things generated, in other trades as well
    return role if role in _DOING else None


def _text(found: Found, field: str) -> str | None:
    for _, key, value in found.get(field, ()):
        if (text := text_at({key: value}, key)) is not None:
            return text
    return None


def _count(found: Found, field: str) -> int | None:
    counts = (count_of(value) for _, _, value in found.get(field, ()))
    return next((count for count in counts if count is not None), None)
