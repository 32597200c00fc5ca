"""Twenty disguises of recorded files: what a dialect must not lean on is changed, and what was said is kept.

`python -m tests.golden.mutants` writes them to `mutants/`, the same bytes every time.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from tests.golden.conformance import FOLDERS

FOLDER = Path(__file__).parent / "mutants"
Export: TypeAlias = dict[str, Any]

WORDS: dict[str, dict[str, str]] = {
    "german": {
        "You are WeatherBot. Answer concisely.": "Du bist der Wetterdienst. Fasse dich kurz.",
        "Hi, my name is Ada.": "Guten Tag, ich heiße Ada.",
        "Hello Ada! How can I help?": "Schön, Ada! Womit kann ich helfen?",
        "What is the weather in Paris?": "Wie ist das Wetter in Köln?",
        "It is 18C and sunny in Paris, Ada.": "In Köln ist es heiter bei 18 Grad, Ada.",
        "18C and sunny": "18 Grad und heiter",
        "Paris": "Köln",
    },
    "japanese": {
        "You are WeatherBot. Answer concisely.": "あなたは天気係です。簡潔に。",
        "Hi, my name is Ada.": "エイダと申します。",
        "Hello Ada! How can I help?": "エイダさん、何をお手伝いしましょうか。",
        "What is the weather in Paris?": "札幌の天気は？",
        "It is 18C and sunny in Paris, Ada.": "札幌は18度で晴れです、エイダさん。",
        "18C and sunny": "18度、晴れ",
        "Paris": "札幌",
    },
    "names": {
        "WeatherBot.": "WeatherBot.",  # the system text keeps its bot
        "weather_agent": "meteo",
        "weather_bot": "oracle_of_rain",
        "get_weather": "look_outside",
        "call_fake": "id-",
    },
}
"""What is said in whose place, longest first; each can be turned back."""


def said_in(export: Export, words: str) -> Export:
    """Say the same in other words."""
    text = orjson.dumps(export).decode()
    for old, new in WORDS[words].items():
        text = text.replace(old, new)
    return orjson.loads(text)


def turned_back(text: str, mutations: tuple[str, ...]) -> str:
    """Put the words of the original back into what was read from its mutant."""
    for words in (name for name in mutations if name in WORDS):
        for old, new in WORDS[words].items():
            text = text.replace(new, old)
    return text


def _groups(export: Export) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]]:
    for outer, inner, items in (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")):
        for resource in export.get(outer, ()):
            for scope in resource.get(inner, ()):
                yield resource, scope, scope.get(items, [])


def _spans(export: Export) -> list[dict[str, Any]]:
    return [span for _, _, items in _groups(export) for span in items if "spanId" in span and "name" in span]


def _scopes(export: Export) -> Export:
    """Rename the scopes: nobody says which library wrote this."""
    for _, scope, _ in _groups(export):
        scope["scope"] = {
            "name": f"acme.{hashlib.sha256(str(scope.get('scope')).encode()).hexdigest()[:6]}",
            "version": "9",
        }
    return export


def _order(export: Export) -> Export:
    """Turn the attributes around, and the keys of the JSON objects within them, and the spans."""
    for resource, scope, items in _groups(export):
        for holder in (resource.get("resource", {}), *items):
            holder.get("attributes", []).reverse()
            for attribute in holder.get("attributes", []):
                value = attribute.get("value", {})
                if isinstance(value.get("stringValue"), str):
                    value["stringValue"] = _turned(value["stringValue"])
        if "spans" in scope:
            items.reverse()
    return export


def _turned(text: str) -> str:
    if text[:1] not in ("{", "["):
        return text
    try:
        value = orjson.loads(text)
    except ValueError:
        return text
    spaced = (", ", ": ") if '": ' in text else (",", ":")
    return json.dumps(_reversed_keys(value), ensure_ascii=False, separators=spaced)


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(item) for key, item in reversed(value.items())}
    return [_reversed_keys(item) for item in value] if isinstance(value, list) else value


def _wrapper(export: Export) -> Export:
    """Put a span of the application around each trace."""
    if "resourceSpans" not in export:
        return export
    tops: dict[str, list[dict[str, Any]]] = {}
    ids = {span["spanId"] for span in _spans(export)}
    for span in _spans(export):
        if span.get("parentSpanId") not in ids:
            tops.setdefault(span["traceId"], []).append(span)
    group = export["resourceSpans"][0]["scopeSpans"]
    for trace_id, spans in tops.items():
        wrapper = {
            "traceId": trace_id,
            "spanId": hashlib.sha256(trace_id.encode()).hexdigest()[:16],
            "name": "POST /ask",
            "kind": 2,
            "startTimeUnixNano": str(min(int(span["startTimeUnixNano"]) for span in spans) - 1),
            "endTimeUnixNano": str(max(int(span["endTimeUnixNano"]) for span in spans) + 1),
            "attributes": [{"key": "http.route", "value": {"stringValue": "/ask"}}],
        }
        for span in spans:
            span["parentSpanId"] = wrapper["spanId"]
        group.append({"scope": {"name": "acme.web"}, "spans": [wrapper]})
    return export


def _no_root(export: Export) -> Export:
    """Lose the root of each trace, which still is named as a parent."""
    for _, scope, items in _groups(export):
        if "spans" in scope:
            scope["spans"] = [span for span in items if span.get("parentSpanId")]
    return export


def _remote(export: Export) -> Export:
    """Hang each root below a span of another process."""
    for span in _spans(export):
        if not span.get("parentSpanId"):
            span |= {"parentSpanId": "00f067aa0ba902b7", "flags": 0x301}
    return export


def _noise(export: Export) -> Export:
    """Add attributes and events that nobody knows, some of them with telling names."""
    for place, span in enumerate(_spans(export)):
        span.setdefault("attributes", []).extend(
            [
                {"key": "acme.messages", "value": {"stringValue": '[{"role": "user", "content": "not this"}]'}},
                {"key": "acme.output", "value": {"stringValue": "nor this"}},
                {"key": "acme.cost", "value": {"doubleValue": 0.5 + place}},
                {"key": "acme.model", "value": {"stringValue": "other"}},
                {"key": "acme.list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"boolValue": True}]}}},
            ]
        )
        span.setdefault("events", []).append(
            {"name": "acme.message", "timeUnixNano": span["startTimeUnixNano"], "attributes": []}
        )
    return export


def _ids(export: Export) -> Export:
    """Give all traces and spans other ids."""
    text = orjson.dumps(export).decode()
    items = [item for _, _, found in _groups(export) for item in found]
    for name in sorted({item[key] for item in items for key in ("traceId", "spanId") if item.get(key)}):
        text = text.replace(name, hashlib.sha256(name.encode()).hexdigest()[: len(name)])
    return orjson.loads(text)


MUTATIONS: dict[str, Callable[[Export], Export]] = {
    **{words: lambda export, words=words: said_in(export, words) for words in WORDS},
    "scopes": _scopes,
    "order": _order,
    "wrapper": _wrapper,
    "no root": _no_root,
    "remote": _remote,
    "noise": _noise,
    "ids": _ids,
}
MUTANTS: dict[str, tuple[str, ...]] = {
    "otel_genai_openai/tool_call": ("german", "no root", "noise"),
    "otel_genai_langchain/multi_agent": ("names", "ids", "scopes"),
    "otel_genai_anthropic/tool_call": ("japanese", "no root"),
    "openinference_openai/tool_call": ("order", "no root", "ids"),
    "openinference_openai_agents/chat_handoff": ("names", "order", "wrapper"),
    "openinference_langchain/tool_call": ("german", "remote", "order"),
    "openinference_llamaindex/tool_call": ("scopes", "noise", "remote"),
    "openinference_smolagents/multi_agent": ("names", "scopes", "wrapper"),
    "openinference_agno/team": ("names", "noise", "ids"),
    "traceloop_openai/tool_call": ("japanese", "scopes"),
    "traceloop_openai_v0_40/tool_call": ("german", "order", "noise"),
    "vercel_ai_v5/tool_call": ("japanese", "scopes", "wrapper"),
    "vercel_ai_v7/tool_call": ("names", "scopes", "remote"),
    "pydantic_ai/tool_call": ("names", "order", "noise"),
    "langsmith/tool_call": ("scopes", "remote", "ids"),
    "langfuse/tool_call": ("german", "scopes", "noise"),
    "mlflow/tool_call": ("japanese", "scopes", "order"),
    "mastra_otel_exporter/tool_call": ("german", "scopes", "wrapper"),
    "google_adk_1_5/tool_call": ("names", "ids", "remote"),
    "strands/tool_call": ("japanese", "scopes", "noise"),
}
"""By the file that each is made of: what is done to it, in order."""


def original_of(name: str) -> Path:
    """Find a recorded file."""
    return next(path for root in FOLDERS if (path := root / f"{name}.json").exists())


def path_of(name: str) -> Path:
    """Give where the mutant of a file is kept."""
    return FOLDER / f"{name.replace('/', '__')}.json"


def mutant_of(name: str) -> dict[Path, bytes]:
    """Make the mutant of a file, with the log records that belong to it."""
    found: dict[Path, bytes] = {}
    for suffix in (".json", ".logs.json"):
        original = original_of(name).with_suffix("").with_suffix(suffix)
        if original.exists():
            export = orjson.loads(original.read_bytes())
            for mutation in MUTANTS[name]:
                export = MUTATIONS[mutation](export)
            found[path_of(name).with_suffix(suffix)] = orjson.dumps(export) + b"\n"
    return found


def main() -> int:
    """Write all mutants."""
    FOLDER.mkdir(exist_ok=True)
    for name in MUTANTS:
        for path, content in mutant_of(name).items():
            path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
