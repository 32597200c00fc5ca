"""What only a database shows that several processes write at once, and that may go away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, MetaData

from tests.postgres import PostgresServer
from tests.store.rows import (
    LEASE,
    NOW,
    TRACE,
    claim,
    finish,
    finished,
    new_job,
    plan,
    replace_runs,
    run_record,
    span_row,
)
from tracescore.bridge import run_sync
from tracescore.cli import main
from tracescore.errors import StoreError, StoreUnavailable
from tracescore.store import Offered, Store, postgres
from tracescore.store.bulk import BulkInsert, execute
from tracescore.store.schema import SPANS, WORK

RUNS = [run_record(str(number)) for number in range(40)]


@pytest.fixture
def pg_store(fresh_postgres_url: str) -> Iterator[Store]:
    with Store.open(fresh_postgres_url) as opened:
        yield opened


@pytest.fixture
def empty_url(postgres: PostgresServer) -> Iterator[str]:
    name = postgres.create_database(template="template0")
    yield postgres.url(name)
    postgres.drop_database(name)


def database_of(url: str) -> str:
    return url.rpartition("?")[0].rpartition("/")[2]


def ingest(store: Store, *names: str, trace_id: str = TRACE) -> int:
    rows = [span_row(name, trace_id=trace_id) for name in names]
    return run_sync(store.spans.ingest("default", rows, (), now_ns=NOW, quiet_ns=1)).new_spans


def at_once(*actions: Callable[[], Any]) -> None:
    """Run each in a thread of its own, and raise what one of them raised."""
    raised: list[BaseException] = []

    def run(action: Callable[[], Any]) -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001  # raised below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_a_database_is_migrated_by_its_command_and_by_nothing_else(
    empty_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        StoreError, match=r"^postgresql://.* is not at this release's schema: run `tracescore migrate`$"
    ):
        Store.open(empty_url)
    assert main(["migrate", "--data", empty_url]) == 0
    assert "migrated" in capsys.readouterr().err
    assert main(["migrate", "--data", empty_url]) == 0
    assert "nothing to do" in capsys.readouterr().err
    with Store.open(empty_url) as store:
        assert ingest(store, "a") == 1


def test_processes_may_migrate_at_once(empty_url: str) -> None:
    migrated: list[bool] = []
    at_once(*[lambda: migrated.append(Store.migrate(empty_url))] * 3)

    assert sorted(migrated) == [False, False, True]


@pytest.mark.parametrize(("name", "tables"), [("spans", SPANS), ("work", WORK)])
def test_migrations_make_the_schema(fresh_postgres_url: str, name: str, tables: MetaData) -> None:
    def ours(found: str | None, kind: str, _parents: Any) -> bool:
        return kind != "table" or found in tables.tables

    options = {"version_table": f"alembic_version_{name}", "include_name": ours}
    engine = postgres.engine_for(fresh_postgres_url)
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), tables)
    engine.dispose()

    assert differences == []


@pytest.mark.parametrize(("found", "opens"), [("0003", True), ("0004", False)])
def test_a_schema_one_release_newer_is_used_and_a_later_one_refused(
    postgres: PostgresServer, fresh_postgres_url: str, found: str, opens: bool
) -> None:
    postgres.execute(
        f"UPDATE alembic_version_work SET version_num = '{found}'", database=database_of(fresh_postgres_url)
    )
    if opens:
        Store.open(fresh_postgres_url).close()
    else:
        with pytest.raises(StoreError, match="newer tracescore"):
            Store.open(fresh_postgres_url)


def test_an_address_is_shown_without_its_password() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        Store.open("postgresql://user:secret@127.0.0.1:1/db?password=secret")

    assert "postgresql://user@127.0.0.1:1/db" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_restart_while_leases_are_held_loses_nothing(
    postgres: PostgresServer, pg_store: Store, how: signal.Signals
) -> None:
    replace_runs(pg_store, *RUNS)
    plan(pg_store, *map(new_job, RUNS))
    held = claim(pg_store, limit=25)
    assert ingest(pg_store, "a") == 1
    postgres.stop(how)
    try:
        for act in (lambda: finish(pg_store, *map(finished, held)), lambda: ingest(pg_store, "b")):
            with pytest.raises(StoreUnavailable) as caught:
                act()
            assert caught.value.retry_after > 0
        with pytest.raises(StoreUnavailable):
            run_sync(pg_store.jobs.counts())
    finally:
        postgres.start()

    assert run_sync(pg_store.jobs.counts())["leased"] == 25
    assert finish(pg_store, *map(finished, held)) == {job.job_id for job in held}
    assert ingest(pg_store, "a", "b") == 1
    assert len(claim(pg_store, now_ns=NOW + LEASE, limit=100)) == 15


def test_a_restart_between_two_writes_is_not_noticed(postgres: PostgresServer, pg_store: Store) -> None:
    assert ingest(pg_store, "a") == 1
    assert run_sync(pg_store.spans.trace_counts()).spans == 1
    postgres.stop()
    postgres.start()

    assert ingest(pg_store, "b") == 1
    assert run_sync(pg_store.spans.trace_counts()).spans == 2


def test_too_many_connections_are_said(postgres: PostgresServer, fresh_postgres_url: str) -> None:
    with ExitStack() as stack:
        with suppress(psycopg.OperationalError):  # the one that was too many
            while True:
                stack.enter_context(psycopg.connect(fresh_postgres_url))
        with pytest.raises(StoreUnavailable, match="too many clients"):
            Store.open(fresh_postgres_url)

    Store.open(fresh_postgres_url).close()


def test_a_full_disk_is_said_and_what_was_acknowledged_is_there_after(
    postgres: PostgresServer, fresh_postgres_url: str, pg_store: Store
) -> None:
    assert ingest(pg_store, "a") == 1
    full = "BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END"
    database = database_of(fresh_postgres_url)
    postgres.execute(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ {full} $$", database=database)
    postgres.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON spans FOR EACH ROW EXECUTE FUNCTION full_disk()", database=database
    )
    with pytest.raises(StoreUnavailable, match="full") as caught:
        ingest(pg_store, "b")
    assert caught.value.full
    postgres.execute("DROP TRIGGER full_disk ON spans", database=database)

    assert ingest(pg_store, "a", "b") == 1


def test_a_row_that_another_holds_for_too_long_is_said(
    fresh_postgres_url: str, pg_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOCK_WAIT", "100ms")
    assert ingest(pg_store, "a") == 1
    with psycopg.connect(fresh_postgres_url) as other:
        other.execute("SELECT 1 FROM traces FOR UPDATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            ingest(pg_store, "b")
        other.rollback()

    assert ingest(pg_store, "b") == 1


def test_groups_that_wait_for_each_other_both_end(fresh_postgres_url: str) -> None:
    """Two writers take the same two rows in opposite orders, each in one group."""
    barrier = threading.Barrier(2)
    insert = (
        "INSERT INTO counters (project, name, value) VALUES (?, 'n', 1) "
        "ON CONFLICT (project, name) DO UPDATE SET value = counters.value + 1"
    )

    def write(store: Store, first: str, second: str) -> None:
        met: list[bool] = []

        def operation(connection: Connection) -> None:
            execute(connection, insert, first)
            if not met:
                met.append(True)
                barrier.wait(10)
            execute(connection, insert, second)

        run_sync(store.control._database.write(operation))

    with Store.open(fresh_postgres_url) as one, Store.open(fresh_postgres_url) as other:
        at_once(lambda: write(one, "a", "b"), lambda: write(other, "b", "a"))
        rows = run_sync(
            one.control._database.read(
                lambda connection: connection.exec_driver_sql("SELECT project, value FROM counters ORDER BY 1").all()
            )
        )

    assert [tuple(row) for row in rows] == [("a", 2), ("b", 2)]


def test_text_that_no_database_takes_is_replaced_or_refused_with_a_word(pg_store: Store) -> None:
    rows = [span_row("a")]
    assert run_sync(pg_store.spans.ingest("p\x00q\ud800", rows, (), now_ns=NOW, quiet_ns=1)).new_spans == 1
    assert run_sync(pg_store.spans.load_trace("p\x00q\ud800", TRACE)) is not None
    with pytest.raises(StoreError, match="NUL"):
        run_sync(pg_store.control.rule_set("default", "app", "a\x00b", "{}", ["h"], now_ns=NOW))


@pytest.mark.parametrize("size", [6, 30])
def test_servers_that_receive_the_same_spans_count_each_once(fresh_postgres_url: str, size: int) -> None:
    """Requests of few rows go in as values, of many by COPY."""
    names = [str(number) for number in range(60)]
    with Store.open(fresh_postgres_url) as one, Store.open(fresh_postgres_url) as other:
        new: list[int] = []

        def send(store: Store, order: list[str]) -> None:
            for start in range(0, 60, size - 2):
                new.append(ingest(store, *order[start : start + size]))
                new.append(ingest(store, *order[start : start + size], trace_id="22" * 16))

        at_once(lambda: send(one, names), lambda: send(other, names[::-1]), lambda: send(one, names[30:] + names))
        counts = run_sync(one.spans.trace_counts(now_ns=NOW))

    assert (sum(new), counts.traces, counts.spans) == (120, 2, 120)


@pytest.mark.parametrize("known", [{bytes.fromhex(TRACE)}, set[bytes]()])
def test_rows_that_came_before_are_told_from_new_ones_whether_or_not_they_were_expected(
    fresh_postgres_url: str, known: set[bytes]
) -> None:
    rows = [("default", *span_row(str(number))[:7], NOW, b"{}") for number in range(60)]
    spans = BulkInsert.into(SPANS.tables["spans"], on_conflict="DO NOTHING")
    keys = ("trace_id", "span_id", "copy_hash")
    database = postgres.PostgresDatabase(url=fresh_postgres_url, tables=SPANS)
    with database.engine(writes=True).connect() as connection:
        database.begin_write(connection)
        spans.run(connection, rows[:30])
        told = spans.tell_new(connection, [*rows[20:], rows[59]], keys=keys, known=known)
        again = spans.tell_new(connection, rows, keys=keys, known=known)
        execute(connection, "COMMIT")

    assert [(sorted(new), count) for new, count in told] == [(sorted(rows[30:]), 30)]
    assert again == [([], 0)]


def test_workers_at_everything_at_once_leave_one_current_score_of_each_scorer(fresh_postgres_url: str) -> None:
    """Three processes' stores replace, plan, claim and finish the same runs; nothing fails, nothing is done twice."""
    scorers = [Offered(project="default", scorer_id=name, scorer_version="1") for name in ("a", "b", "c")]
    done: list[str] = []

    def work(store: Store, seed: int) -> None:
        for version in range(1, 6):
            runs = [run_record(str(number), content=f"c{version}") for number in range(12)]
            runs = runs[seed:] + runs[:seed]
            replace_runs(store, *runs, version=version)
            jobs = [new_job(run, revision=version, scorer_id=s.scorer_id) for run in runs for s in scorers]
            plan(store, *jobs)
            while claimed := claim(store, offers=scorers, limit=5, worker=f"w{seed}"):
                done.extend(finish(store, *map(finished, reversed(claimed))))

    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(fresh_postgres_url)) for _ in range(3)]
        at_once(*(lambda store=store, seed=seed: work(store, seed) for seed, store in enumerate(stores)))
        work(stores[0], 0)
        rows = run_sync(stores[0].scores.list("default", trace_id=TRACE, limit=500)).items
        counts = run_sync(stores[0].jobs.counts())

    assert len(done) == len(set(done))
    assert sorted((row.run_id, row.scorer_id) for row in rows) == sorted(
        {(run_record(str(number)).run_id, scorer.scorer_id) for number in range(12) for scorer in scorers}
    )
    assert counts["pending"] == counts["leased"] == 0
