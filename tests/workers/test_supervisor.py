from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import redis

from tests.waiting import wait_until
from tests.workers.processes import running_broker
from tracescore.cli.broker import EmbeddedBroker, stop_left_over, valkey_binary
from tracescore.cli.processes import Child, ProcessesFailed, Supervisor
from tracescore.cli.system import folder_lock
from tracescore.errors import ConfigurationError
from tracescore.pipeline.announced import announced_broker, broker_of

_SLEEP = "import time; time.sleep(60)"

_NOTE_END = """
import signal, sys, time
def end(*_):
    with open(sys.argv[1], "a") as file:
        file.write(sys.argv[2] + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, end)
open(sys.argv[3], "w").close()
time.sleep(60)
"""


def sleeper(name: str) -> Child:
    return Child(name=name, argv=[sys.executable, "-c", _SLEEP])


def test_a_child_that_dies_is_started_again() -> None:
    said: list[str] = []
    with Supervisor([[sleeper("one")]], stop_order=[], say=said.append) as supervisor:
        supervisor.wait_ready()
        first = supervisor.pids()["one"]
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: supervisor.pids().get("one", first) != first, description="a new process")

    assert said == ["one was killed by SIGKILL; starting it again in 0.5 s"]
    assert supervisor.pids() == {}


def test_processes_stop_in_order(tmp_path: Path) -> None:
    said: list[str] = []
    ends = tmp_path / "ends"
    children = [
        Child(
            name=name,
            argv=[sys.executable, "-c", _NOTE_END, str(ends), name, str(tmp_path / name)],
            is_ready=(tmp_path / name).exists,
        )
        for name in ("broker", "server", "worker")
    ]
    with Supervisor(
        [children[:1], children[1:]], stop_order=[("server",), ("worker",), ("broker",)], say=said.append
    ) as supervisor:
        supervisor.wait_ready()

    assert ends.read_text().split() == ["server", "worker", "broker"]
    assert said == []


def test_settings_that_cannot_work_end_all_processes() -> None:
    wrong = Child(name="worker", argv=[sys.executable, "-c", "raise SystemExit(2)"])
    with (
        Supervisor([[sleeper("server"), wrong]], stop_order=[], say=print) as supervisor,
        pytest.raises(ProcessesFailed, match="worker cannot work") as failure,
    ):
        supervisor.wait(20)

    assert failure.value.exit_code == 2
    assert supervisor.pids() == {}


def test_a_child_that_does_not_stop_is_killed() -> None:
    said: list[str] = []
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); open({!r}, 'w').close(); time.sleep(60)"
    marker = Path(f"/tmp/tracescore-test-{os.getpid()}-{time.monotonic_ns()}")
    child = Child(name="deaf", argv=[sys.executable, "-c", deaf.format(str(marker))], grace=0.2, is_ready=marker.exists)
    with Supervisor([[child]], stop_order=[], say=said.append) as supervisor:
        supervisor.wait_ready()
    marker.unlink()

    assert said == ["deaf did not stop within 0.2 s and is killed"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent is gone")
def test_children_end_with_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys, time\n"
        "from tracescore.cli.processes import *\n"
        f"child = Child(name='one', argv=program([{sys.executable!r}, '-c', {_SLEEP!r}]))\n"
        "supervisor = Supervisor([[child]], stop_order=[], say=print).__enter__()\n"
        "supervisor.wait_ready()\n"
        "print(supervisor.pids()['one'], flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
    wait_until(lambda: not _exists(pid), description="the orphan's end")


def test_a_broker_opens_no_port_and_forgets_nothing_when_full(tmp_path: Path) -> None:
    with running_broker(tmp_path) as (broker, _):
        client = redis.Redis(unix_socket_path=str(broker.socket))
        wanted = {"port": "0", "appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
        actual = {name: client.config_get(name)[name] for name in wanted}
        client.close()

        assert actual == wanted
        assert (tmp_path / "broker" / "appendonlydir").is_dir()


def test_a_broker_works_in_a_folder_whose_path_is_long_and_odd(tmp_path: Path) -> None:
    folder = tmp_path / ("long " * 20) / ("löng#" * 20)
    with running_broker(folder) as (broker, _):
        assert broker.is_ready()
        assert (folder / "broker" / "appendonlydir").is_dir()


def test_brokers_of_two_folders_do_not_meet(tmp_path: Path) -> None:
    with running_broker(tmp_path / "a") as (a, _), running_broker(tmp_path / "b") as (b, _):
        assert a.url != b.url
        assert announced_broker(tmp_path / "a") == a.url
        assert broker_of("embedded", str(tmp_path / "b")) == b.url
    assert broker_of("embedded", str(tmp_path / "b")) == "none"


def test_wakes_outlive_a_broker_that_is_killed(tmp_path: Path) -> None:
    with running_broker(tmp_path) as (broker, brokers):
        client = redis.Redis(unix_socket_path=str(broker.socket))
        client.set("kept", "yes")
        client.config_set("appendfsync", "always")  # what everysec does within the second
        client.set("kept", "yes")
        first = brokers.pids()["broker"]
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: brokers.pids().get("broker", first) != first and broker.is_ready(), description="a new one")

        assert client.get("kept") == b"yes"
        client.close()


def test_a_broker_that_an_up_left_behind_is_stopped(tmp_path: Path) -> None:
    import subprocess

    binary = valkey_binary()
    assert binary is not None
    broker = EmbeddedBroker(tmp_path, binary)
    broker.prepare(0)
    left = subprocess.Popen(broker.command(), cwd=broker.data)
    broker.announce(left.pid)
    wait_until(broker.is_ready, description="the broker")
    stop_left_over(tmp_path)

    assert left.wait(timeout=10) == 0
    assert announced_broker(tmp_path) is None
    assert not broker.socket.parent.exists()


def test_a_folder_is_for_one_up(tmp_path: Path) -> None:
    with (
        folder_lock(tmp_path),
        pytest.raises(ConfigurationError, match=rf"runs in .* already \(process {os.getpid()}\)"),
        folder_lock(tmp_path),
    ):
        pass
    with folder_lock(tmp_path):
        pass


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
