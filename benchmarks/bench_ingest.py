"""Ingest: spans per second over HTTP until they are durable and can be queried.

One server process and one sender process; gzipped protobuf, 500 spans a request, every id and every text unique;
redaction included, durable before the answer. The limit, measured in the same run, is the same bytes decoded and
written by one thread, one transaction a request, with no HTTP, no redaction and no trace rows; beside it stands what
decoding alone reaches. Prints one JSON line a database.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks import store_postgres
from benchmarks.figures import Stopwatch, report
from tracescore.bridge import run_sync
from tracescore.otel import PROTOBUF, decode_traces
from tracescore.server import RunningServer, serve
from tracescore.settings import Settings
from tracescore.store import Store

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
SPANS_PER_REQUEST = 500
SPANS_PER_TRACE = 8
CONNECTIONS = 4
SPAN_BYTES = 2250
TARGET_RATIO = 0.8
"""20 000 spans/s where decode and bare insert reach 25 000."""
TARGET_RATIO_POSTGRESQL = 0.48
TARGET_RATIO_DECODE = 0.43
"""20 000 spans/s where decoding alone reaches 46 000."""
CPU_MS_TARGET = 0.06
"""What a span may cost the server, on either database."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--send", nargs=2, metavar=("PORT", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve)
    elif options.send:
        _send(int(options.send[0]), Path(options.send[1]))
    else:
        _measure(options.requests, options.rounds, options.database)


def _measure(requests: int, rounds: int, database: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        bodies = root / "bodies"
        bodies.mkdir()
        size = 0
        for number, body in enumerate(span_bodies(requests)):
            size += len(body)
            (bodies / f"{number:04}.gz").write_bytes(gzip.compress(body, 6))
        spans = requests * SPANS_PER_REQUEST
        if database != "postgresql":
            rounds_taken = [
                _Round(
                    *_bare(bodies, root / f"bare-{number}.db"),
                    *_over_http(bodies, str(root / f"store-{number}"), spans),
                )
                for number in range(rounds)
            ]
            limit_is = "decode and executemany in one thread, synchronous=FULL, no HTTP, no redaction, no trace rows"
            _report("ingest", rounds_taken, spans, size, limit_is, TARGET_RATIO)
        if database != "sqlite":
            with store_postgres.server() as server:
                rounds_taken = [
                    _Round(
                        *_bare_copy(bodies, server.url(server.create_database())),
                        *_over_http(bodies, server.url(server.create_database()), spans),
                    )
                    for _ in range(rounds)
                ]
            limit_is = "decode and COPY in one thread by way of a temporary table, no HTTP, no redaction, no trace rows"
            _report("ingest_postgresql", rounds_taken, spans, size, limit_is, TARGET_RATIO_POSTGRESQL)


class _Round(NamedTuple):
    """Seconds: decoding alone, decode and bare insert, over HTTP; and the server's CPU."""

    decode: float
    bare: float
    seconds: float
    cpu: float


def _report(benchmark: str, rounds: list[_Round], spans: int, size: int, limit_is: str, target_ratio: float) -> None:
    figure = statistics.median(spans / taken.seconds for taken in rounds)
    decode = statistics.median(spans / taken.decode for taken in rounds)
    report(
        benchmark=benchmark,
        unit=f"spans of {size // spans} bytes, redacted, queryable and durable",
        figure=figure,
        cpu_ms_per_unit=statistics.median(taken.cpu / spans * 1000 for taken in rounds),
        limit=statistics.median(spans / taken.bare for taken in rounds),
        limit_is=limit_is,
        target_ratio=target_ratio,
        beside={
            "cpu_ms_target": CPU_MS_TARGET,
            "decode_alone": round(decode, 1),
            "ratio_to_decode": round(figure / decode, 3),
            "target_ratio_to_decode": TARGET_RATIO_DECODE,
        },
    )


def _bare_copy(bodies: Path, url: str) -> tuple[float, float]:
    requests = [gzip.decompress(path.read_bytes()) for path in sorted(bodies.iterdir())]
    started = time.perf_counter()
    batches = [decode_traces(body, PROTOBUF).rows for body in requests]
    decode = time.perf_counter() - started
    return decode, decode + store_postgres.copy_spans(url, batches)


def span_bodies(requests: int) -> Iterator[bytes]:
    templates = _templates()
    unique = 0
    for _ in range(requests):
        request = ExportTraceServiceRequest()
        group: Any = request.resource_spans.add()
        group.resource.CopyFrom(templates[0].resource_spans[0].resource)
        scoped = group.scope_spans.add()
        scoped.scope.CopyFrom(templates[0].resource_spans[0].scope_spans[0].scope)
        for _ in range(SPANS_PER_REQUEST):
            trace, place = divmod(unique, SPANS_PER_TRACE)
            span = scoped.spans.add()
            span.CopyFrom(templates[unique % len(templates)].resource_spans[0].scope_spans[0].spans[0])
            span.trace_id = (trace + 1).to_bytes(16, "big")
            span.span_id = (unique + 1).to_bytes(8, "big")
            span.parent_span_id = (unique + 1 - place).to_bytes(8, "big") if place else b""
            for pair in span.attributes:
                if len(pair.value.string_value) > 40:
                    pair.value.string_value = pair.value.string_value.replace(" ", f" {unique:x} ", 3)
            unique += 1
        yield request.SerializeToString()


def _templates() -> list[Any]:
    """Give corpus spans, one to a request, so many of the larger ones that their mean is what a span measures."""
    spans: list[Any] = []
    for path in sorted(CORPUS.rglob("*.json")):
        if path.name.endswith(".logs.json"):
            continue
        exported = json_format.ParseDict(
            _without_ids(json.loads(path.read_bytes())), ExportTraceServiceRequest(), ignore_unknown_fields=True
        )
        for group in exported.resource_spans:
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    single: Any = ExportTraceServiceRequest()
                    alone = single.resource_spans.add()
                    alone.resource.CopyFrom(group.resource)
                    inner = alone.scope_spans.add()
                    inner.scope.CopyFrom(scoped.scope)
                    inner.spans.add().CopyFrom(span)
                    spans.append(single)
    sized = sorted(spans, key=lambda single: single.resource_spans[0].scope_spans[0].spans[0].ByteSize())
    while sized and _mean_size(sized) < SPAN_BYTES:
        sized.pop(0)
    while sized and _mean_size(sized) > SPAN_BYTES * 1.02:
        sized.pop()
    order = sorted(range(len(sized)), key=lambda index: index * 2654435761 % 2**32)
    return [sized[index] for index in order]


def _mean_size(spans: list[Any]) -> float:
    return statistics.fmean(single.resource_spans[0].scope_spans[0].spans[0].ByteSize() for single in spans)


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_ids(item) for key, item in value.items() if key not in ("traceId", "spanId", "parentSpanId")
        }
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


def _bare(bodies: Path, database: Path) -> tuple[float, float]:
    requests = [gzip.decompress(path.read_bytes()) for path in sorted(bodies.iterdir())]
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE spans (project TEXT NOT NULL, trace_id BLOB NOT NULL, span_id BLOB NOT NULL, "
        "copy_hash BLOB NOT NULL, parent_span_id BLOB, start_ns INTEGER, end_ns INTEGER, flags INTEGER, "
        "complete INTEGER, body BLOB, PRIMARY KEY (project, trace_id, span_id, copy_hash))"
    )
    started, decode = time.perf_counter(), 0.0
    for body in requests:
        begun = time.perf_counter()
        decoded = decode_traces(body, PROTOBUF).rows
        decode += time.perf_counter() - begun
        rows = [("default", *row[:9]) for row in decoded]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(f"INSERT OR IGNORE INTO spans VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.execute("COMMIT")
    seconds = time.perf_counter() - started
    connection.close()
    return decode, seconds


def _over_http(bodies: Path, location: str, spans: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.bench_ingest"]
    server = subprocess.Popen([*command, "--serve", location], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        sender = subprocess.run([*command, "--send", str(port), str(bodies)], stdout=subprocess.PIPE, check=True)
    finally:
        server.send_signal(signal.SIGTERM)
        cpu = server.stdout.readline()
        server.wait()
    with Store.open(location) as store:
        stored = run_sync(store.spans.trace_counts()).spans
    if stored != spans:
        raise SystemExit(f"{stored} of {spans} spans were stored")
    return float(sender.stdout), float(cpu)


def _serve(folder: str) -> None:
    watch = Stopwatch()

    def started(running: RunningServer) -> None:
        watch.__enter__()
        print(running.port, flush=True)

    serve(Settings(store=folder, port=0, broker="none"), on_start=started)
    watch.__exit__()
    print(watch.cpu, flush=True)


def _send(port: int, folder: Path) -> None:
    bodies = [path.read_bytes() for path in sorted(folder.iterdir())]

    def send(start: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"content-type": PROTOBUF, "content-encoding": "gzip"}
        for body in bodies[start::CONNECTIONS]:
            connection.request("POST", "/v1/traces", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or content:
                raise SystemExit(f"{answer.status} {content!r}")
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(send, range(CONNECTIONS)))
    print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()
