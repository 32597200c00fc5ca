"""A server in a process of its own, and what it takes of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.conftest import clean_environ
from tests.otel.requests import as_json, span, traces
from tests.server.calls import call
from tracescore.otel import JSON, PROTOBUF
from tracescore.server import RunningServer

LIMIT = 8 * 1024 * 1024
"""What a request may amount to there."""
MOST_GROWTH = 4 * LIMIT


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerApart:
    """A ``tracescore serve`` that answers, the folder of its store and the file of its log."""

    process: subprocess.Popen[str]
    running: RunningServer
    data: Path
    log: Path

    def rss(self) -> int:
        """Give its resident memory in bytes."""
        return self._memory("VmRSS")

    def count_from_here(self) -> int:
        """Forget the peak of its memory, and give what it takes now."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return self.rss()

    def peak(self) -> int:
        """Give the most that it took since then."""
        return self._memory("VmHWM")

    def _memory(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name}")


@contextmanager
def server_apart(folder: Path, *, grpc_port: int | None = None) -> Generator[ServerApart]:
    """Run ``tracescore serve`` in a folder, its store in ``data`` there; whatever is imported late is imported."""
    environ = clean_environ(
        {
            "TRACESCORE_MAX_REQUEST_BYTES": str(LIMIT),
            "TRACESCORE_MAX_INFLATED_BYTES": str(LIMIT),
            "TRACESCORE_SETTLE_QUIET": "0",
            "TRACESCORE_GRPC_PORT": "none" if grpc_port is None else str(grpc_port),
        }
    )
    data, log = folder / "data", folder / "server.log"
    command = [sys.executable, "-m", "tracescore", "serve", "--port", "0", "--data", str(data), "--json"]
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [*command, "--broker", "none"], env=environ, stdout=subprocess.PIPE, stderr=written, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = urlsplit(json.loads(process.stdout.readline())["url"])
            running = RunningServer(host=str(address.hostname), port=int(address.port or 0), grpc_port=grpc_port)
            _warm(running)
            yield ServerApart(process=process, running=running, data=data, log=log)
        finally:
            process.terminate()


def _warm(server: RunningServer) -> None:
    for content_type, body in ((JSON, b"{}"), (PROTOBUF, b"")):
        call(server, "POST", "/v1/traces", body, content_type=content_type)
    ordinary = as_json(traces(*(span({"text": "x" * 2000}, spanId=f"{number:016x}") for number in range(1, 500))))
    call(server, "POST", "/v1/traces", ordinary, content_type=JSON)
