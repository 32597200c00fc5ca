"""Content that the GenAI conventions put into events: log records and span events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.spelled import spelled_content
from tracescore.dialects.values import Attributes, count_at
from tracescore.model import LogRecord, Role, Span

_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.developer.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_SAYING = frozenset({"role", "content", "parts", "tool_calls", "toolCalls", "text", "reasoning_content", "refusal"})
_SAID = ("content", "tool_calls", "toolCalls", "name", "id", "finish_reason", "finishReason")
"""What of an event is part of the message."""
_BODY = "gen_ai.event.content"
"""Where span events keep, as JSON, what a log record's body holds."""
_WHOLE = ("gen_ai.client.inference.operation.details", "gen_ai.content.prompt", "gen_ai.content.completion")
_SAME = {name: name for name in (*_ROLES, _CHOICE, *_WHOLE)}


class Event(NamedTuple):
    """One event of a span, whichever way it came."""

    name: str
    time_ns: int
    number: int
    """Where the sender numbered its events; else 0."""
    attributes: Attributes
    body: Any

    @property
    def content(self) -> Any:
        """Give what the event says, as its body or its attributes hold it."""
        source = self.body if is_object(self.body) else self.attributes
        for key in ("content", "message"):
            if source.get(key) is not None:
                return source[key]
        return self.body if isinstance(self.body, str) else None


def events_of(span: Span, logs: Sequence[LogRecord], named: Callable[[str], str | None] = _SAME.get) -> list[Event]:
    """Give the events that hold content, in the order in which they happened; ``named`` tells them by their names."""
    if not span.events and not logs:
        return []
    events = [
        _event(name, event.time_ns, event.attributes, None)
        for event in span.events
        if (name := named(event.name)) is not None
    ]
    for log in logs:
        stated = log.event_name or log.attributes.get("event.name")
        if isinstance(stated, str) and (name := named(stated)) is not None:
            events.append(_event(name, log.time_ns, log.attributes, parse(log.body).value))
    if len(events) < 2:
        return events
    events.sort(key=_place)
    return [event for place, event in enumerate(events) if place == 0 or event != events[place - 1]]


def _place(event: Event) -> tuple[bool, int, int, bytes]:
    """Order events the same way whichever came first; a choice ends a call, so it comes last."""
    content = orjson.dumps([event.body, dict(event.attributes)], default=repr)
    return event.name == _CHOICE, event.time_ns, event.number, content


def _event(name: str, time_ns: int, attributes: Attributes, body: Any) -> Event:
    if body is None and _BODY in attributes:
        body = parse(attributes[_BODY]).value
    if name in _WHOLE and is_object(body):
        attributes = {**attributes, **body}
    index = count_at(attributes, "gen_ai.message.index", "CHAT_MESSAGE_INDEX")
    return Event(name, time_ns, index or 0, attributes, body)


def event_messages(events: Sequence[Event]) -> tuple[Content | None, Content | None]:
    """Read one event a message: what was said to a model, and what it chose."""
    given: list[dict[str, Any]] = []
    chosen: list[dict[str, Any]] = []
    for event in events:
        role = _ROLES.get(event.name)
        if role is not None:
            given.append(_message(event, role))
        elif event.name == _CHOICE:
            chosen.append(_message(event, "assistant"))
        elif event.name == "gen_ai.content.prompt":
            completion = next((one for one in events if one.name == "gen_ai.content.completion"), event)
            return _whole(event, "gen_ai.prompt"), _whole(completion, "gen_ai.completion")
    return (
        Content(role="user", elements=dict(enumerate(given))) if given else None,
        Content(role="assistant", elements=dict(enumerate(chosen[:1]))) if chosen else None,
    )


def events_listed(listed: list[Any]) -> tuple[Content | None, Content | None]:
    """Read one event a message out of a list of them, as a few libraries keep it in one attribute."""
    events = [
        Event(str(item.get("event.name", "")), 0, place, item, item)
        for place, item in enumerate(listed)
        if is_object(item)
    ]
    return event_messages(events)


def _whole(event: Event, key: str) -> Content | None:
    value = event.attributes.get(key)
    role: Role = "user" if key == "gen_ai.prompt" else "assistant"
    return spelled_content(value, role) or Content(value, role=role) if value else None


def _message(event: Event, role: str) -> dict[str, Any]:
    """Make an event a chat message; several emitters keep tool calls beside the message instead of inside."""
    source: dict[str, Any] = dict(event.body) if is_object(event.body) else dict(event.attributes)
    if isinstance(event.body, str):
        source["content"] = event.body
    inner = parse(source.get("message")).value
    if is_object(inner) and role == "assistant" and inner.keys().isdisjoint(_SAYING):
        # The answer is an object, and no message around one.
        source["content"] = [{"type": "data", "data": inner}]
    elif is_object(inner):
        source = {**source, **inner}
    elif inner is not None:
        source["content"] = inner
    content = source.get("content")
    if isinstance(content, str) and content[:2] in ("[{", '"['):
        source["content"] = parse(content).value
    named = source.get("role")
    return {
        "role": role if role != "assistant" or not isinstance(named, str) else named,
        **{key: source[key] for key in _SAID if key in source},
    }
