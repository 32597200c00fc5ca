"""Who ran, for whom, and what a sender states about the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracescore.dialects import DialectSet, Reading
from tracescore.dialects.decode_json import parse
from tracescore.model import JSONValue
from tracescore.otel.semconv import ENVIRONMENT_NAMES, OWN_PREFIX, SERVICE_NAME
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.tree import Node

_MAX_VALUE = 2_000
"""Characters of an attribute that a rule may compare; larger ones are content by any name."""
_MAX_STEPS = 4
_CONTEXTS = ("request_context", "additional_context")
_ENVIRONMENT = frozenset(ENVIRONMENT_NAMES)
_TRUTHS = ("ground_truth", "expected_trajectory")


def model_and_provider_of(invocation: Invocation) -> tuple[str | None, str | None]:
    """Give the model that answered in the last own call, else the one that was asked, and its provider."""
    readings = _readings(invocation)
    return (
        next((found for reading in readings if (found := reading.model_answered or reading.model_asked)), None),
        next((found for reading in readings if (found := reading.provider) is not None), None),
    )


def _readings(invocation: Invocation) -> list[Reading]:
    """Give what states a model: the calls, the last first, then the steps around them, or the own spans."""
    if not invocation.calls:
        return [node.reading for node in (invocation.node, *invocation.records)]
    readings = [call.reading for call in reversed(invocation.calls)]
    node = invocation.calls[-1].node
    for _ in range(_MAX_STEPS):
        if node.parent is None:
            break
        node = node.parent
        if node is not invocation.node and (node.reading.model_answered or node.reading.model_asked):
            readings.append(node.reading)
    return readings


def outermost_of(invocation: Invocation) -> Invocation:
    """Give the invocation at the top of the one that called, or handed over."""
    found = invocation
    for above in invocation.above():
        found = above
    return found


def service_of(node: Node) -> str | None:
    """Give the service that the span is from."""
    return _text(node.span.resource.get(SERVICE_NAME))


def environment_of(node: Node) -> str | None:
    """Give the environment that the span is from."""
    for source in (node.span.resource, node.span.attributes):
        if _ENVIRONMENT.isdisjoint(source):
            continue
        for name in ENVIRONMENT_NAMES:
            if name in source and (found := _text(source[name])) is not None:
                return found
    return None


def tags_of(invocation: Invocation) -> tuple[str, ...]:
    """Give the tags of the run's span and of those around it."""
    nodes = (invocation.node, *invocation.records, *invocation.wrappers())
    return tuple(dict.fromkeys([tag for node in nodes for tag in node.reading.tags or ()]))


def metadata_of(*nodes: Node) -> Mapping[str, Any]:
    """Give the metadata that the run's span carries."""
    return next((dict(node.reading.metadata) for node in nodes if node.reading.metadata is not None), {})


def attributes_of(node: Node, dialects: DialectSet) -> dict[str, JSONValue]:
    """Give what rules compare: the span's attributes over its resource's, without content."""
    holds_content = dialects.holds_content
    merged = {**node.span.resource, **node.span.attributes}
    return {key: value for key, value in merged.items() if not holds_content(key) and not _is_large(value)}


def _is_large(value: JSONValue) -> bool:
    if isinstance(value, str):
        return len(value) > _MAX_VALUE
    if isinstance(value, (list, dict)):
        return len(value) > _MAX_VALUE or len(repr(value)) > _MAX_VALUE
    return False


def _text(value: JSONValue) -> str | None:
    return value if isinstance(value, str) and value else None


def sender_fields(invocation: Invocation) -> dict[str, Any]:
    """Collect what attributes under ``tracescore.`` say of the run: of its resource, the spans around it, its own."""
    stated = list(_own_attributes(invocation))
    if not stated:
        return {}
    fields: dict[str, Any] = {}
    contexts: dict[str, dict[str, Any]] = {name: {} for name in _CONTEXTS}
    for key, value in stated:
        head, _, rest = key.partition(".")
        if head in contexts:
            decoded = parse(value).value
            if rest:
                contexts[head][rest] = decoded
            elif isinstance(decoded, dict):
                contexts[head].update(decoded)
        elif head in _TRUTHS and not rest:
            fields[head] = parse(value).value
        elif head in _TRUTHS:
            nested = fields.get(head)
            fields[head] = {**nested, rest: value} if isinstance(nested, dict) else {rest: value}
    return {**{name: found for name, found in contexts.items() if found}, **fields}


def _own_attributes(invocation: Invocation) -> Iterator[tuple[str, JSONValue]]:
    sources = [invocation.node.span.resource]
    sources += [node.span.attributes for node in reversed(list(invocation.wrappers()))]
    nodes = invocation.records if invocation.records == (invocation.node,) else (*invocation.records, invocation.node)
    sources += [node.span.attributes for node in nodes]
    for source in sources:
        own = [key for key in source if key.startswith(OWN_PREFIX)]
        for key in sorted(own) if own else ():
            yield key.removeprefix(OWN_PREFIX), source[key]
