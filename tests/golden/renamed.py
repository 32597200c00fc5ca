"""Recorded files as a library would have written them that nobody knows: `python -m tests.golden.renamed`.

Every namespace is another, the scopes too; what the names end with is kept, since that is all there is to go by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from tests.golden.conformance import named, recorded_files, runs_in, shown
from tracescore.model import AgentRun

NAMESPACE = "acme"
_REPLACED = frozenset(
    [
        "gen_ai",
        "ai",
        "openinference",
        "traceloop",
        "mlflow",
        "langfuse",
        "langsmith",
        "lmnr",
        "genkit",
        "mastra",
        "haystack",
        "logfire",
        "pydantic_ai",
        "gcp",
    ]
)
"""Namespaces of one library; before any other first word the new one is put."""
_KEPT = frozenset(["http", "net", "url", "server", "service", "error", "exception", "session", "user", "event"])
"""Namespaces of OpenTelemetry itself, which every library uses."""


def renamed_runs(path: Path) -> list[AgentRun]:
    """Assemble a recorded file with all its namespaces renamed."""
    with TemporaryDirectory() as folder:
        for file in (path, path.with_name(f"{path.stem}.logs.json")):
            if file.exists():
                export = orjson.loads(file.read_bytes())
                _rename(export)
                Path(folder, file.name).write_bytes(orjson.dumps(export))
        return runs_in(Path(folder, path.name))


def _rename(export: dict[str, Any]) -> None:
    for record, scope in _records(export):
        scope["name"] = f"{NAMESPACE}.tracer"
        for event in record.get("events") or ():
            event["name"] = _name(event["name"])
            _rename_attributes(event)
        if record.get("eventName"):
            record["eventName"] = _name(record["eventName"])
        _rename_attributes(record)


def _records(export: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for outer, inner, items in (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")):
        for resource in export.get(outer, ()):
            for scope in resource.get(inner, ()):
                for record in scope.get(items, ()):
                    yield record, scope.setdefault("scope", {})


def _rename_attributes(record: dict[str, Any]) -> None:
    for attribute in record.get("attributes") or ():
        if attribute["key"] == "event.name":
            attribute["value"]["stringValue"] = _name(attribute["value"]["stringValue"])
        attribute["key"] = _name(attribute["key"])


def _name(name: str) -> str:
    first = name.partition(".")[0].partition(":")[0]
    if first in _KEPT:
        return name
    return f"{NAMESPACE}{name[len(first) :]}" if first in _REPLACED else f"{NAMESPACE}.{name}"


if __name__ == "__main__":
    for path in recorded_files():
        before, after = shown(runs_in(path)), shown(renamed_runs(path))
        lost = [f"{part}: {before[part]} is {after[part]}" for part in before if before[part] != after[part]]
        print(named(path), *lost, sep="  ")  # noqa: T201 - a table for the terminal
