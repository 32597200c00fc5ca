"""What is done to a running system, and what must hold of it afterwards."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

from sqlalchemy import Connection

from tests.pipeline.exports import agent_span, request_of
from tests.pipeline.stored import PROJECT
from tests.waiting import wait_until
from tests.workers.machines import Machines, await_another
from tracescore.bridge import run_sync
from tracescore.errors import StoreUnavailable
from tracescore.model.ids import run_id
from tracescore.store import Store
from tracescore.store.bulk import query

BATCH = 10
"""Runs in one export."""
AHEAD = 150
"""Runs that may be under way before the exporter waits: it goes on for as long as the system is broken."""
KILLED, KILLED_ALONE = "kill -9 a worker", "the same, PostgreSQL down"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault, with the leases that the store knew when it came."""

    name: str
    held: int
    """All leases; of a worker's end, only those that this worker held."""
    seconds: float
    """Until what was ended ran again."""


def held_leases(store: Store, pid: int | None = None) -> int:
    """Count the leases that stand in the store, of all workers or of one process."""

    def operation(connection: Connection) -> int:
        rows = query(connection, "SELECT leased_by FROM jobs WHERE state = 'leased' AND due_at_ns > ?", time.time_ns())
        return sum(pid is None or row[0].split(":")[-2] == str(pid) for row in rows)

    return run_sync(store.jobs._database.read(operation))


def kill_worker(machines: Machines) -> Fault:
    """Kill the worker that holds most, as the kernel does when memory is short."""
    name, pid = _busiest(machines)
    os.kill(pid, signal.SIGSTOP)  # from here on it writes nothing: what the store says it holds is what it loses
    return _ended(KILLED, machines, name, pid, held_leases(machines.store, pid))


def end_worker(machines: Machines) -> Fault:
    """End the oldest worker in order, as a deploy does."""
    name, pid = min(machines.pids("worker").items(), key=lambda item: item[1])
    wait_until(lambda: held_leases(machines.store, pid), timeout=60, description="leases of a worker that is ended")
    lost = held_leases(machines.store, pid)
    return _ended("SIGTERM a worker", machines, name, pid, lost, how=signal.SIGTERM)


def kill_server(machines: Machines) -> Fault:
    """Kill a server in the middle of what it receives."""
    name, pid = next(iter(machines.pids("server").items()))
    return _ended("kill -9 a server", machines, name, pid, _some_held(machines))


def kill_broker(machines: Machines) -> Fault:
    """Kill Valkey and start it again."""
    (pid,) = machines.pids("broker").values()
    return _ended("kill -9 Valkey", machines, "broker", pid, _some_held(machines))


def flush_broker(machines: Machines) -> Fault:
    """Empty Valkey under its users."""
    held = _some_held(machines)
    with machines.broker_client() as client:
        client.flushall()
    return Fault(name="FLUSHALL", held=held, seconds=0.0)


def restart_postgres(how: signal.Signals) -> Callable[[Machines], Fault]:
    """Give the fault that restarts PostgreSQL, by SIGINT (fast) or SIGQUIT (immediate)."""
    mode = {signal.SIGINT: "fast", signal.SIGQUIT: "immediate"}[how]

    def restart(machines: Machines) -> Fault:
        assert machines.postgres is not None
        held, began = _some_held(machines), time.monotonic()
        machines.postgres.stop(how)
        machines.postgres.start()
        return Fault(name=f"restart PostgreSQL ({mode})", held=held, seconds=time.monotonic() - began)

    return restart


def kill_worker_without_postgres(machines: Machines) -> Fault:
    """Kill a worker while PostgreSQL is down, so that the next one finds no store."""
    assert machines.postgres is not None
    name, pid = _busiest(machines)
    os.kill(pid, signal.SIGSTOP)
    lost, began = held_leases(machines.store, pid), time.monotonic()
    machines.postgres.stop(signal.SIGQUIT)
    try:
        os.kill(pid, signal.SIGKILL)
        await_another(machines, name, pid)
    finally:
        machines.postgres.start()
    return Fault(name=KILLED_ALONE, held=lost, seconds=time.monotonic() - began)


FAULTS = (kill_worker, flush_broker, kill_broker, kill_server)
POSTGRES_FAULTS = (restart_postgres(signal.SIGINT), restart_postgres(signal.SIGQUIT), kill_worker_without_postgres)


def _busiest(machines: Machines) -> tuple[str, int]:
    def held(pid: int) -> int:
        return held_leases(machines.store, pid)

    wait_until(lambda: any(map(held, machines.pids("worker").values())), timeout=60, description="a lease to lose")
    return max(machines.pids("worker").items(), key=lambda item: held(item[1]))


def _some_held(machines: Machines) -> int:
    wait_until(lambda: held_leases(machines.store), timeout=60, description="leases that are held")
    return held_leases(machines.store)


def _ended(
    what: str, machines: Machines, name: str, pid: int, held: int, *, how: signal.Signals = signal.SIGKILL
) -> Fault:
    began = time.monotonic()
    os.kill(pid, how)
    await_another(machines, name, pid)
    return Fault(name=what, held=held, seconds=time.monotonic() - began)


@contextmanager
def exporting(urls: Sequence[str], runs: Sequence[int], *, ended: Callable[[], float]) -> Generator[None]:
    """Export runs to the servers in turn, as a collector does: each batch again until one of them acknowledges it.

    Args:
        urls: the servers.
        runs: their numbers, one trace each.
        ended: the share of the work that is done, which the exporter keeps a little ahead of.
    """
    stop, failures = threading.Event(), list[BaseException]()

    def export() -> None:
        servers = cycle(urls)
        for start in range(0, len(runs), BATCH):
            while start > ended() * len(runs) + AHEAD:
                if stop.wait(0.05):
                    return
            spans = [agent_span(number, number) for number in runs[start : start + BATCH]]
            body = json.dumps(request_of(spans)).encode()
            while not _acknowledged(next(servers), body):
                if stop.wait(0.1):
                    return

    def run() -> None:
        try:
            export()
        except BaseException as error:
            failures.append(error)
            raise

    thread = threading.Thread(target=run, name="exporter")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures


def _acknowledged(url: str, body: bytes) -> bool:
    request = urllib.request.Request(f"{url}/v1/traces", body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status == 200
    except urllib.error.HTTPError as error:
        if error.code in (429, 502, 503, 504):  # what a collector sends again by the specification
            return False
        raise  # it would drop what is answered so
    except OSError:
        return False


class Progress:
    """The share of so many more jobs that has ended, asked of a store that may be down."""

    def __init__(self, machines: Machines, jobs: int) -> None:
        self._machines = machines
        self._jobs = jobs
        self._ended = 0
        self._before = self._count()

    def __call__(self) -> float:
        self._machines.check()
        return (self._count() - self._before) / self._jobs

    def _count(self) -> int:
        try:
            counts = run_sync(self._machines.store.jobs.counts(PROJECT))
        except StoreUnavailable:
            return self._ended
        self._ended = sum(counts.values()) - counts["pending"] - counts["leased"]
        return self._ended


def break_and_finish(
    machines: Machines,
    faults: Sequence[Callable[[Machines], Fault]],
    *,
    runs: Sequence[int],
    scorers: int,
    patience: float,
) -> list[Fault]:
    """Export runs, have the faults come evenly over the work, and wait until every job has ended."""
    jobs = len(runs) * scorers
    ended = Progress(machines, jobs)
    happened: list[Fault] = []
    with exporting(machines.urls, runs, ended=Progress(machines, jobs)):
        for number, fault in enumerate(faults, start=1):
            share = number / (len(faults) + 1.5)
            wait_until(lambda share=share: ended() >= share, timeout=patience, description=f"{share:.0%} done")
            happened.append(fault(machines))
        wait_until(lambda: ended() >= 1.0, timeout=patience, description="all jobs done")
    return happened


@dataclass(frozen=True, kw_only=True)
class Account:
    """What is wrong with what the store holds in the end: all figures but ``outcomes`` are 0 where nothing is."""

    outcomes: int
    """Jobs with exactly one outcome, a score, that is the current one."""
    lost: int = 0
    doubled: int = 0
    not_scores: int = 0
    not_current: int = 0
    strangers: int = 0
    """Jobs and outcomes of runs that nobody exported."""


def account(store: Store, runs: Iterable[int], scorer_ids: Sequence[str]) -> Account:
    """Compare the store with what was exported."""

    def operation(connection: Connection) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str, int]]]:
        jobs = query(connection, "SELECT run_id, scorer_id, state FROM jobs")
        scores = query(connection, "SELECT run_id, scorer_id, outcome, current_flag FROM scores WHERE name = ''")
        return [(row[0].hex(), *row[1:]) for row in jobs], [(row[0].hex(), *row[1:]) for row in scores]

    jobs, scores = run_sync(store.jobs._database.read(operation))
    wanted = {
        (run_id(project=PROJECT, kind="agent", trace_id=f"{n:032x}", span_id=f"{n:016x}"), scorer_id)
        for n in runs
        for scorer_id in scorer_ids
    }
    found, done = Counter(row[:2] for row in scores), {row[:2] for row in jobs if row[2] == "done"}
    return Account(
        outcomes=sum(found[pair] == 1 and pair in done for pair in wanted),
        lost=len(wanted - set(found)) + len(wanted - done),
        doubled=sum(count - 1 for count in found.values()) + len(jobs) - len({row[:2] for row in jobs}),
        not_scores=sum(row[2] != "score" for row in scores) + sum(row[2] != "done" for row in jobs),
        not_current=sum(row[3] != 1 for row in scores),
        strangers=len(set(found) - wanted) + len({row[:2] for row in jobs} - wanted),
    )
