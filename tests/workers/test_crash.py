from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import redis

from tests.pipeline.stored import PROJECT, all_scores, make_run, put_jobs
from tests.waiting import wait_until
from tests.workers import judged_app
from tests.workers.processes import running_broker, running_workers
from tracescore.bridge import run_sync
from tracescore.pipeline.wake import load_wake
from tracescore.store import Store
from tracescore.testing import ModelServer

JOBS = 200


def test_a_killed_worker_and_a_flushed_broker_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    runs = [make_run(number) for number in range(JOBS)]
    with (
        ModelServer(latency=0.2) as model,
        running_broker(folder) as (broker, _),
        Store.open(folder) as store,
        running_workers(
            2,
            store=folder,
            broker=broker.url,
            app="tests.workers.judged_app:judged_only",
            environ={"TEST_MODEL_URL": model.base_url, "TRACESCORE_SLOTS": "4", "TRACESCORE_LEASE": "3"},
            logs=tmp_path / "logs",
        ) as workers,
    ):
        wait_until(lambda: len(run_sync(store.control.workers())) == 2, description="two workers")
        began = time.monotonic()
        job_ids = run_sync(put_jobs(store, judged_app.judged_only, runs))
        wake = load_wake(broker.url)
        wake.wake(job_ids, queue="live")

        def done() -> int:
            return run_sync(store.jobs.counts(PROJECT))["done"]

        wait_until(lambda: done() >= 0.25 * JOBS, description="a quarter done")
        victim = workers.pids()["worker-1"]
        os.kill(victim, signal.SIGKILL)
        killed_at = done()
        wait_until(lambda: done() >= 0.45 * JOBS, description="almost half done")
        client = redis.Redis(unix_socket_path=str(broker.socket))
        client.flushall()
        client.close()
        flushed_at = done()
        wait_until(lambda: done() == JOBS, timeout=45, description="all done")
        elapsed = time.monotonic() - began
        scores = run_sync(all_scores(store))
        wake.close()

    assert 0.2 * JOBS <= killed_at <= flushed_at <= 0.8 * JOBS
    assert workers.pids() == {}
    assert len(scores) == JOBS
    assert Counter((row.run_id, row.scorer_id) for row in scores) == {(run.run_id, "judged"): 1 for run in runs}
    assert {row.outcome for row in scores} == {"score"}
    # Only what was in flight at the kill was asked twice.
    assert JOBS <= len(model.calls) <= JOBS + 4
    assert elapsed < 60
