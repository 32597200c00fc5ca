"""Bare PostgreSQL beside the store: COPY and SQL by psycopg alone, in one thread, on the same server."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from benchmarks.figures import Stopwatch
from tests.postgres import PostgresServer
from tracescore.otel.records import SpanRow
from tracescore.store import Offered

_SPANS = "project, trace_id, span_id, copy_hash, parent_span_id, start_ns, end_ns, flags, arrived_ns, body"
_SPAN_TYPES = ["text", "bytea", "bytea", "bytea", "bytea", "int8", "int8", "int8", "int8", "bytea"]


@contextmanager
def server() -> Generator[PostgresServer]:
    """Give a server that makes every commit durable."""
    running = PostgresServer(durable=True)
    try:
        yield running
    finally:
        running.close()


def copy_spans(url: str, batches: Sequence[Sequence[SpanRow]]) -> float:
    """COPY batches into a temporary table and from there into the spans, one transaction each; give the seconds."""
    rows = [
        [("default", *row[:4], row.start_ns, row.end_ns, row.flags, row.start_ns, row.body) for row in batch]
        for batch in batches
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE bare ON COMMIT DELETE ROWS AS SELECT * FROM spans WITH NO DATA")
        connection.execute("ALTER TABLE bare ALTER COLUMN body SET STORAGE EXTERNAL")
        connection.execute("ALTER TABLE bare SET (toast_tuple_target = 8160)")
        with Stopwatch() as watch:
            for batch in rows:
                with connection.transaction(), connection.cursor() as cursor:
                    with cursor.copy(f"COPY bare ({_SPANS}) FROM STDIN (FORMAT BINARY)".encode()) as copy:
                        copy.set_types(_SPAN_TYPES)
                        for row in batch:
                            copy.write_row(row)
                    cursor.execute("INSERT INTO spans SELECT * FROM bare ON CONFLICT DO NOTHING")
    return watch.wall


def work_jobs(url: str, offer: Offered, *, now_ns: int, lease_ns: int, limit: int) -> float:
    """Claim and finish all jobs with the same rows but nothing checked; give the seconds."""
    claim = """UPDATE jobs SET state = 'leased', due_at_ns = %s, token = token + 1 WHERE job_id IN (
        SELECT job_id FROM jobs WHERE state IN ('pending', 'leased') AND project = 'default' AND scorer_id = %s
        AND scorer_version = %s AND queue = 0 AND due_at_ns <= %s ORDER BY due_at_ns LIMIT %s FOR UPDATE SKIP LOCKED)
        RETURNING job_id, token, run_id"""
    values = (now_ns + lease_ns, offer.scorer_id, offer.scorer_version, now_ns, limit)
    with psycopg.connect(url, autocommit=True) as connection:
        names = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'scores' ORDER BY 1"
        columns: list[tuple[str, str]] = [(row[0], row[1]) for row in connection.execute(names)]
        scores = (
            f"INSERT INTO scores ({', '.join(name for name, _ in columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
        )
        with Stopwatch() as watch:
            while True:
                with connection.transaction():
                    claimed = connection.execute(claim, values).fetchall()
                    ids = [row[2] for row in claimed]
                    connection.execute("SELECT body FROM runs WHERE project = 'default' AND run_id = ANY(%s)", (ids,))
                if not claimed:
                    break
                rows = [_score(columns, offer, *row) for row in claimed]
                keys = [(row[_place(columns)],) for row in rows]
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.executemany(
                        "UPDATE jobs SET state = 'done' WHERE job_id = %s AND token = %s", [row[:2] for row in claimed]
                    )
                    cursor.executemany(scores.encode(), rows)
                    cursor.executemany("INSERT INTO evidence VALUES ('default', %s, '{}', '0')", keys)
                    cursor.executemany(
                        "INSERT INTO outbox (project, sink, score_id, due_at_ns, created_ns) "
                        "VALUES ('default', 'otel', %s, 1, 1)",
                        keys,
                    )
    return watch.wall


def _place(columns: list[tuple[str, str]]) -> int:
    return [name for name, _ in columns].index("score_id")


def _score(columns: list[tuple[str, str]], offer: Offered, job_id: bytes, _: int, run_id: bytes) -> tuple[Any, ...]:
    known: dict[str, Any] = {"score_id": os.urandom(16), "job_id": job_id, "run_id": run_id, "trace_id": run_id}
    blank = {"character varying": "", "bytea": job_id, "double precision": 0.5, "boolean": True}
    known |= {"project": "default", "scorer_id": offer.scorer_id, "current_flag": 1, "parent_id": None}
    return tuple(known.get(name, blank.get(kind, 1)) for name, kind in columns)
