"""What OpenInference records of tools and retrievals."""

from __future__ import annotations

from typing import Any, NamedTuple

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import arguments_of, is_object, result_value
from tracescore.dialects.flattened import Group
from tracescore.dialects.results import arguments_value, document_of
from tracescore.dialects.values import Attributes, object_at, recorded, text_at
from tracescore.model import JSONValue, RetrievedDocument, Span

RETRIEVED = "retrieval.documents."
RERANKED = "reranker.output_documents."
TELLING_EVENTS = frozenset({("llm", "start"), ("tool", "success")})
"""Of a library that makes a span for each event: those that hold what went into a call, and what came out of a tool.

What a model answered stands in the next call's input and on the agent; the event has its last fragments only.
"""


class Event(NamedTuple):
    """What happened, and to what: ``update`` of ``agent.react``."""

    name: str
    source: str


def handoff_target(span: Span, attributes: Attributes) -> str | None:
    """Tell the span that hands over from a tool: it has a target and no tool's name, or says from whom to whom."""
    if not span.name.lower().startswith(("handoff", "hand off", "transfer to ")):
        return None
    told = object_at(attributes, "output.value") or {}
    if "to_agent" in told and "from_agent" in (object_at(attributes, "input.value") or {}):
        return text_at(told, "to_agent")
    if "tool.name" in attributes:
        return None
    return text_at(attributes, "output.value") or span.name.rpartition(" ")[2] or None


def call_arguments(attributes: Attributes) -> JSONValue:
    """Read the arguments of a call: from the input, else from where a few libraries put them and most the schema."""
    given = arguments_value(recorded(attributes, "input.value"), names=_parameters(attributes))
    if is_object(given):
        if given.keys() == {"input", "options"} and is_object(inner := given["input"]):
            given = inner
        return {key: value for key, value in given.items() if not _is_context(value)}
    stated = arguments_of(attributes.get("tool.parameters"))
    if is_object(stated) and not ("properties" in stated and "type" in stated):
        return stated
    return None


def _parameters(attributes: Attributes) -> tuple[str, ...]:
    """Name a tool's parameters in order, out of its schema: JSON Schema, or one object for each."""
    schema = arguments_of(attributes.get("tool.parameters"))
    if not is_object(schema):
        return ()
    described = schema["properties"] if is_object(schema.get("properties")) else schema
    return tuple(described) if all(is_object(one) for one in described.values()) else ()


def completed(group: Group, raw: JSONValue) -> Group:
    """Add what the raw request says and the numbered messages leave out: ids of results, and whole texts."""
    return _with_texts(_with_call_ids(group, raw), raw)


def _with_texts(group: Group, raw: JSONValue) -> Group:
    """Give messages that state no more than a role the text that they have in a list of the same messages."""
    mute = [place for place, fields in group.items() if len(fields) == 1 and "message.role" in fields]
    if not mute or not isinstance(raw, str) or not raw.startswith("[{"):
        return group
    items = parse(raw).value
    # The instructions stand first among the numbered ones, and not in the list.
    before = len(group) - len(items) if isinstance(items, list) else -1
    if before not in (0, 1) or not isinstance(items, list):
        return group
    whole = dict(group)
    for place in mute:
        item = items[place - before] if before <= place < len(group) else None
        if is_object(item) and item.get("role") == group[place]["message.role"]:
            text, _ = result_value(item.get("content"))
            whole[place] = {**group[place], "message.content": text} if isinstance(text, str) else group[place]
    return whole


def _with_call_ids(group: Group, raw: JSONValue) -> Group:
    bare = [
        place
        for place, fields in group.items()
        if fields.get("message.role") == "tool" and "message.tool_call_id" not in fields
    ]
    if not bare or not isinstance(raw, str) or '"tool_call_id"' not in raw:
        return group
    request = parse(raw).value
    messages = request.get("messages") if is_object(request) else request
    told = (
        [one for one in messages if is_object(one) and one.get("role") == "tool"] if isinstance(messages, list) else []
    )
    if len(told) != len(bare):
        return group
    ids = dict(zip(bare, (one.get("tool_call_id") for one in told), strict=True))
    return {
        place: {**fields, "message.tool_call_id": ids[place]} if place in ids else fields
        for place, fields in group.items()
    }


def _is_context(value: Any) -> bool:
    """Tell the text of a Python object that a framework passes beside the arguments."""
    return isinstance(value, str) and value.startswith("<") and " object at 0x" in value


def numbered_documents(groups: dict[str, Group]) -> tuple[RetrievedDocument, ...] | None:
    """Read documents out of numbered attributes; of a reranker, what it gave."""
    group = groups.get(RERANKED) or groups.get(RETRIEVED)
    if group is None:
        return None
    found = [
        document_of({key.removeprefix("document."): value for key, value in fields.items()})
        for fields in group.values()
    ]
    return tuple(document for document in found if document is not None)


def event_of(span: Span) -> Event | None:
    """Tell the event for which BeeAI makes a span of its own: ``agent.react.update-12``."""
    target, name = span.attributes.get("target"), span.attributes.get("name")
    if not isinstance(target, str) or not isinstance(name, str) or not span.name.startswith(target):
        return None
    return Event(name, target.removesuffix(f".{name}")) if target.endswith(f".{name}") else None


def tool_of_event(span: Span) -> str | None:
    """Give the tool whose event a span is."""
    happened = event_of(span)
    return happened.source.rpartition(".")[2] or None if happened is not None else None
