"""Real processes that are killed, flushed, restarted and deployed under load; `make chaos` is the long form."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.postgres import PostgresServer
from tests.workers.faults import (
    KILLED,
    Account,
    Fault,
    account,
    break_and_finish,
    end_worker,
    flush_broker,
    kill_broker,
    kill_worker,
    restart_postgres,
)
from tests.workers.machines import Machines, running_machines
from tracescore.testing import ModelServer

SCORERS, JUDGED = ("judged", "polite", "length"), 2
BROKEN, DEPLOYED = range(1, 61), range(61, 101)


def test_nothing_is_lost_or_doubled_whatever_is_killed_restarted_or_deployed(
    tmp_path: Path, place: tuple[str, PostgresServer | None]
) -> None:
    location, postgres = place
    on_postgres = (restart_postgres(signal.SIGINT),) if postgres else ()
    with (
        ModelServer(latency=0.1) as model,
        running_machines(
            tmp_path,
            location=location,
            postgres=postgres,
            workers=2,
            app="tests.workers.judged_app:three",
            environ={"TEST_MODEL_URL": model.base_url, "TRACESCORE_SLOTS": "4", "TRACESCORE_LEASE": "6"},
        ) as machines,
    ):

        def finished(runs: range, *faults: Callable[[Machines], Fault]) -> tuple[list[Fault], Counter[str]]:
            before = len(model.calls)
            happened = break_and_finish(machines, faults, runs=runs, scorers=len(SCORERS), patience=40)
            return happened, Counter(call.prompt for call in model.calls[before:])

        broken, calls = finished(BROKEN, flush_broker, kill_worker, kill_broker, *on_postgres)
        deployed, calls_of_deploys = finished(DEPLOYED, end_worker)
        found = account(machines.store, (*BROKEN, *DEPLOYED), SCORERS)
    lost = sum(fault.held for fault in broken if fault.name == KILLED)

    assert found == Account(outcomes=(len(BROKEN) + len(DEPLOYED)) * len(SCORERS))
    assert all(fault.held for fault in (*broken, *deployed)), (broken, deployed)
    # Only what was in flight at a kill was asked twice, and a worker that ends in order leaves nothing in flight.
    assert len(calls) == len(BROKEN) * JUDGED <= calls.total() <= len(BROKEN) * JUDGED + lost
    assert set(calls_of_deploys.values()) == {1}
    assert len(calls_of_deploys) == len(DEPLOYED) * JUDGED
