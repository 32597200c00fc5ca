from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.stored import PROJECT, all_scores, make_run, put_jobs
from tests.waiting import wait_until
from tests.workers import judged_app
from tests.workers.processes import ROOT, running_broker, worker_command, worker_environ
from tracescore.bridge import run_sync
from tracescore.settings import Settings
from tracescore.store import Store
from tracescore.testing import ModelServer
from workers.lifecycle import WorkerProcess

JOBS = 60


def _terminate_under_load(folder: Path, broker: str, logs: Path) -> None:
    """Stop a worker with calls in flight: all of them end, each once, and the rest is anybody's at once."""
    with ModelServer(latency=0.4) as model, Store.open(folder) as store:
        run_sync(put_jobs(store, judged_app.judged_only, [make_run(number) for number in range(JOBS)]))
        environ = worker_environ(
            store=folder,
            broker=broker,
            app="tests.workers.judged_app:judged_only",
            environ={"TEST_MODEL_URL": model.base_url, "TRACESCORE_SLOTS": "8"},
        )
        with (logs / "worker.log").open("wb") as log:
            worker = subprocess.Popen(worker_command(), cwd=ROOT, env=environ, stdout=log, stderr=log)
            try:
                wait_until(lambda: len(model.calls) >= 12, timeout=60, description="calls in flight")
                worker.send_signal(signal.SIGTERM)
                code = worker.wait(timeout=30)
            finally:
                worker.kill()
        said = (logs / "worker.log").read_text()
        scores = run_sync(all_scores(store))
        counts = run_sync(store.jobs.counts(PROJECT))
        jobs = run_sync(store.jobs.for_runs(PROJECT, [make_run(number).run_id for number in range(JOBS)]))

        assert (code, counts["leased"]) == (0, 0), said
        assert "Warm shutdown" not in said
        assert counts["done"] == len(scores) == len(model.calls) < JOBS
        assert counts["pending"] == JOBS - counts["done"]
        assert Counter(job.leases_taken for job in jobs) == {1: counts["done"], 0: counts["pending"]}
        assert run_sync(store.control.workers()) == []


def test_sigterm_under_load_drains_a_celery_worker(tmp_path: Path) -> None:
    with running_broker(tmp_path / "store") as (broker, _):
        _terminate_under_load(tmp_path / "store", broker.url, tmp_path)


def test_sigterm_under_load_drains_a_polling_worker(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    _terminate_under_load(tmp_path / "store", "none", tmp_path)


def test_sigterm_ends_a_worker_whose_broker_never_came(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    environ = worker_environ(
        store=folder, broker=f"redis+socket://{tmp_path}/nobody.sock", app="tests.workers.judged_app:code_only"
    )
    with Store.open(folder) as store, (tmp_path / "worker.log").open("wb") as log:
        run_sync(put_jobs(store, judged_app.code_only, [make_run(0)]))
        worker = subprocess.Popen(worker_command(), cwd=ROOT, env=environ, stdout=log, stderr=log)
        wait_until(lambda: run_sync(store.jobs.counts(PROJECT))["done"] == 1, description="the job, by polling")
        worker.send_signal(signal.SIGTERM)

        assert worker.wait(timeout=15) == 0
        assert run_sync(store.control.workers()) == []


def test_celery_itself_runs_the_worker_in_a_checkout(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with running_broker(folder) as (broker, _), Store.open(folder) as store:
        run_sync(put_jobs(store, judged_app.code_only, [make_run(number) for number in range(20)]))
        environ = worker_environ(store=folder, broker=broker.url, app="tests.workers.judged_app:code_only")
        argv = [sys.executable, "-m", "celery", "-A", "workers", "worker", "--loglevel", "info"]
        with (tmp_path / "worker.log").open("wb") as log:
            worker = subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=log, stderr=log)
            wait_until(lambda: run_sync(store.jobs.counts(PROJECT))["done"] == 20, description="20 jobs")
            worker.send_signal(signal.SIGTERM)
            code = worker.wait(timeout=15)
        said = (tmp_path / "worker.log").read_text()

        assert code == 0, said
        assert "threads" not in said or "prefork" not in said
        assert run_sync(store.control.workers()) == []


def test_a_worker_that_cannot_load_its_app_says_so_in_one_line(tmp_path: Path) -> None:
    with running_broker(tmp_path / "store") as (broker, _):
        environ = worker_environ(store=tmp_path / "store", broker=broker.url, app="no_such_module:app")
        argv = [sys.executable, "-m", "celery", "-A", "workers", "worker"]
        ended = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30, check=False)

    assert ended.returncode == 2
    assert "no_such_module" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_celery_without_a_broker_is_told_of_the_worker_that_needs_none(tmp_path: Path) -> None:
    environ = worker_environ(store=tmp_path, broker="none", app="tests.workers.judged_app:code_only")
    argv = [sys.executable, "-m", "celery", "-A", "workers", "worker"]
    ended = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30, check=False)

    assert ended.returncode == 2
    assert "`tracescore worker` runs without one" in ended.stderr


def test_a_pool_of_processes_is_refused(tmp_path: Path) -> None:
    with running_broker(tmp_path / "store") as (broker, _):
        environ = worker_environ(store=tmp_path / "store", broker=broker.url, app="tests.workers.judged_app:code_only")
        argv = [sys.executable, "-m", "celery", "-A", "workers", "worker", "--pool", "processes"]
        ended = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30, check=False)

    assert ended.returncode != 0
    assert "--pool=threads" in ended.stderr


def test_a_store_that_is_away_is_worth_another_start(capfd: pytest.CaptureFixture[str]) -> None:
    away = Settings(
        app="tests.workers.judged_app:code_only", store="postgresql://nobody@127.0.0.1:1/none", broker="redis://h:1/0"
    )
    with pytest.raises(SystemExit) as ended:
        WorkerProcess(away).start()

    assert ended.value.code == 1
    assert capfd.readouterr().err.startswith("tracescore: the store cannot be used")
