"""A backfill of 20 000 stored runs whose command and workers are killed twice, with live runs arriving meanwhile.

On SQLite and on PostgreSQL, each with a Valkey of its own by URL. Not part of ``make test`` nor of ``make bench``: it
takes some minutes. It fails unless each run has exactly one outcome and the live runs were scored before what was not
held when they came; it prints one JSON line for each database.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import store_postgres
from benchmarks.bench_pipeline import _WORKER, PROJECT, ROOT, _broker, _put, _run, _say, _until
from tracescore.bridge import run_sync
from tracescore.cli.processes import Child, Supervisor
from tracescore.settings import PREFIX
from tracescore.store import BackfillStatus, Store

LIVE = 50
HELD = 512
"""Jobs that a worker has claimed and not written, at most: live ones come behind those, and behind nothing else."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args()
    if options.database != "postgresql":
        _backfill(options.runs, options.workers, None)
    if options.database != "sqlite":
        with store_postgres.server() as server:
            _backfill(options.runs, options.workers, server.url(server.create_database()))


def _backfill(runs: int, count: int, location: str | None) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        _broker(Path(folder)) as url,
        Store.open(location or folder) as store,
    ):
        run_sync(_put(store, [_run(number) for number in range(runs)]))
        settings = {"STORE": location or folder, "BROKER": url, "APP": "benchmarks.pipeline_app:ruled", "LEASE": "3"}
        environ = {**os.environ, **{PREFIX + key: value for key, value in settings.items()}}
        children = [
            Child(name=f"worker-{number}", argv=[sys.executable, "-c", _WORKER], environ=environ, folder=ROOT, grace=40)
            for number in range(count)
        ]
        with Supervisor([children], stop_order=[], say=_say) as workers:
            _until(lambda: len(run_sync(store.control.workers())) == count)
            began = time.monotonic()
            _report(store, workers, environ, runs, began, "SQLite" if location is None else "PostgreSQL")


def _report(
    store: Store, workers: Supervisor, environ: dict[str, str], count: int, began: float, database: str
) -> None:
    command = _command(environ, "backfill", "--scorer", "length", "--json")
    assert command.stdout is not None
    batch_id = str(json.loads(command.stdout.readline())["batch_id"])

    def status() -> BackfillStatus:
        found = run_sync(store.backfills.status(PROJECT, batch_id))
        assert found is not None
        return found

    killed_at: list[int] = []
    for share in (0.2, 0.5):
        _until(lambda share=share: status().ended >= share * count, seconds=600)
        killed_at.append(status().ended)
        command.kill()
        command.communicate()
        for pid in workers.pids().values():
            os.kill(pid, signal.SIGKILL)
        command = _command(environ, "batches", batch_id, "--json")
    seen = len(run_sync(store.control.workers(time.time_ns())))
    _until(lambda: len(run_sync(store.control.workers(time.time_ns() - 10**9))) > seen)
    live = [_run(10**9 + number) for number in range(LIVE)]
    arrived = time.monotonic()
    run_sync(_put(store, live))
    ids = [run.run_id for run in live]
    _until(lambda: sum(job.state == "done" for job in run_sync(store.jobs.for_runs(PROJECT, ids))) == LIVE)
    live_seconds, left = time.monotonic() - arrived, count - status().ended
    _until(lambda: status().done, seconds=600)
    seconds = time.monotonic() - began
    command.communicate()
    passed = _passed(store, ids, [_run(number).run_id for number in range(count)])
    outcomes: Counter[str] = Counter()
    after: str | None = None
    while True:
        page = run_sync(store.scores.list(PROJECT, current=None, limit=500, after=after))
        outcomes.update(row.run_id for row in page.items)
        if (after := page.next) is None:
            break
    figures = {
        "benchmark": f"backfill on {database}, its command and its workers killed twice",
        "runs": count,
        "seconds": round(seconds, 1),
        "runs_per_second": round(count / seconds),
        "killed_at": killed_at,
        "live_scored_after_seconds": round(live_seconds, 2),
        "backfill_left_when_live_was_scored": left,
        "backfill_jobs_ended_while_a_live_job_waited": passed,
        "runs_with_exactly_one_outcome": sum(number == 1 for number in outcomes.values()) - LIVE,
        "runs_with_more": sum(number > 1 for number in outcomes.values()),
    }
    print(json.dumps(figures), flush=True)
    if figures["runs_with_exactly_one_outcome"] != count or figures["runs_with_more"]:
        raise SystemExit("not every run has exactly one outcome")
    if passed > HELD * len(workers.pids()):
        raise SystemExit("live runs had to wait for the backfill")


def _passed(store: Store, live: Sequence[str], backfilled: Sequence[str]) -> int:
    """Give how many jobs of the backfill ended between a live job's planning and its end, at the most."""
    ends = sorted(job.finished_ns or 0 for job in run_sync(store.jobs.for_runs(PROJECT, backfilled)))
    jobs = run_sync(store.jobs.for_runs(PROJECT, live))
    return max(bisect(ends, job.finished_ns or 0) - bisect(ends, job.created_ns) for job in jobs)


def _command(environ: dict[str, str], *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tracescore", *words]
    return subprocess.Popen(argv, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


if __name__ == "__main__":
    main()
