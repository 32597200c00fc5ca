"""The doors by which spans come into one real server: through each, the runs are byte for byte the same.

Each door sends all files to a project of its own, over connections like those of many exporters: JSON and protobuf over
HTTP, protobuf over gRPC. What the store then holds is assembled as the scheduler does it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Protocol

import grpc
import orjson

from tests.golden.variants import Arrival, Request, requests_of, runs_from
from tests.otel.requests import as_protobuf
from tracescore.bridge import run_sync
from tracescore.cli.address import free_port
from tracescore.otel import JSON, PROTOBUF
from tracescore.pipeline.assembling import SettleTimes, assemble_stored
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import Store

CONNECTIONS = 4
GRPC_PATHS = {
    "resourceSpans": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "resourceLogs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
HTTP_PATHS = {"resourceSpans": "/v1/traces", "resourceLogs": "/v1/logs"}


class Door(Protocol):
    """One connection to the server."""

    def __call__(self, content: Mapping[str, Any]) -> None:
        """Send one request, and be content with no answer but that all of it was taken."""
        ...


@contextmanager
def _http(server: RunningServer, token: str, encoding: str) -> Generator[Door]:
    connection = HTTPConnection(server.host, server.port, timeout=30)

    def send(content: Mapping[str, Any]) -> None:
        body = _body(content, encoding)
        headers = {"content-type": encoding, "authorization": f"Bearer {token}"}
        connection.request("POST", HTTP_PATHS[_kind(content)], body, headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"{}" if encoding == JSON else b"")

    yield send
    connection.close()


@contextmanager
def _grpc(server: RunningServer, token: str) -> Generator[Door]:
    with grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel:
        calls = {kind: channel.unary_unary(path) for kind, path in GRPC_PATHS.items()}

        def send(content: Mapping[str, Any]) -> None:
            metadata = (("authorization", f"Bearer {token}"),)
            answer = calls[_kind(content)](_body(content, PROTOBUF), timeout=30, metadata=metadata)
            assert answer == b""

        yield send


DOORS: dict[str, Callable[[RunningServer, str], AbstractContextManager[Door]]] = {
    "HTTP, JSON": partial(_http, encoding=JSON),
    "HTTP, protobuf": partial(_http, encoding=PROTOBUF),
    "gRPC": _grpc,
}


def _kind(content: Mapping[str, Any]) -> str:
    return "resourceSpans" if "resourceSpans" in content else "resourceLogs"


def _body(content: Mapping[str, Any], encoding: str) -> bytes:
    return as_protobuf(content) if encoding == PROTOBUF else orjson.dumps(content)


def unlike_by_door(files: Sequence[Path], arrival: Arrival, folder: Path) -> dict[str, list[Path]]:
    """Send each file through every door of a server with a fresh store; give the files whose runs come out otherwise.

    Otherwise than in process as the files were recorded; how a request is encoded is the door's affair.
    """
    expected = {path: [stored for stored, _ in runs_from(requests_of(path))] for path in files}
    requests = {path: arrival(requests_of(path)) for path in files}
    settings = Settings(port=0, grpc_port=free_port("127.0.0.1"), broker="none")
    with Store.open(folder) as store:
        tokens = {door: run_sync(store.tokens.create(_project(door), "ingest")).token for door in DOORS}
        with serving(store, settings) as server:
            for door, token in tokens.items():
                _send(list(requests.values()), server, door, token)
        runs = {door: run_sync(_runs(store, _project(door), requests)) for door in DOORS}
    return {door: [path for path in files if runs[door][path] != expected[path]] for door in DOORS}


def _project(door: str) -> str:
    return door.lower().replace(", ", "-")


def _send(files: Sequence[list[Request]], server: RunningServer, door: str, token: str) -> None:
    """Send each file's requests one after another, and several files at a time."""
    with ExitStack() as opened, ThreadPoolExecutor(CONNECTIONS) as threads:
        connections = [opened.enter_context(DOORS[door](server, token)) for _ in range(CONNECTIONS)]

        def send(number: int) -> None:
            for requests in files[number::CONNECTIONS]:
                for request in requests:
                    connections[number](request.content)

        list(threads.map(send, range(CONNECTIONS)))


async def _runs(store: Store, project: str, requests: Mapping[Path, Sequence[Request]]) -> dict[Path, list[bytes]]:
    found: dict[Path, list[bytes]] = {}
    for path, sent in requests.items():
        found[path] = []
        for trace_id in sorted({trace_id for request in sent for trace_id in _trace_ids(request)}):
            trace = await store.spans.load_trace(project, trace_id)
            assert trace is not None
            # Under one project's name: the name is part of a run's id.
            found[path] += [run.body for run in assemble_stored("default", trace, 2**62, SettleTimes()).runs]
    return found


def _trace_ids(request: Request) -> Iterator[str]:
    for resource in request.content.get("resourceSpans", ()):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield span["traceId"]
