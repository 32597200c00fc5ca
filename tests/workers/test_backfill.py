"""A backfill outlives the command that made it and the workers that are at it; live runs do not wait for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.cli.conftest import SCRIPT, clean_environ
from tests.pipeline.stored import PROJECT, all_scores, make_run, put_runs
from tests.waiting import wait_until
from tests.workers.processes import running_workers
from tracescore.bridge import run_sync
from tracescore.store import BackfillStatus, Store

STORED, LIVE = 500, 20


def test_a_backfill_killed_twice_scores_each_run_once_and_live_runs_first(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    stored = [make_run(number) for number in range(STORED)]
    live = [make_run(STORED + number) for number in range(LIVE)]
    with Store.open(folder) as store:
        run_sync(put_runs(store, stored))  # before any rule was known: no planner's
        with running_workers(
            2,
            store=folder,
            broker="none",
            app="tests.workers.backfill_app:app",
            environ={"TRACESCORE_LEASE": "3"},
            logs=tmp_path / "logs",
        ) as workers:
            wait_until(lambda: len(run_sync(store.control.workers())) == 2, description="two workers")
            command = begun(folder, "backfill", "--scorer", "slow", "--json")
            assert command.stdout is not None
            batch_id = str(json.loads(command.stdout.readline())["batch_id"])

            def status() -> BackfillStatus:
                found = run_sync(store.backfills.status(PROJECT, batch_id))
                assert found is not None
                return found

            wait_until(lambda: status().ended >= 0.1 * STORED, description="a tenth done")
            command.kill()
            command.communicate()
            for pid in workers.pids().values():
                os.kill(pid, signal.SIGKILL)
            first_kill = status().ended

            command = begun(folder, "batches", batch_id, "--json")
            wait_until(lambda: status().ended >= 0.3 * STORED, timeout=30, description="a third done")
            run_sync(put_runs(store, live))

            def live_done() -> int:
                jobs = run_sync(store.jobs.for_runs(PROJECT, [run.run_id for run in live]))
                return sum(job.state == "done" for job in jobs)

            wait_until(lambda: live_done() == LIVE, description="the live runs scored")
            left_when_live_was_done = STORED - status().ended
            command.kill()
            command.communicate()
            for pid in workers.pids().values():
                os.kill(pid, signal.SIGKILL)
            second_kill = status().ended

            told = subprocess.run(
                [SCRIPT, "batches", batch_id, "--data", str(folder)],
                env=clean_environ(),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        scores = run_sync(all_scores(store))

    assert 0.1 * STORED <= first_kill <= second_kill < STORED
    assert left_when_live_was_done > 0
    assert Counter(row.run_id for row in scores) == {run.run_id: 1 for run in (*stored, *live)}
    assert Counter(row.source for row in scores) == {"backfill": STORED, "live": LIVE}
    assert told.stdout.splitlines()[-1] == f"{STORED} runs: {STORED} scores, 0 not scorable, 0 failures"
    assert told.returncode == 0


def begun(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command that follows."""
    argv: Sequence[str] = [str(SCRIPT), *words, "--data", str(folder)]
    return subprocess.Popen(argv, env=clean_environ(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
