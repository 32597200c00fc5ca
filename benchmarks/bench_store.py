"""The store alone: spans ingested, and jobs claimed and finished, beside the bare database in the same run.

Spans have bodies of 2.2 KB and unique ids, ten to a trace, 500 to a batch; jobs go in batches of 64, each with its
score, its evidence and one delivery. The bare loops do their statements by the driver alone in one thread: the spans
with their key and nothing else, the jobs with the same rows but nothing checked. Both on SQLite and on a PostgreSQL of
the benchmark's own, with every commit durable; CPU is this process's, not the server's. Prints one JSON line for each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import store_postgres
from benchmarks.figures import Stopwatch, report
from tests.postgres import PostgresServer
from tracescore.bridge import run_sync
from tracescore.model import Evidence, Score
from tracescore.model.ids import job_id
from tracescore.otel.records import SpanRow
from tracescore.store import ClaimedJob, FinishedJob, NewJob, Offered, RunRecord, Store

NOW = time.time_ns()
LEASE = 60_000_000_000
BATCH = 500
SPANS_PER_TRACE = 10
CONCURRENT = 4
JOBS = 64
WORKERS = 2
OFFER = Offered(project="default", scorer_id="brevity", scorer_version="1:abcdef0123456789")
INGEST_RATIO = 0.6
JOBS_RATIO = 0.4
_Figures = tuple[float, float, float]
"""Units a second, CPU a unit, and the bare database's units a second."""


def main() -> None:
    """Measure both, ``--rounds`` times, and report the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=40_000)
    parser.add_argument("--jobs", type=int, default=9_600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    arguments = parser.parse_args()
    if arguments.database != "postgresql":
        _report_ingest(
            [_in_folder(_ingest, arguments.spans) for _ in range(arguments.rounds)],
            database="sqlite",
            limit_is="sqlite3 executemany in one thread, the same key, pages and synchronous=FULL, no trace rows",
        )
        _report_jobs(
            [_in_folder(_jobs, arguments.jobs) for _ in range(arguments.rounds)],
            database="sqlite",
            limit_is="sqlite3 in one thread on a copy of the file: UPDATE … RETURNING, the same rows, synchronous=FULL",
        )
    if arguments.database != "sqlite":
        with store_postgres.server() as server:
            _report_ingest(
                [_postgres_ingest(server, arguments.spans) for _ in range(arguments.rounds)],
                database="postgresql",
                limit_is="COPY in one thread into a temporary table, from there ON CONFLICT DO NOTHING, no trace rows",
            )
            _report_jobs(
                [_postgres_jobs(server, arguments.jobs) for _ in range(arguments.rounds)],
                database="postgresql",
                limit_is="psycopg in one thread on a copy: UPDATE … SKIP LOCKED RETURNING, the same rows in pipelines",
            )


def _report_ingest(figures: list[_Figures], *, database: str, limit_is: str) -> None:
    report(
        benchmark=f"store_ingest_{database}",
        unit="spans of 2200 bytes, durable",
        figure=statistics.median(figure for figure, _, _ in figures),
        cpu_ms_per_unit=statistics.median(cpu for _, cpu, _ in figures),
        limit=statistics.median(limit for _, _, limit in figures),
        limit_is=limit_is,
        target_ratio=INGEST_RATIO,
    )


def _report_jobs(figures: list[_Figures], *, database: str, limit_is: str) -> None:
    report(
        benchmark=f"store_jobs_{database}",
        unit="jobs claimed and finished, each with its score",
        figure=statistics.median(figure for figure, _, _ in figures),
        cpu_ms_per_unit=statistics.median(cpu for _, cpu, _ in figures),
        limit=statistics.median(limit for _, _, limit in figures),
        limit_is=limit_is,
        target_ratio=JOBS_RATIO,
    )


def _in_folder(measure: Callable[[Path, int], _Figures], count: int) -> _Figures:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), count)


def _ingest(folder: Path, count: int) -> _Figures:
    batches = [list(batch) for batch in _span_batches(count)]
    bare = _bare_ingest(folder / "bare.db", batches)
    watch = _ingest_into(folder / "store", batches, count)
    return count / watch.wall, watch.cpu / count * 1000, count / bare


def _postgres_ingest(server: PostgresServer, count: int) -> _Figures:
    batches = [list(batch) for batch in _span_batches(count)]
    bare, own = server.create_database(), server.create_database()
    seconds = store_postgres.copy_spans(server.url(bare), batches)
    watch = _ingest_into(server.url(own), batches, count)
    for name in (bare, own):
        server.drop_database(name)
    return count / watch.wall, watch.cpu / count * 1000, count / seconds


def _ingest_into(location: str | Path, batches: list[list[SpanRow]], count: int) -> Stopwatch:
    with Store.open(location) as store:

        async def send(start: int) -> None:
            for batch in batches[start::CONCURRENT]:
                done = await store.spans.ingest("default", batch, (), now_ns=NOW, quiet_ns=LEASE)
                assert done.new_spans == len(batch)

        async def send_all() -> None:
            await asyncio.gather(*(send(start) for start in range(CONCURRENT)))

        with Stopwatch() as watch:
            run_sync(send_all())
        assert run_sync(store.spans.trace_counts()).spans == count
    return watch


def _span_batches(count: int) -> Iterator[Iterator[SpanRow]]:
    body = os.urandom(1100).hex().encode()
    for start in range(0, count, BATCH):
        yield (
            SpanRow(
                trace_id=((start + place) // SPANS_PER_TRACE * 2654435761 % 2**64).to_bytes(16, "little"),
                span_id=os.urandom(8),
                copy_hash=os.urandom(16),
                parent_span_id=None,
                start_ns=NOW,
                end_ns=NOW,
                flags=256,
                complete=False,
                body=body,
            )
            for place in range(min(BATCH, count - start))
        )


def _bare_ingest(path: Path, batches: list[list[SpanRow]]) -> float:
    connection = _bare(path, page_size=16384)
    connection.execute(
        "CREATE TABLE spans (project TEXT, trace_id BLOB, span_id BLOB, copy_hash BLOB, parent_span_id BLOB, "
        "start_ns INTEGER, end_ns INTEGER, flags INTEGER, complete INTEGER, body BLOB, "
        "PRIMARY KEY (project, trace_id, span_id, copy_hash))"
    )
    rows = [[("default", *row[:9]) for row in batch] for batch in batches]
    with Stopwatch() as watch:
        for batch in rows:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(f"INSERT OR IGNORE INTO spans VALUES ({', '.join('?' * len(batch[0]))})", batch)
            connection.execute("COMMIT")
    connection.close()
    return watch.wall


def _jobs(folder: Path, count: int) -> _Figures:
    _fill_new(folder / "store", count)
    shutil.copy(folder / "store" / "work.db", folder / "bare.db")
    bare = _bare_jobs(folder / "bare.db")
    watch = _work_in(folder / "store", count)
    return count / watch.wall, watch.cpu / count * 1000, count / bare


def _postgres_jobs(server: PostgresServer, count: int) -> _Figures:
    own = server.create_database()
    _fill_new(server.url(own), count)
    bare = server.create_database(template=own)
    seconds = store_postgres.work_jobs(server.url(bare), OFFER, now_ns=NOW, lease_ns=LEASE, limit=JOBS)
    watch = _work_in(server.url(own), count)
    for name in (bare, own):
        server.drop_database(name)
    return count / watch.wall, watch.cpu / count * 1000, count / seconds


def _fill_new(location: str | Path, count: int) -> None:
    runs = [_run(number) for number in range(count)]
    with Store.open(location) as store:
        run_sync(_fill(store, runs, [_job(run, number) for number, run in enumerate(runs)]))


def _work_in(location: str | Path, count: int) -> Stopwatch:
    with Store.open(location) as store:
        with Stopwatch() as watch:
            done = run_sync(_work_all(store))
        assert done == count
    return watch


async def _fill(store: Store, runs: list[RunRecord], jobs: list[NewJob]) -> None:
    for start in range(0, len(runs), BATCH):
        part = runs[start : start + BATCH]
        await store.runs.replace_runs("default", str(part[0].trace_id), 1, part, now_ns=NOW)
        planned = await store.jobs.plan("default", "app", jobs[start : start + BATCH], now_ns=NOW)
        assert len(planned) == len(part)


async def _work_all(store: Store) -> int:
    return sum(await asyncio.gather(*(_work(store) for _ in range(WORKERS))))


async def _work(store: Store) -> int:
    done = 0
    while True:
        claimed = await store.jobs.claim([OFFER], worker="w", now_ns=NOW, lease_ns=LEASE, limit=JOBS)
        if not claimed:
            break
        done += len(await store.jobs.finish([_finished(job) for job in claimed]))
    return done


def _run(number: int) -> RunRecord:
    trace_id = os.urandom(16).hex()
    return RunRecord(
        run_id=os.urandom(16).hex(),
        kind="agent",
        trace_id=trace_id,
        span_id=os.urandom(8).hex(),
        parent_run_id=None,
        session_id=None,
        agent_name="agent",
        service="shop",
        environment="bench",
        status="ok",
        started_ns=NOW,
        ended_ns=NOW,
        first_arrival_ns=NOW,
        outermost=True,
        content_hash=f"{number:032x}",
        plan_hash="p",
        body=b"x" * 3000,
    )


def _job(run: RunRecord, number: int) -> NewJob:
    scorer_id, version = OFFER.scorer_id, OFFER.scorer_version
    return NewJob(
        job_id=job_id(run_id=run.run_id, planned_hash=run.content_hash, scorer_id=scorer_id, scorer_version=version),
        run_id=run.run_id,
        revision=1,
        planned_hash=run.content_hash,
        due_at_ns=NOW - 10**9 + number,
        scorer_id=scorer_id,
        scorer_version=version,
    )


def _finished(job: ClaimedJob) -> FinishedJob:
    outcome = Score(
        run_id=job.run_id,
        scorer_id=job.scorer_id,
        scorer_version=job.scorer_version,
        score=0.5,
        evidence=Evidence(judged_hash="0" * 32),
    )
    return FinishedJob(
        project=job.project,
        job_id=job.job_id,
        token=job.token,
        outcome=outcome,
        sinks=("otel",),
        finished_ns=NOW,
    )


def _bare_jobs(path: Path) -> float:
    connection = _bare(path, page_size=8192)
    columns = [(row[1], row[2]) for row in connection.execute("PRAGMA table_info(scores)")]
    marks = ", ".join("?" * len(columns))
    claim = (
        "UPDATE jobs SET state = 'leased', due_at_ns = ?, token = token + 1 WHERE job_id IN (SELECT job_id FROM jobs "
        "WHERE state IN ('pending', 'leased') AND project = 'default' AND scorer_id = ? AND scorer_version = ? "
        "AND queue = 0 AND due_at_ns <= ? ORDER BY due_at_ns LIMIT ?) RETURNING job_id, token, run_id"
    )
    values = (NOW + LEASE, OFFER.scorer_id, OFFER.scorer_version, NOW, JOBS)
    with Stopwatch() as watch:
        while True:
            connection.execute("BEGIN IMMEDIATE")
            claimed = connection.execute(claim, values).fetchall()
            for _, _, run_id in claimed:
                connection.execute(
                    "SELECT body FROM runs WHERE project = 'default' AND run_id = ?", (run_id,)
                ).fetchone()
            connection.execute("COMMIT")
            if not claimed:
                break
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "UPDATE jobs SET state = 'done' WHERE job_id = ? AND token = ?", [row[:2] for row in claimed]
            )
            scores = [_bare_score(columns, job_id, run_id) for job_id, _, run_id in claimed]
            connection.executemany(f"INSERT INTO scores VALUES ({marks})", scores)
            ids = [(row[1],) for row in scores]
            connection.executemany("INSERT INTO evidence VALUES ('default', ?, x'7b7d', x'00')", ids)
            connection.executemany(
                "INSERT INTO outbox (project, sink, score_id, due_at_ns, created_ns) "
                "VALUES ('default', 'otel', ?, 1, 1)",
                ids,
            )
            connection.execute("COMMIT")
    connection.close()
    return watch.wall


def _bare_score(columns: list[tuple[str, str]], job_id: bytes, run_id: bytes) -> tuple[Any, ...]:
    known: dict[str, Any] = {"score_id": os.urandom(16), "job_id": job_id, "run_id": run_id, "trace_id": run_id}
    blank = {"VARCHAR": "", "BLOB": job_id, "FLOAT": 0.5}
    known |= {"project": "default", "scorer_id": OFFER.scorer_id, "current_flag": 1, "parent_id": None}
    return tuple(known.get(name, blank.get(kind, 1)) for name, kind in columns)


def _bare(path: Path, *, page_size: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (f"page_size = {page_size}", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


if __name__ == "__main__":
    main()
