from __future__ import annotations

import subprocess
import sys
import threading

from tests.store.rows import (
    LEASE,
    NOW,
    claim,
    finish,
    finished,
    new_job,
    plan,
    replace_runs,
    run_record,
    span_row,
)
from tests.waiting import wait_until
from tracescore.bridge import run_sync
from tracescore.store import Store

RUNS = [run_record(str(number)) for number in range(300)]

CLAIMER = """
import sys, time
from tests.store.rows import claim, finish, finished
from tracescore.store import Store
with Store.open(sys.argv[1]) as store:
    print("open", flush=True)
    sys.stdin.readline()
    while jobs := claim(store, worker=sys.argv[2], limit=7):
        if sys.argv[3] == "hold":
            print("held", len(jobs), flush=True)
            time.sleep(600)
        finish(store, *map(finished, jobs))
        print(*(job.job_id for job in jobs), sep="\\n", flush=True)
"""

INGESTER = """
import sys
from tests.store.rows import span_row, NOW
from tracescore.bridge import run_sync
from tracescore.store import Store
with Store.open(sys.argv[1]) as store:
    for number in range(1_000_000):
        row = span_row(str(number), body=b"x" * 2000)
        run_sync(store.spans.ingest("default", [row], (), now_ns=NOW, quiet_ns=1))
        print(number, flush=True)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def planned(store: Store) -> list[str]:
    replace_runs(store, *RUNS)
    return plan(store, *map(new_job, RUNS))


def test_claims_of_threads_never_overlap(store: Store) -> None:
    job_ids = planned(store)
    claimed: list[list[str]] = [[] for _ in range(4)]

    def take(mine: list[str]) -> None:
        while jobs := claim(store, limit=5):
            mine += [job.job_id for job in jobs]

    threads = [threading.Thread(target=take, args=(mine,)) for mine in claimed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(job_id for mine in claimed for job_id in mine) == sorted(job_ids)


def test_claims_of_processes_never_overlap(store: Store, location: str) -> None:
    job_ids = planned(store)
    children = [start(CLAIMER, location, f"w{number}", "finish") for number in range(2)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    done = [child.communicate()[0].split() for child in children]

    assert all(done)
    assert sorted(done[0] + done[1]) == sorted(job_ids)
    assert run_sync(store.jobs.counts())["done"] == 300


def test_a_job_whose_worker_is_killed_is_claimed_again_when_its_lease_ends(store: Store, location: str) -> None:
    planned(store)
    child = start(CLAIMER, location, "doomed", "hold")
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()
    wait_until(lambda: run_sync(store.jobs.counts())["leased"] == 7, description="a claim by another process")
    child.kill()
    child.communicate()
    others = claim(store, limit=1000)

    assert len(others) == 293
    finish(store, *map(finished, others))
    assert claim(store, now_ns=NOW + LEASE - 1) == []
    orphans = claim(store, now_ns=NOW + LEASE)
    assert [(job.leases_taken, job.token) for job in orphans] == [(2, 2)] * 7
    finish(store, *map(finished, orphans))
    assert run_sync(store.jobs.counts())["done"] == 300


def test_what_was_acknowledged_before_a_kill_is_there(store: Store, location: str) -> None:
    child = start(INGESTER, location)
    assert child.stdout is not None
    seen = [child.stdout.readline() for _ in range(50)]
    child.kill()
    rest, _ = child.communicate()
    acknowledged = len(seen) + rest.count("\n")
    trace = run_sync(store.spans.load_trace("default", "11" * 16))

    assert trace is not None
    assert acknowledged <= len(trace.spans) <= acknowledged + 1
    assert {span_row(str(number)).span_id.hex() for number in range(acknowledged)} <= {s.span_id for s in trace.spans}


def test_another_process_can_write_beside_a_busy_one(store: Store, location: str) -> None:
    child = start(INGESTER, location)
    assert child.stdout is not None
    child.stdout.readline()
    for number in range(20):
        run_sync(store.spans.claim_traces(now_ns=NOW * 2, limit=1, lease_ns=number))
    child.kill()
    child.communicate()
