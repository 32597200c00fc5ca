"""The ways in which one file's spans may arrive, and the runs that come of each: byte for byte the same.

In process, and through the real parts: requests are decoded to rows, the copies that a store would keep are folded back
to spans, and the spans are assembled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from tests.otel.requests import as_protobuf
from tracescore.model import Trace, dump_run, run_to_json
from tracescore.otel import JSON, PROTOBUF, decode_logs, decode_traces, read_log, read_span
from tracescore.pipeline.assembly import assemble

SEED = 20


class Request(NamedTuple):
    """One export request: spans or log records, and in which encoding it is sent."""

    content: dict[str, Any]
    encoding: str = JSON


Arrival: TypeAlias = Callable[[list[Request]], list[Request]]


def requests_of(path: Path) -> list[Request]:
    """Give a file, and the log records that belong to it, as they were recorded: spans first."""
    files = (path, path.with_name(f"{path.stem}.logs.json"))
    return [Request(orjson.loads(file.read_bytes())) for file in files if file.exists()]


def _items(request: Request) -> Iterator[dict[str, Any]]:
    """Take a request apart: one for each span or log record."""
    for outer, inner, items in (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")):
        for resource in request.content.get(outer, ()):
            for scope in resource.get(inner, ()):
                for item in scope.get(items, ()):
                    yield {outer: [{**resource, inner: [{**scope, items: [item]}]}]}


def _together(parts: Sequence[dict[str, Any]]) -> list[Request]:
    whole: dict[str, list[Any]] = {}
    for part in parts:
        for key, value in part.items():
            whole.setdefault(key, []).extend(value)
    return [Request({key: value}) for key, value in whole.items()]


def shuffled(requests: list[Request]) -> list[Request]:
    """Put all spans into any order, within one request."""
    parts = [part for request in requests for part in _items(request)]
    random.Random(SEED).shuffle(parts)
    return _together(parts)


def one_by_one(requests: list[Request]) -> list[Request]:
    """Send each span and each log record in a request of its own, children first."""
    parts = [part for request in requests for part in _items(request)]
    return [Request(part) for part in reversed(parts)]


def twice(requests: list[Request]) -> list[Request]:
    """Send every request twice."""
    return [request for request in requests for _ in range(2)]


def logs_first(requests: list[Request]) -> list[Request]:
    """Send log records before the spans that they belong to."""
    return sorted(requests, key=lambda request: "resourceSpans" in request.content)


def protobuf(requests: list[Request]) -> list[Request]:
    """Send it all as protobuf."""
    return [request._replace(encoding=PROTOBUF) for request in requests]


def all_at_once(requests: list[Request]) -> list[Request]:
    """Log records first, one item a request, in any order, each as JSON and again as protobuf."""
    parts = one_by_one(shuffled(requests))
    return [sent for request in logs_first(parts) for sent in (request, request._replace(encoding=PROTOBUF))]


ARRIVALS: dict[str, Arrival] = {
    "as recorded": lambda requests: requests,
    "shuffled": shuffled,
    "one by one": one_by_one,
    "twice": twice,
    "logs first": logs_first,
    "protobuf": protobuf,
    "all at once": all_at_once,
}


def runs_from(requests: Sequence[Request]) -> list[tuple[bytes, bytes]]:
    """Decode, keep, fold and assemble: each run as it is stored and as it is shown, by trace."""
    spans: dict[bytes, dict[bytes, dict[bytes, bytes]]] = {}
    logs: dict[bytes, dict[bytes, bytes]] = {}
    for request in requests:
        body = as_protobuf(request.content) if request.encoding == PROTOBUF else orjson.dumps(request.content)
        if "resourceSpans" in request.content:
            for row in decode_traces(body, request.encoding).rows:
                spans.setdefault(row.trace_id, {}).setdefault(row.span_id, {})[row.copy_hash] = row.body
        else:
            for row in decode_logs(body, request.encoding).rows:
                logs.setdefault(row.trace_id, {})[row.copy_hash] = row.body
    found: list[tuple[bytes, bytes]] = []
    for trace_id in sorted(spans):
        trace = Trace(
            trace_id=trace_id.hex(),
            spans=tuple(read_span(list(copies.values())) for copies in spans[trace_id].values()),
            logs=tuple(read_log(body) for body in logs.get(trace_id, {}).values()),
        )
        found += [(dump_run(one.run), orjson.dumps(run_to_json(one.run))) for one in assemble(trace)]
    return found


def differing(path: Path, names: Sequence[str]) -> list[str]:
    """Name the arrivals under which a file's runs are not those of the file as it was recorded."""
    requests = requests_of(path)
    expected = runs_from(requests)
    return [name for name in names if runs_from(ARRIVALS[name](requests)) != expected]
