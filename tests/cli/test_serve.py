"""Several ``tracescore serve`` on one store: behind a balancer it does not matter which of them is asked."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.conftest import SCRIPT, Command, clean_environ
from tests.pipeline.exports import agent_span, request_of
from tests.server.calls import Answer, call
from tests.waiting import wait_until
from tracescore.bridge import run_sync
from tracescore.server import RunningServer
from tracescore.store import Store

REQUESTS = 24
PER_REQUEST = 20


@contextmanager
def serving(folder: Path, *words: str) -> Generator[tuple[subprocess.Popen[str], RunningServer]]:
    """Run ``tracescore serve`` and give its process and address; it ends well when it is asked to."""
    process = subprocess.Popen(
        [SCRIPT, "serve", "--port", "0", "--json", "--broker", "none", *words],
        cwd=folder,
        env=clean_environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = urlsplit(json.loads(process.stdout.readline())["url"])
        yield process, RunningServer(host="127.0.0.1", port=address.port or 0)
        process.terminate()
        _, err = process.communicate(timeout=30)

        assert (process.returncode, err) == (0, "")
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def post(server: RunningServer, token: str, number: int) -> Answer:
    spans = [agent_span(number + 1, span + 1) for span in range(PER_REQUEST)]
    body = json.dumps(request_of(spans)).encode()
    return call(server, "POST", "/v1/traces", body, content_type="application/json", authorization=f"Bearer {token}")


def test_two_servers_beyond_loopback_share_a_store_and_its_tokens(tracescore: Command, tmp_path: Path) -> None:
    token = tracescore("tokens", "create", "--kind", "ingest", "--project", "shop").out.strip()
    with (
        serving(tmp_path, "--host", "0.0.0.0") as (process, one),
        serving(tmp_path, "--host", "0.0.0.0") as (_, other),
    ):
        # Each request goes to both, as an exporter does that had no answer from the first.
        with ThreadPoolExecutor(8) as threads:
            sent = [
                threads.submit(post, server, token, number) for number in range(REQUESTS) for server in (one, other)
            ]
            answers = [answer.result().status for answer in sent]
        with Store.open(tmp_path / ".tracescore") as store:
            counts = run_sync(store.spans.trace_counts("shop"))

            assert set(answers) == {200}
            assert (counts.traces, counts.spans) == (REQUESTS, REQUESTS * PER_REQUEST)
        if Path(f"/proc/{process.pid}").exists():
            shown = (
                Path(f"/proc/{process.pid}/cmdline").read_bytes() + Path(f"/proc/{process.pid}/environ").read_bytes()
            )
            assert token.encode() not in shown

        assert tracescore("tokens", "revoke", token.split("_")[1]).code == 0
        for server in (one, other):
            wait_until(
                lambda server=server: post(server, token, 0).status == 401, timeout=10, description="the refusal"
            )
    assert os.listdir(tmp_path) == [".tracescore"]
