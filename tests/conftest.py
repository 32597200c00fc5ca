"""What holds for every test: no key of this machine's user, the same generated examples everywhere, no time lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn.server
from hypothesis import HealthCheck, settings

from tests.postgres import PostgresServer
from tracescore.pipeline.child import ChildProcess
from tracescore.store import Store, opening
from tracescore.store.sqlite import SQLiteFile

# Each process of a test would compile what it imports anew, which takes longer than most tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A test run must not depend on luck, nor on how busy the machine is; searching for new examples is fuzzing's work.
settings.register_profile("tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this session's own."""
    if sys.platform == "win32":
        pytest.skip("there is no wheel of PostgreSQL for Windows")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """An empty store's URL; the next test gets the same database, emptied."""
    name = postgres.lend_database()
    yield postgres.url(name)
    postgres.take_back(name)


@pytest.fixture
def fresh_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a store in a database of its own, for who changes more than rows."""
    name = postgres.create_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(autouse=True)
def _no_provider_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store as a user's is made, for others to be copied from."""
    folder = tmp_path_factory.mktemp("migrated")
    Store.open(folder).close()
    return folder


@pytest.fixture(autouse=True)
def _fresh_stores_are_copied(migrated_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy each fresh SQLite store of this process: migrating takes ten times as long. Its own tests do without."""
    bring_up = opening._bring_up

    def copy(name: str, file: SQLiteFile) -> None:
        if file.path.exists():
            bring_up(name, file)
        else:
            shutil.copy(migrated_folder / file.path.name, file.path)

    monkeypatch.setattr(opening, "_bring_up", copy)


@pytest.fixture(scope="session")
def idle_children() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Hold the child processes that no test needs just now."""
    idle: list[subprocess.Popen[bytes]] = []
    yield idle
    for process in idle:
        process.communicate()


@pytest.fixture(autouse=True)
def _children_go_from_test_to_test(
    idle_children: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep a child that runs pure functions for the next test: starting one takes longer than what it is asked."""
    start, close = ChildProcess._start, ChildProcess.close

    def take_or_start(child: ChildProcess) -> subprocess.Popen[bytes]:
        while idle_children:
            process = child._process = idle_children.pop()
            if process.poll() is None:
                return process
            child._stop(process)
        return start(child)

    def give_back_or_close(child: ChildProcess) -> None:
        process = child._process
        if process is None or process.poll() is not None or not child._lock.acquire(blocking=False):
            close(child)
            return
        child._process = None
        idle_children.append(process)
        child._lock.release()

    monkeypatch.setattr(ChildProcess, "_start", take_or_start)
    monkeypatch.setattr(ChildProcess, "close", give_back_or_close)


@pytest.fixture(scope="session", autouse=True)
def _servers_stop_at_once() -> Iterator[None]:
    """Have uvicorn look every few milliseconds whether it should stop, not ten times a second."""

    async def sleep(delay: float) -> None:
        await asyncio.sleep(delay / 20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        yield
