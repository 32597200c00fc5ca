"""A library that no dialect knows: its attributes are read by how their names end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tracescore.dialects.content import DERIVED, NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.foreign_names import Meaning, meaning_of, role_of
from tracescore.dialects.form import Reading, SpanRole, best
from tracescore.dialects.genai_events import event_messages, events_of
from tracescore.dialects.instructions import instructions
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.spelled import spelled_content
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, count_of, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

_WRAPPERS = frozenset({"message", "message_content", "tool_call", "document"})
"""What some put around the fields of a numbered message, block, call or document."""
_MAX_SEGMENTS = 12
_AROUND_TOOL = re.compile(r"^(?:execut\w*[ _]tool|running tool|tool|function|call)[ .:/_-]+|[ .:](?:tool|run|call)$")
_MESSAGES = 7
"""How many of the names for input and for output are made for messages."""
_EVENT = re.compile(r"(?:.*[._])?(system|user|assistant|tool)[._]message|(?:.*[._])?(choice)")

Found = dict[str, list[tuple[int, str, JSONValue]]]
"""By what they hold: place, name and value of attributes, the most trusted first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreign:
    """The last resort: asked where no dialect knows a span, or what is recorded of it."""

    known: frozenset[str]
    """Namespaces that dialects read whole: what they leave is left."""
    marks: ClassVar[frozenset[str] | None] = None
    names: ClassVar[tuple[str, ...]] = ()
    content_prefixes: ClassVar[tuple[str, ...]] = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read role, messages, tool call, model and usage."""
        found, groups = _sorted_out(_sources(span, logs), self.known)
        if not found and not groups:
            return None
        role = next((role for _, _, value in found.get("kind", ()) if (role := role_of(value))), None)
        events = event_messages(events_of(span, logs, _event_name))
        given = _content(found.get("input", ()), groups.get("input"), "user") or events[0]
        answered = _content(found.get("output", ()), groups.get("output"), "assistant") or events[1]
        answered = _with_calls(answered, found.get("calls", ()), groups.get("calls"))
        model, asked = _text(found, "model_answered"), _text(found, "model_asked")
        used = {name: _count(found, name) for name in _COUNTS}
        usage = tokens_of(_first(found, "usage"))
        tool_name = _text(found, "tool_name")
        arguments, result = _first(found, "arguments"), _first(found, "result")
        if role is None and tool_name is not None and (arguments is not None or result is not None):
            role = "tool"
        if role is None and (model or asked) and (given or answered):
            role = "llm"
        if role is None and (given or answered):
            role = _role_of_name(span.name)
        if role is None and not given and not answered:
            return None
        is_tool, entity = role == "tool", _text(found, "entity")
        if is_tool:
            arguments = arguments if arguments is not None else _first(found, "input")
            result = result if result is not None else _first(found, "output")
        system = _first(found, "system")
        return Reading(
            role=role,
            generic=True,
            unknown=True,
            agent_name=_text(found, "agent_name") or (entity if role == "agent" else None),
            agent_id=_text(found, "agent_id"),
            name=entity if role in ("container", "step") else None,
            input=given,
            output=answered,
            system=instructions(system) if system is not None else None,
            tool_name=tool_name or ((entity or _AROUND_TOOL.sub("", span.name) or None) if is_tool else None),
            tool_call_id=_text(found, "tool_call_id"),
            tool_arguments=arguments_value(arguments) if is_tool else None,
            tool_result=span_result(result).value if is_tool else None,
            query=_text(found, "query") if role == "retrieval" else None,
            documents=_documents(found, groups) if role == "retrieval" else None,
            model_asked=asked,
            model_answered=model,
            provider=_text(found, "provider"),
            response_id=_text(found, "response_id"),
            finished=True if "finish" in found else None,
            input_tokens=_either(used["input_tokens"], usage.input),
            output_tokens=_either(used["output_tokens"], usage.output),
            cache_read_tokens=_either(used["cache_read_tokens"], usage.cache_read),
            cache_write_tokens=_either(used["cache_write_tokens"], usage.cache_write),
            reasoning_tokens=_either(used["reasoning_tokens"], usage.reasoning),
            session_id=_text(found, "session_id"),
            user_id=_text(found, "user_id"),
        )


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
Groups = dict[str, dict[int, dict[str, JSONValue]]]
"""By what they hold: the numbered messages, each with its fields."""


def _sources(span: Span, logs: Sequence[LogRecord]) -> list[Attributes]:
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


def _content(
    candidates: Sequence[tuple[int, str, JSONValue]], group: Mapping[int, dict[str, JSONValue]] | None, role: Role
) -> Content | None:
    contents: list[Content] = []
    if group:
        elements = {number: _joined(fields) for number, fields in group.items()}
        contents.append(Content(role=role, rank=NATIVE, elements=elements))
    for place, _, value in candidates:
        rank = NATIVE if place < _MESSAGES else DERIVED
        content = spelled_content(value, role) or Content(value, role=role, rank=rank)
        if content:
            contents.append(content)
    return best(*contents) if contents else None


def _joined(fields: Mapping[str, JSONValue]) -> Any:
    """Make one object of what is spread over the names of attributes."""
    if "" in fields:
        return fields[""]
    tree: dict[str, Any] = {}
    for key, value in fields.items():
        *above, last = key.split(".")[:_MAX_SEGMENTS]
        node = tree
        for segment in above:
            inner = node.get(segment)
            if not isinstance(inner, dict):
                inner = node[segment] = {}
            node = inner
        node[last] = value
    return _listed(tree)


def _listed(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if len(tree) == 1 and (name := next(iter(tree))) in _WRAPPERS and isinstance(tree[name], dict):
        return _listed(tree[name])
    if all(key.isascii() and key.isdigit() for key in tree):
        return [_listed(tree[key]) for key in sorted(tree, key=int)]
    return {key: _listed(value) for key, value in tree.items()}


def _with_calls(
    answered: Content | None,
    candidates: Sequence[tuple[int, str, JSONValue]],
    group: Mapping[int, dict[str, JSONValue]] | None,
) -> Content | None:
    """Put the calls that stand beside an answer into it."""
    calls = [_joined(fields) for fields in group.values()] if group else None
    for _, _, value in candidates:
        listed = parse(value).value
        calls = calls or (listed if isinstance(listed, list) and listed else None)
    if not calls or (answered is not None and any(said.calls for said in answered.said())):
        return answered
    text = "\n".join(said.text for said in answered.said() if said.text) if answered is not None else ""
    message = {"role": "assistant", "content": text or None, "tool_calls": calls}
    return Content(role="assistant", elements={0: message})


def _documents(found: Found, groups: Groups) -> Any:
    group = groups.get("documents")
    listed = [_joined(fields) for fields in group.values()] if group else _first(found, "documents")
    return documents_of(listed if listed is not None else _first(found, "output"))


def _role_of_name(name: str) -> SpanRole | None:
    """Read the role out of a span's name, where that says no more than what agents are made of."""
    role = role_of(name)
    return role if role in ("agent", "tool", "llm", "retrieval") else None


def _event_name(name: str) -> str | None:
    told = _EVENT.fullmatch(name)
    if told is None:
        return None
    return f"gen_ai.{told.group(1)}.message" if told.group(1) else "gen_ai.choice"


def _first(found: Found, field: str) -> JSONValue:
    listed = found.get(field)
    return listed[0][2] if listed else None


def _text(found: Found, field: str) -> str | None:
    for _, key, value in found.get(field, ()):
        if (text := text_at({key: value}, key)) is not None:
            return text
    return None


def _count(found: Found, field: str) -> int | None:
    counts = (count_of(value) for _, _, value in found.get(field, ()))
    return next((count for count in counts if count is not None), None)


def _either(first: int | None, second: int | None) -> int | None:
    return first if first is not None else second
