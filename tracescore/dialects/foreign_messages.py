"""Messages, calls and documents under names that no dialect knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tracescore.dialects.content import DERIVED, NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.form import best
from tracescore.dialects.genai_events import event_messages, events_listed, events_of
from tracescore.dialects.results import documents_of
from tracescore.dialects.spelled import spelled_content
from tracescore.model import JSONValue, LogRecord, RetrievedDocument, Role, Span

Found: TypeAlias = dict[str, list[tuple[int, str, JSONValue]]]
"""By what they hold: place, name and value of attributes, the most trusted first."""
Groups: TypeAlias = dict[str, dict[int, dict[str, JSONValue]]]
"""By what they hold: the numbered messages, each with its fields."""
_WRAPPERS = frozenset({"message", "message_content", "tool_call", "document"})
"""What some put around the fields of a numbered message, block, call or document."""
_MAX_SEGMENTS = 12
_MESSAGES = 7
"""How many of the names for input and for output are made for messages."""
_EVENT = re.compile(r"(?:.*[._])?(system|user|assistant|tool)[._]message|(?:.*[._])?(choice)")


def event_contents(found: Found, span: Span, logs: Sequence[LogRecord]) -> tuple[Content | None, Content | None]:
    """Read one event a message; the names of its fields may stand in the library's namespace."""
    for _, _, value in found.get("events", ()):
        listed = parse(value).value
        if isinstance(listed, list):
            return events_listed(listed)
    events = events_of(span, logs, _event_name)
    bare = [{key.rpartition(".")[2]: value for key, value in event.attributes.items()} for event in events]
    return event_messages([event._replace(attributes=fields) for event, fields in zip(events, bare, strict=True)])


def _event_name(name: str) -> str | None:
    told = _EVENT.fullmatch(name)
    if told is None:
        return None
    return f"gen_ai.{told.group(1)}.message" if told.group(1) else "gen_ai.choice"


def content_found(
    candidates: Sequence[tuple[int, str, JSONValue]],
    group: Mapping[int, dict[str, JSONValue]] | None,
    role: Role,
    *,
    whole: bool,
) -> Content | None:
    """Choose among what is recorded; of what is no model call, numbered messages may be only some of them."""
    contents: list[Content] = []
    if group:
        elements = {number: _joined(fields) for number, fields in group.items()}
        contents.append(Content(role=role, rank=DERIVED - 1 if whole else NATIVE, elements=elements))
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


def with_calls(
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


def found_documents(found: Found, groups: Groups) -> tuple[RetrievedDocument, ...] | None:
    """Read retrieved documents, numbered, in a list of their own, or as what the span gave."""
    group = groups.get("documents")
    listed = [_joined(fields) for fields in group.values()] if group else first_value(found, "documents")
    return documents_of(listed if listed is not None else first_value(found, "output"))


def first_value(found: Found, field: str) -> JSONValue:
    """Give the most trusted value of a kind."""
    listed = found.get(field)
    return listed[0][2] if listed else None
