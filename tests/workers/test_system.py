from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.exports import agent_span, request_of
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.workers.processes import ROOT, worker_environ
from tracescore.bridge import run_sync
from tracescore.cli.address import free_port
from tracescore.cli.processes import Supervisor
from tracescore.cli.system import _worker_check, one_machine
from tracescore.errors import ConfigurationError
from tracescore.pipeline.announced import announced_broker
from tracescore.settings import Settings
from tracescore.store import Store

SETTINGS = Settings(app="tests.workers.judged_app:code_only", settle_quiet=0.2, worker_processes=2)


@contextmanager
def system(
    location: str | Path, *, logs: Path | None = None, **changes: Any
) -> Generator[tuple[Supervisor, str, list[str]]]:
    said: list[str] = []
    port = free_port("127.0.0.1")
    settings = replace(SETTINGS, store=str(location), port=port, **changes)
    with one_machine(settings, say=said.append, logs=logs or Path(location) / "logs") as supervisor:
        supervisor.wait_ready()
        yield supervisor, f"http://127.0.0.1:{port}", said


@pytest.fixture(autouse=True)
def _children_run_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in worker_environ(store=tmp_path, broker="none", app="").items():
        monkeypatch.setenv(name, value)
    for name in list(os.environ):
        if name.startswith("TRACESCORE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(ROOT)


def post(url: str, *spans: Mapping[str, Any]) -> None:
    request = urllib.request.Request(
        f"{url}/v1/traces", json.dumps(request_of(spans)).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def scores(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/scores", timeout=10) as answer:
        return json.loads(answer.read())["items"]


def test_spans_in_scores_out(tmp_path: Path) -> None:
    with system(tmp_path / "data") as (supervisor, url, said):
        assert sorted(supervisor.pids()) == ["broker", "server", "worker-1", "worker-2"]
        assert announced_broker(tmp_path / "data") is not None
        post(url, agent_span(1, 1), agent_span(2, 1))
        wait_until(lambda: len(scores(url)) == 2, description="two scores")

        with pytest.raises(ConfigurationError, match="already"), system(tmp_path / "data"):
            pass
        # A killed worker, server and broker come back, and the system goes on.
        for name, pid in supervisor.pids().items():
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda n=name, p=pid: supervisor.pids().get(n, p) != p, description=f"another {name}")
        wait_until(lambda: _answers(url), description="the server")
        post(url, agent_span(3, 1))
        wait_until(lambda: len(scores(url)) == 3, description="the third score")
    assert supervisor.pids() == {}
    assert said[-4:] == [
        f"{name} was killed by SIGKILL; starting it again in 0.5 s"
        for name in ("broker", "worker-1", "worker-2", "server")
    ]


def test_up_on_postgresql_outlives_a_restart_of_it(tmp_path: Path, postgres: PostgresServer, postgres_url: str) -> None:
    with system(postgres_url, logs=tmp_path) as (supervisor, url, said):
        assert sorted(supervisor.pids()) == ["broker", "server", "worker-1", "worker-2"]
        post(url, agent_span(1, 1))
        wait_until(lambda: len(scores(url)) == 1, description="a score")

        postgres.stop()
        try:
            os.kill(supervisor.pids()["worker-1"], signal.SIGKILL)
            wait_until(lambda: any("exit code" in line for line in said), description="a worker without its store")
        finally:
            postgres.start()
        post(url, agent_span(2, 1))
        wait_until(lambda: len(scores(url)) == 2, description="the second score")
    assert said[1].startswith("worker-1 ended with exit code 1; starting it again")


def test_a_store_that_goes_away_while_up_starts_is_waited_for(postgres: PostgresServer, postgres_url: str) -> None:
    with Store.open(postgres_url) as store:
        is_registered = _worker_check(store)
        postgres.stop()
        try:
            assert not is_registered()
        finally:
            postgres.start()
        run_sync(store.control.heartbeat("one", {}, time.time_ns()))

        assert is_registered()


def test_without_the_embedded_extra_the_store_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracescore.cli.system.valkey_binary", lambda: None)
    with system(tmp_path / "data", worker_processes=1) as (supervisor, url, said):
        assert sorted(supervisor.pids()) == ["server", "worker-1"]
        assert said == [
            "the embedded broker is not installed (pip install 'tracescore[embedded]'): "
            "workers poll the store each second"
        ]
        post(url, agent_span(1, 1))
        wait_until(lambda: len(scores(url)) == 1, description="the score")


def test_a_taken_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = Settings(app="x:y", store=str(tmp_path), port=port)
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}"), one_machine(settings, say=print):
            pass


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_up_stops_all_its_processes(tmp_path: Path, how: signal.Signals) -> None:
    environ = dict(os.environ) | {
        "TRACESCORE_APP": "tests.workers.judged_app:code_only",
        "TRACESCORE_STORE": str(tmp_path / "data"),
        "TRACESCORE_PORT": str(free_port("127.0.0.1")),
    }
    code = (
        "import os\n"
        "from tracescore.cli.system import one_machine, run_until_stopped\n"
        "from tracescore.settings import Settings\n"
        "with one_machine(Settings.from_env(os.environ), say=print) as supervisor:\n"
        "    supervisor.wait_ready()\n"
        "    class Waiting:\n"
        "        ask_to_stop = supervisor.ask_to_stop\n"
        "        def wait(self, seconds):\n"  # and so the handlers are there
        "            print('pids', *supervisor.pids().values(), flush=True)\n"
        "            return supervisor.wait(seconds)\n"
        "    run_until_stopped(Waiting())\n"
    )
    up = subprocess.Popen([sys.executable, "-c", code], env=environ, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    pids: list[int] = []
    with up.stdout:
        watch = threading.Timer(30, up.kill)
        watch.start()
        for line in up.stdout:
            if line.startswith("pids"):
                pids = [int(pid) for pid in line.split()[1:]]
                up.send_signal(how)
                break
        exit_code = up.wait(timeout=30)
        watch.cancel()

    assert (len(pids), exit_code) == (3, 0)
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert announced_broker(tmp_path / "data") is None


def _answers(url: str) -> bool:
    try:
        scores(url)
    except OSError:
        return False
    return True
