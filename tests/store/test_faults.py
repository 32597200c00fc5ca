from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sqlite3
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.store.faults import fill_disk
from tests.store.rows import NOW, TRACE, claim, finish, finished, new_job, plan, replace_runs, run_record, span_row
from tracescore.bridge import run_sync
from tracescore.errors import StoreError, StoreUnavailable
from tracescore.store import Store, sqlite
from tracescore.store import finish as finish_module
from tracescore.store.bulk import execute

A = run_record("a")


def ingest(store: Store, count: int, *, trace_id: str = TRACE) -> int:
    rows = [span_row(str(number), trace_id=trace_id, body=b"x" * 2000) for number in range(count)]
    return run_sync(store.spans.ingest("default", rows, (), now_ns=NOW, quiet_ns=1)).new_spans


def count_spans(store: Store) -> int:
    return run_sync(store.spans.trace_counts(now_ns=NOW)).spans


async def write_many(store: Store, *operations: Any) -> list[Any]:
    database = store.control._database
    return await asyncio.gather(*(database.write(operation) for operation in operations), return_exceptions=True)


def insert_lease(name: str) -> Any:
    def operation(connection: Connection) -> str:
        execute(connection, "INSERT INTO leases (name, holder, until_ns) VALUES (?, 'h', 1)", name)
        return name

    return operation


def leases(store: Store) -> list[str]:
    sql = "SELECT name FROM leases ORDER BY name"
    rows = run_sync(store.control._database.read(lambda connection: connection.exec_driver_sql(sql).all()))
    return [row[0] for row in rows]


def test_a_full_disk_is_said_and_what_was_acknowledged_is_there_after(sqlite_store: Store) -> None:
    acknowledged = ingest(sqlite_store, 50)
    fill_disk(sqlite_store)
    with pytest.raises(StoreUnavailable, match="full") as caught:
        ingest(sqlite_store, 500, trace_id="22" * 16)

    assert caught.value.full
    assert caught.value.retry_after > 0
    assert count_spans(sqlite_store) == acknowledged
    fill_disk(sqlite_store, pages=None)
    assert ingest(sqlite_store, 500, trace_id="22" * 16) == 500
    assert count_spans(sqlite_store) == acknowledged + 500


def test_what_could_not_be_written_is_let_go_at_once(sqlite_store: Store) -> None:
    class Large:
        def __call__(self, connection: Connection) -> None:
            insert_lease("x" * 1_000_000)(connection)

    async def refused() -> weakref.ref[Large]:
        operation = Large()
        with contextlib.suppress(StoreUnavailable):
            await sqlite_store.control._database.write(operation)
            raise AssertionError
        return weakref.ref(operation)

    fill_disk(sqlite_store)
    gc.disable()  # which would find it later
    try:
        held = run_sync(refused())
        run_sync(write_many(sqlite_store, insert_lease("a")))  # the writer is past the one before

        assert held() is None
    finally:
        gc.enable()


def test_a_full_disk_loses_no_outcome(sqlite_store: Store) -> None:
    runs = [run_record(str(number)) for number in range(200)]
    replace_runs(sqlite_store, *runs)
    plan(sqlite_store, *map(new_job, runs))
    jobs = claim(sqlite_store, limit=200)
    fill_disk(sqlite_store)
    with pytest.raises(StoreUnavailable):
        finish(sqlite_store, *map(finished, jobs))

    fill_disk(sqlite_store, pages=None)
    assert run_sync(sqlite_store.jobs.counts())["leased"] == 200
    assert len(finish(sqlite_store, *map(finished, jobs))) == 200


def test_a_locked_database_is_said_after_a_wait(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOCK_WAIT", 0.05)
    with Store.open(folder) as store:
        other = sqlite3.connect(Path(folder) / "spans.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked") as caught:
            ingest(store, 1)
        other.execute("ROLLBACK")
        other.close()

        assert not caught.value.full
        assert ingest(store, 1) == 1


def test_a_database_that_another_process_has_just_opened_or_closed_is_waited_for(folder: str) -> None:
    # The first and the last connection of a WAL have it to themselves for a moment; here for longer.
    with Store.open(folder) as store:
        other = sqlite3.connect(Path(folder) / "spans.db", isolation_level=None, check_same_thread=False)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        other.execute("COMMIT")
        with (
            pytest.raises(sqlite3.OperationalError, match="locked"),
            sqlite3.connect(Path(folder) / "spans.db", timeout=0) as third,
        ):
            third.execute("SELECT count(*) FROM spans")
        release = threading.Timer(0.3, other.close)
        release.start()

        assert ingest(store, 1) == 1
        release.join()


def test_who_waits_for_a_locked_database_is_told_with_the_first(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOCK_WAIT", 0.2)
    waits: list[object] = []
    begin = sqlite.SQLiteFile.begin_write

    def counted(file: sqlite.SQLiteFile, connection: Connection, *, alone: bool = False) -> None:
        waits.append(file)
        begin(file, connection, alone=alone)

    with Store.open(folder) as store, sqlite3.connect(Path(folder) / "work.db", isolation_level=None) as other:
        monkeypatch.setattr(sqlite.SQLiteFile, "begin_write", counted)
        other.execute("BEGIN IMMEDIATE")
        results = run_sync(write_many(store, *(insert_lease(str(number)) for number in range(30))))
        other.execute("ROLLBACK")

        assert {type(result) for result in results} == {StoreUnavailable}
        assert len(waits) <= 2  # one for those that were there, one for such as came while they were told
        assert run_sync(write_many(store, insert_lease("a"))) == ["a"]
    other.close()


@pytest.mark.parametrize("written_before", [True, False])
def test_a_store_that_is_deleted_under_us_acknowledges_nothing(folder: str, written_before: bool) -> None:
    with Store.open(folder) as store:
        if written_before:
            ingest(store, 1)
        for path in Path(folder).iterdir():
            path.unlink()

        with pytest.raises(StoreUnavailable, match="gone"):
            ingest(store, 1)
        assert list(Path(folder).iterdir()) == []


def test_a_damaged_file_is_said(folder: str) -> None:
    with Store.open(folder) as store:
        ingest(store, 2000)
    path = Path(folder) / "spans.db"
    content = bytearray(path.read_bytes())
    start = len(content) // 2
    content[start:] = os.urandom(len(content) - start)
    path.write_bytes(content)
    with Store.open(folder) as store, pytest.raises(StoreError, match=r"spans\.db is damaged"):
        run_sync(store.spans.load_trace("default", TRACE))


def test_a_failing_operation_of_a_group_fails_alone(store: Store) -> None:
    def broken(connection: Connection) -> None:
        insert_lease("half")(connection)
        raise ValueError("its own fault")

    results = run_sync(write_many(store, insert_lease("a"), broken, insert_lease("b"), insert_lease("a")))

    assert [results[0], results[2]] == ["a", "b"]
    assert isinstance(results[1], ValueError)
    assert isinstance(results[3], StoreError)
    assert leases(store) == ["a", "b"]


def test_a_failing_commit_fails_all_and_is_told_once_each(sqlite_store: Store) -> None:
    def full(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        for number in range(1000):
            insert_lease(f"{number}" * 500)(connection)

    results = run_sync(write_many(sqlite_store, insert_lease("a"), full, insert_lease("b")))

    assert isinstance(results[1], StoreUnavailable)
    assert leases(sqlite_store) == sorted(name for name in results if isinstance(name, str))


def test_an_outcome_is_written_whole_or_not_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_runs(store, A)
    plan(store, new_job(A))
    (job,) = claim(store)

    class Broken:
        def run(self, *_: Any) -> None:
            raise RuntimeError("killed between the score and the outbox")

    with monkeypatch.context() as patched:
        patched.setattr(finish_module, "_INSERT_OUTBOX", Broken())
        with pytest.raises(RuntimeError):
            finish(store, finished(job, sinks=("otel",)))

    assert run_sync(store.jobs.counts())["leased"] == 1
    assert run_sync(store.scores.list("default", current=None)).items == ()
    assert finish(store, finished(job, sinks=("otel",))) == {job.job_id}
    assert len(run_sync(store.scores.list("default")).items) == 1


def test_a_cancelled_caller_does_not_stop_the_others(store: Store) -> None:
    async def scenario() -> list[str]:
        tasks = [asyncio.ensure_future(store.control._database.write(insert_lease(name))) for name in "abcdef"]
        await asyncio.sleep(0)
        tasks[3].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        return [name for name in done if isinstance(name, str)]

    survivors = run_sync(scenario())
    assert survivors == ["a", "b", "c", "e", "f"]
    assert set(leases(store)) >= set(survivors)


def test_a_closed_store_says_so(location: str) -> None:
    store = Store.open(location)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        ingest(store, 1)
    with pytest.raises(StoreError, match="closed"):
        count_spans(store)


def test_closing_keeps_what_was_submitted(location: str) -> None:
    async def submit(store: Store) -> None:
        writes = [
            asyncio.ensure_future(store.control._database.write(insert_lease(str(number)))) for number in range(50)
        ]
        await asyncio.sleep(0)
        await store.aclose()
        await asyncio.gather(*writes)

    run_sync(submit(Store.open(location)))
    with Store.open(location) as store:
        assert len(leases(store)) == 50


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # which is what is tried here
def test_a_forked_child_must_open_its_own(store: Store) -> None:
    child = os.fork()
    if child == 0:
        try:
            ingest(store, 1)
        except StoreError as error:
            store.close()
            os._exit(0 if "another process" in str(error) else 1)
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ingest(store, 1) == 1
