"""A store that is full, locked, frozen or stopped: said in time, nothing acknowledged is lost, and it goes on after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.pipeline.exports import agent_span, request_of
from tests.postgres import PostgresServer
from tests.server.calls import Answer, call, get
from tests.store.faults import fill_disk
from tests.waiting import wait_until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import AgentRun
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.wake import NoWake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.scorers import scorer
from tracescore.server import RunningServer, patience, serving
from tracescore.settings import Settings
from tracescore.store import Store, postgres, sqlite

QUIET = 0.1
READS = ("/api/runs", "/api/scores", "/api/scorers", "/api/batches", "/api/jobs/stranded", "/readyz")
_HOLD = """import sqlite3, sys
held = [sqlite3.connect(path, isolation_level=None) for path in sys.argv[1:]]
for connection in held:
    connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()"""


class Sender:
    """Send traces of one span each, and remember those that were acknowledged."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._numbers = count(1)
        self.acknowledged: set[str] = set()

    def send(self) -> Answer:
        number = next(self._numbers)
        body = json.dumps(request_of([agent_span(number, number, text="x" * 60_000)])).encode()
        answer = call(self._server, "POST", "/v1/traces", body, content_type="application/json")
        if answer.status == 200:
            self.acknowledged.add(f"{number:032x}")
        return answer


class Outages:
    """What can befall the store at a location."""

    def __init__(self, location: str, server: PostgresServer | None) -> None:
        self._location = location
        self._server = server
        self._database = location.rpartition("?")[0].rpartition("/")[2]

    @contextmanager
    def full(self, store: Store) -> Generator[None]:
        if self._server is None:
            fill_disk(store)
            yield
            fill_disk(store, pages=None)
            return
        said = "BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END"
        self._execute(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ {said} $$")
        self._execute("CREATE TRIGGER full_disk BEFORE INSERT ON spans FOR EACH ROW EXECUTE FUNCTION full_disk()")
        yield
        self._execute("DROP TRIGGER full_disk ON spans")

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold an exclusive lock in another process."""
        if self._server is not None:
            with psycopg.connect(self._location) as other:
                other.execute("LOCK TABLE spans, traces, runs, jobs, scores, offers, batches IN ACCESS EXCLUSIVE MODE")
                yield
                other.rollback()
            return
        files = [str(Path(self._location) / name) for name in ("spans.db", "work.db")]
        command = [sys.executable, "-c", _HOLD, *files]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            yield
            other.communicate()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Have the database answer nothing at all, its connections open."""
        rows = self._execute(f"SELECT pid FROM pg_stat_activity WHERE datname = '{self._database}'")
        pids = [row[0] for row in rows]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    @contextmanager
    def stopped(self) -> Generator[None]:
        assert self._server is not None
        self._server.stop()
        try:
            yield
        finally:
            self._server.start()

    def _execute(self, statement: str) -> list[tuple[int, ...]]:
        assert self._server is not None
        # By another database, where that does: its session is then not among those that are frozen.
        database = "postgres" if statement.startswith("SELECT") else self._database
        return self._server.execute(statement, database=database)


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store")
    found: str = request.getfixturevalue("fresh_postgres_url")
    return found


@pytest.fixture
def outages(location: str, request: pytest.FixtureRequest) -> Outages:
    return Outages(location, request.getfixturevalue("postgres") if "://" in location else None)


@pytest.fixture
def store(location: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(sqlite, "LOCK_WAIT", 0.3)
    monkeypatch.setattr(postgres, "LOCK_WAIT", "100ms")
    with Store.open(location) as opened:
        yield opened


@pytest.fixture
def sender(server: RunningServer) -> Sender:
    return Sender(server)


def assert_refused(answer: Answer, word: str) -> None:
    assert answer.status == 503, answer.body
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json["error"].startswith("the store is not available: ")
    assert word in answer.json["error"]
    assert "\n" not in answer.json["error"]


def stored(store: Store, trace_ids: set[str]) -> set[str]:
    return {key for key in trace_ids if run_sync(store.spans.load_trace("default", key)) is not None}


def assert_all_are_there(store: Store, sender: Sender) -> None:
    assert sender.send().status == 200
    assert stored(store, sender.acknowledged) == sender.acknowledged


def test_a_full_disk_is_answered_with_when_to_come_again(store: Store, sender: Sender, outages: Outages) -> None:
    assert sender.send().status == 200
    with outages.full(store):
        for _ in range(2):
            assert_refused(sender.send(), "full")

    assert_all_are_there(store, sender)


def test_a_full_disk_can_still_be_read(store: Store, sender: Sender, outages: Outages, server: RunningServer) -> None:
    with outages.full(store):
        answers = {path: get(server, path).status for path in READS}

    assert answers == dict.fromkeys(READS, 200)


def test_a_locked_store_is_answered_with_when_to_come_again(store: Store, sender: Sender, outages: Outages) -> None:
    assert sender.send().status == 200
    with outages.locked(), ThreadPoolExecutor(12) as threads:
        for sent in [threads.submit(sender.send) for _ in range(12)]:
            assert_refused(sent.result(), "locked")

    assert_all_are_there(store, sender)


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_locked_table_is_said_to_who_reads(server: RunningServer, outages: Outages) -> None:
    assert get(server, "/api/runs").status == 200
    with outages.locked():
        assert_refused(get(server, "/api/runs"), "locked")

    assert get(server, "/api/runs").status == 200


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_stopped_database_is_said_to_who_writes_and_who_reads(
    store: Store, sender: Sender, server: RunningServer, outages: Outages
) -> None:
    assert sender.send().status == 200
    with outages.stopped():
        assert get(server, "/healthz").status == 200
        for answer in [sender.send(), *(get(server, path) for path in READS)]:
            assert_refused(answer, "cannot be used")

    assert_all_are_there(store, sender)
    assert {path: get(server, path).status for path in READS} == dict.fromkeys(READS, 200)


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_database_that_says_nothing_is_not_waited_for(
    store: Store, settings: Settings, outages: Outages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "ANSWER_WITHIN", 0.3)
    with serving(store, settings) as server:
        sender = Sender(server)
        assert sender.send().status == 200
        assert get(server, "/api/runs").status == 200
        with outages.frozen():
            assert_refused(sender.send(), "no answer within")
            assert_refused(get(server, "/api/runs"), "no answer within")

        wait_until(lambda: sender.send().status == 200, description="an answer")
        assert_all_are_there(store, sender)


@scorer(id="length", version="1")
def length(run: AgentRun) -> float:
    return min(len(run.output.text) / 100_000, 1.0)


def test_a_worker_goes_on_after_an_outage(store: Store, sender: Sender, location: str, outages: Outages) -> None:
    quiet_ns = int(QUIET * 1e9)
    times = SettleTimes(quiet_ns=quiet_ns, orphan_ns=quiet_ns, max_ns=60 * 10**9)
    app = TraceScore([length])
    failures: list[BaseException] = []

    def scored() -> list[str]:
        return sorted(str(row.trace_id) for row in run_sync(store.scores.list("default", current=None)).items)

    with Store.open(location) as own:
        worker = Worker(own, app, wake=NoWake(), options=WorkerOptions(times=times), on_failure=failures.append)
        worker.start()
        try:
            assert sender.send().status == 200
            wait_until(lambda: len(scored()) == 1, description="the first score")
            with outages.locked() if "://" not in location else outages.stopped():
                assert sender.send().status == 503
            wait_until(lambda: sender.send().status == 200, description="an answer")
            wait_until(lambda: len(scored()) == len(sender.acknowledged), description="every score")
        finally:
            worker.stop(grace=10)

    assert scored() == sorted(sender.acknowledged)
    assert failures == []
