"""Two apps, and two versions of one rolled over each other, as worker processes on one store."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.pipeline.stored import PROJECT, all_scores, make_run, put_jobs
from tests.postgres import PostgresServer
from tests.waiting import wait_until
from tests.workers import rolled_app
from tests.workers.processes import ROOT, worker_command, worker_environ
from tracescore.bridge import run_sync
from tracescore.cli.checks import check_all
from tracescore.settings import Settings
from tracescore.store import JobRow, Store

RUNS = [make_run(number) for number in range(60)]
TAKEN_OVER = "no live worker offers version 1 of 'slow'; 2 is offered and takes them over in"


def test_each_job_is_done_by_a_worker_that_offers_it_and_what_is_stranded_by_the_next_version(
    tmp_path: Path, place: tuple[str, PostgresServer | None]
) -> None:
    location, _ = place
    settings = Settings(store=location, broker="none", offer_supersede=3.0)

    def jobs() -> list[JobRow]:
        return run_sync(store.jobs.for_runs(PROJECT, [run.run_id for run in RUNS]))

    def runs(version: str, *states: str) -> set[str]:
        """Give the runs whose job of this version of `slow` is in one of these states."""
        return {
            job.run_id
            for job in jobs()
            if (job.scorer_id, job.scorer_version) == ("slow", version) and job.state in states
        }

    def doctor() -> str:
        (jobs,) = [check for check in run_sync(check_all(settings, {})) if check.name == "jobs"]
        return jobs.message

    with Store.open(location) as store, ExitStack() as processes:

        def worker(app: str) -> subprocess.Popen[bytes]:
            environ = worker_environ(
                store=location,
                broker="none",
                app=f"tests.workers.rolled_app:{app}",
                environ={"TRACESCORE_OFFER_SUPERSEDE": str(settings.offer_supersede)},
            )
            log = processes.enter_context((tmp_path / f"{app}.log").open("wb"))
            process = processes.enter_context(
                subprocess.Popen(worker_command(), cwd=ROOT, env=environ, stdout=log, stderr=log)
            )
            processes.callback(process.terminate)
            return process

        old, _, _ = worker("old"), worker("other"), worker("new")
        wait_until(lambda: len(run_sync(store.control.workers())) == 3, timeout=60, description="three workers")
        run_sync(put_jobs(store, rolled_app.old, RUNS, queue="backfill"))
        run_sync(put_jobs(store, rolled_app.new, RUNS[:20], queue="backfill"))
        run_sync(put_jobs(store, rolled_app.other, RUNS, queue="backfill"))
        wait_until(lambda: len(runs("1", "done")) >= 5, description="some jobs of the old version")
        old.terminate()
        wait_until(lambda: TAKEN_OVER in doctor(), description="doctor to say what is stranded, and until when")
        wait_until(lambda: not runs("1", "pending", "leased"), timeout=60, description="the new version's turn")
        wait_until(lambda: not runs("2", "pending", "leased"), description="its jobs done")
        left, done_by_new, all_jobs, scores = (
            runs("1", "superseded"),
            runs("2", "done"),
            jobs(),
            run_sync(all_scores(store)),
        )

    assert old.returncode == 0
    assert 0 < len(left) < len(RUNS)
    assert done_by_new == left | {run.run_id for run in RUNS[:20]}
    assert {job.state for job in all_jobs} == {"done", "superseded"}
    assert len(scores) == sum(job.state == "done" for job in all_jobs)
    # What a scorer answers says which app's it was: nobody did a job of another's.
    assert {row.score for row in scores if row.score != rolled_app.SCORES[row.scorer_id, row.scorer_version]} == set()
