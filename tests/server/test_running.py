"""Starting the server: where it listens, and what it refuses."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.calls import get
from tracescore.errors import ConfigurationError
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import Store


def test_port_0_gives_a_free_port_and_says_which(server: RunningServer) -> None:
    assert server.port > 0
    assert get(server, "/healthz").json == {"status": "ok"}
    assert get(server, "/readyz").json == {"status": "ready", "scorers": 0}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_a_host_that_is_not_loopback_is_refused(store: Store, host: str) -> None:
    with (
        pytest.raises(ConfigurationError, match=f"host '{host}' is not this machine"),
        serving(store, Settings(host=host, port=0, broker="none")),
    ):
        pass


def test_a_port_that_is_taken_is_said(store: Store, server: RunningServer) -> None:
    with (
        pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1 port {server.port}: "),
        serving(store, Settings(port=server.port, broker="none")),
    ):
        pass


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_ipv6_loopback_works(store: Store) -> None:
    with serving(store, Settings(host="::1", port=0, broker="none")) as running:
        assert running.url == f"http://[::1]:{running.port}"
        assert get(running, "/healthz").status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_with_its_store_closed(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import sys; from tracescore.server import serve; from tracescore.settings import Settings\n"
        "serve(Settings(store=sys.argv[1], port=0, broker='none'), on_start=lambda it: print(it.port, flush=True))\n"
        "print('closed', flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = json.loads(process.stdout.readline())
    ready = get(RunningServer(host="127.0.0.1", port=port), "/readyz").status
    process.send_signal(number)
    said, _ = process.communicate(timeout=20)

    assert (ready, said, process.returncode) == (200, "closed\n", 0)
