"""The operations page: each command is one, and the way from one machine to many is walked as it stands."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.words import SETTINGS, parsed
from tests.postgres import PostgresServer
from tests.test_readme import environ, written
from tests.waiting import wait_until
from tests.workers.processes import running_broker
from tracescore.bridge import run_sync
from tracescore.cli.address import free_port
from tracescore.store import Store

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/operations.md")
SECTION = "From one machine to many"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    """Give the shell blocks of a text."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block.strip() for language, block in fenced if language in ("", "bash")]


def commands() -> list[tuple[str, str]]:
    """Give each page's lines that run tracescore."""
    lines = ((page, line) for page in PAGES for block in blocks(text_of(page)) for line in block.splitlines())
    return [(page, line) for page, line in lines if re.match(r"(\w+=\S+ )*tracescore ", line)]


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_on_a_page_is_one(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    name, _ = parsed(words[words.index("tracescore") + 1 :])

    assert name in line


def test_settings_on_a_page_are_settings() -> None:
    named = {name for page in PAGES for name in re.findall(r"\bTRACESCORE_[A-Z_]+[A-Z]", text_of(page))}

    assert named - SETTINGS == set()
    assert len(commands()) > 15


class Walk:
    """The steps of the section, in a shell each, as on machines that share nothing but the settings of step 3."""

    def __init__(self, folder: Path, *, store: str, broker: str, server: PostgresServer, database: str) -> None:
        section = text_of("docs/operations.md").partition(f"## {SECTION}\n")[2].partition("\n## ")[0]
        self._blocks = blocks(section)
        self._folder = folder
        self._database = database
        programs = f"{server._bin}{os.pathsep}"
        self._environ = environ(folder) | {"PGHOST": str(server.data.parent), "PGUSER": "tracescore"}
        self._environ["PATH"] = programs + self._environ["PATH"]
        self._environ["TRACESCORE_SETTLE_QUIET"] = "0.3"
        self._replaced = {
            "postgresql://tracescore:PASSWORD@db.example.com/tracescore": shlex.quote(store),
            "redis://broker.example.com:6379/0": shlex.quote(broker),
        }
        self._settings = self.block("export TRACESCORE_STORE")

    def block(self, start: str) -> str:
        """Give the one block that begins so, with what is of this machine in place of the examples."""
        (found,) = (block for block in self._blocks if block.startswith(start))
        for example, ours in self._replaced.items():
            found = found.replace(example, ours)
        return found

    def run(self, commands: str) -> str:
        """Run commands that must end well, with the settings of step 3."""
        done = subprocess.run(
            ["bash", "-ec", f"{self._settings}\n{commands}"],
            cwd=self._folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextlib.contextmanager
    def running(self, lines: Sequence[str]) -> Generator[None]:
        """Run commands that go on; each ends well at SIGTERM."""
        with contextlib.ExitStack() as stack:
            processes: list[subprocess.Popen[bytes]] = []
            for line in lines:
                process = subprocess.Popen(
                    ["bash", "-ec", f"{self._settings}\nexec {line}"], cwd=self._folder, env=self._environ
                )
                stack.callback(process.wait)
                stack.callback(process.kill)
                processes.append(process)
            yield
            for process in processes:
                process.send_signal(signal.SIGTERM)

            assert [process.wait(timeout=60) for process in processes] == [0] * len(processes)

    def make_database(self) -> None:
        """Make the empty database of step 1; the role is there already, and PostgreSQL would ask for its password."""
        line = self.block("createuser").splitlines()[1].replace("createdb tracescore", f"createdb {self._database}")
        subprocess.run(["bash", "-ec", line], env=self._environ, check=True, timeout=60)


def ask(url: str, path: str, *, token: str, body: bytes | None = None) -> Any:
    headers: Mapping[str, str] = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, body, dict(headers)), timeout=20) as answer:
        return json.load(answer)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.mark.slow
def test_from_one_machine_to_many_as_the_page_says(tmp_path: Path, postgres: PostgresServer) -> None:
    assert sys.platform != "win32"
    database = f"many_{os.getpid()}"
    location = postgres.url(database)
    ports = [free_port("127.0.0.1"), free_port("127.0.0.1")]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    with running_broker(tmp_path / "broker") as (broker, _):
        walk = Walk(written(tmp_path), store=location, broker=broker.url, server=postgres, database=database)
        walk.make_database()
        walk.run(walk.block("tracescore migrate"))
        ingest, read = walk.run(walk.block("tracescore tokens")).split()
        serve, work = walk.block("tracescore serve"), walk.block("tracescore worker")
        servers = [serve.replace("4318", str(port)) for port in ports]
        with walk.running([*servers, work, work]), Store.open(location) as store:
            wait_until(lambda: all(is_ready(url) for url in urls), timeout=60, description="two servers")
            wait_until(lambda: len(run_sync(store.control.workers())) == 2, timeout=60, description="two workers")
            wait_until(lambda: run_sync(store.control.offers("shop")), description="what they offer in the project")
            for url in urls:  # to both, as a balancer does that had no answer from the first
                ask(url, "/v1/traces", token=ingest, body=(tmp_path / "traces.json").read_bytes())
            wait_until(
                lambda: len(ask(urls[1], "/api/scores", token=read)["items"]) == 2, timeout=60, description="two scores"
            )
            doctor = walk.run(walk.block("tracescore doctor"))
            shown = walk.run(walk.block("export OTEL_EXPORTER_OTLP_ENDPOINT"))
            walk.run(walk.block("pg_dump"))

        assert ("workers" in doctor, "✗" in doctor) == (True, False)
        assert ("brevity" in shown, "grounded" in shown) == (True, True)

    postgres.drop_database(database)
    walk.make_database()
    walk.run(re.findall(r"`(pg_restore [^`]*)`", text_of("docs/operations.md"))[0])

    assert "brevity" in walk.run("tracescore scores --project shop")
    postgres.drop_database(database)
