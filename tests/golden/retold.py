"""Recorded files as other exporters and programs would have sent them: what was said and done is the same.

Each way takes the spans and the log records of a file, changes them in place, and gives spans.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import orjson

from tests.golden.conformance import runs_in
from tests.otel.requests import any_value
from tracescore.model import AgentRun

Export: TypeAlias = dict[str, Any]
Way: TypeAlias = Callable[[Export], Export]

_LISTS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))
_OTHER_WORDS = {"user": "human", "assistant": "agent", "system": "DEVELOPER", "tool": "Function"}
_OTHER_KEYS = {"tool_calls": "toolCalls", "tool_call_id": "toolCallId", "finish_reason": "finishReason"}


def retold_runs(path: Path, way: Way) -> list[AgentRun]:
    """Assemble a recorded file, sent in another way."""
    with TemporaryDirectory() as folder:
        for file in (path, path.with_name(f"{path.stem}.logs.json")):
            if file.exists():
                Path(folder, file.name).write_bytes(orjson.dumps(way(orjson.loads(file.read_bytes()))))
        return runs_in(Path(folder, path.name))


def _items(export: Export) -> Iterator[dict[str, Any]]:
    for outer, inner, items in _LISTS:
        for resource in export.get(outer, ()):
            for scope in resource.get(inner, ()):
                yield from scope.get(items, ())


def _values(export: Export, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Export:
    for item in _items(export):
        for holder in (item, *(item.get("events") or ())):
            for attribute in holder.get("attributes") or ():
                attribute["value"] = change(attribute["value"])
        if "body" in item:
            item["body"] = change(item["body"])
    return export


def encoded_twice(export: Export) -> Export:
    """Encode JSON text as JSON text once more."""

    def change(value: dict[str, Any]) -> dict[str, Any]:
        text = value.get("stringValue")
        return {"stringValue": orjson.dumps(text).decode()} if isinstance(text, str) and text[:1] in "[{" else value

    return _values(export, change)


def structured(export: Export) -> Export:
    """Send lists and objects of OTLP in the place of JSON text."""

    def change(value: dict[str, Any]) -> dict[str, Any]:
        text = value.get("stringValue")
        try:
            return any_value(orjson.loads(text)) if isinstance(text, str) and text[:1] in ("[", "{") else value
        except ValueError:
            return value

    return _values(export, change)


def layered(export: Export) -> Export:
    """Put a pipeline's word before the names of all attributes of spans."""
    for item in _items(export):
        for attribute in item.get("attributes") or () if "spanId" in item and "name" in item else ():
            attribute["key"] = f"attributes.{attribute['key']}"
    return export


def in_other_words(export: Export) -> Export:
    """Say other words for the roles, and the keys of messages in camel case, in JSON and out of it."""
    text = orjson.dumps(export).decode()
    for quote in ('"', r"\"", r"\\\""):
        for role, other in _OTHER_WORDS.items():
            for gap in ("", " "):
                text = text.replace(f"role{quote}:{gap}{quote}{role}{quote}", f"role{quote}:{gap}{quote}{other}{quote}")
        for key, other in _OTHER_KEYS.items():
            text = text.replace(f"{quote}{key}{quote}:", f"{quote}{other}{quote}:")
    return orjson.loads(text)


def beside_another(export: Export) -> Export:
    """Put a second conversation into the trace, with spans of its own, a little later and under a root of its own."""
    text = orjson.dumps(export).decode()
    for name in sorted({item["spanId"] for item in _items(export) if item.get("spanId")}):
        text = text.replace(name, hashlib.sha256(name.encode()).hexdigest()[:16])
    other = orjson.loads(text.replace("chatcmpl-", "chatcmpl-2-").replace("resp_", "resp_2_"))
    for span in _items(other):
        for key in ("startTimeUnixNano", "endTimeUnixNano"):
            if span.get(key):
                span[key] = str(int(span[key]) + 7)
    for outer, *_ in _LISTS:
        if outer in export:
            export[outer] += other[outer]
    return export
