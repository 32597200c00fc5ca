from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import redis

from tests.pipeline.stored import PROJECT, make_run, put_jobs
from tests.waiting import wait_until
from tests.workers import judged_app
from tests.workers.processes import running_broker, running_workers
from tracescore.bridge import run_sync
from tracescore.errors import ConfigurationError
from tracescore.pipeline.wake import MemoryWake, NoWake, load_wake
from tracescore.store import Store
from workers.config import QUEUES, celery_settings


def test_a_wake_carries_many_ids(tmp_path: Path) -> None:
    with running_broker(tmp_path) as (broker, _):
        wake = load_wake(broker.url)
        wake.wake([f"{number:032x}" for number in range(150)], queue="live")
        wake.wake(["f" * 32], queue="backfill")
        wake.close()
        client = redis.Redis(unix_socket_path=str(broker.socket))

        assert client.llen("tracescore:" + QUEUES["live"]) == 3
        assert client.llen("tracescore:" + QUEUES["backfill"]) == 1
        client.close()


def test_a_sender_waits_for_no_broker(tmp_path: Path) -> None:
    wake = load_wake(f"redis+socket://{tmp_path}/nobody.sock")
    began = time.monotonic()
    for _ in range(1000):
        wake.wake(["0" * 32], queue="live")

    assert time.monotonic() - began < 1
    wake.close()


def test_without_a_broker_nobody_is_told() -> None:
    assert isinstance(load_wake("none"), NoWake)


def test_the_memory_wake_tells_its_listeners() -> None:
    wake, told = MemoryWake(), list[str]()
    wake.listen(told.extend)
    wake.wake(["a", "b"], queue="live")

    assert (told, wake.sent) == (["a", "b"], [("live", ("a", "b"))])


def test_a_wake_reaches_a_worker_at_once_through_an_emptied_broker_too(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with (
        running_broker(folder) as (broker, _),
        Store.open(folder) as store,
        running_workers(
            1, store=folder, broker=broker.url, app="tests.workers.judged_app:code_only", logs=tmp_path / "logs"
        ),
    ):
        wait_until(lambda: _broker_states(store) == ["up"], description="a worker at the broker")
        wake = load_wake(broker.url)
        for number in range(5):
            if number == 3:
                with redis.Redis(unix_socket_path=str(broker.socket)) as client:
                    client.flushall()
            wake.wake(run_sync(put_jobs(store, judged_app.code_only, [make_run(number)])), queue="live")
            began = time.monotonic()
            wait_until(lambda n=number: _done(store) == n + 1, description="the job")

            # Polling beside a broker takes 5 s, the reconciler 2 s.
            assert time.monotonic() - began < 1.5
        wake.close()


def test_what_is_no_id_does_not_reach_the_pump(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with (
        running_broker(folder) as (broker, _),
        Store.open(folder) as store,
        running_workers(
            1, store=folder, broker=broker.url, app="tests.workers.judged_app:code_only", logs=tmp_path / "logs"
        ) as workers,
    ):
        wait_until(lambda: _broker_states(store) == ["up"], description="a worker at the broker")
        wake = load_wake(broker.url)
        wake.wake(["'; DROP TABLE jobs; --"], queue="live")
        wake.wake(run_sync(put_jobs(store, judged_app.code_only, [make_run(0)])), queue="live")
        wait_until(lambda: _done(store) == 1, description="the job")
        wake.close()

        assert list(workers.pids()) == ["worker-1"]


def test_a_worker_whose_broker_goes_polls_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with (
        running_broker(folder) as (broker, brokers),
        Store.open(folder) as store,
        running_workers(
            1, store=folder, broker=broker.url, app="tests.workers.judged_app:code_only", logs=tmp_path / "logs"
        ),
    ):
        wait_until(lambda: _broker_states(store) == ["up"], description="a worker at the broker")
        os.kill(brokers.pids()["broker"], signal.SIGSTOP)  # and so it is not started again
        os.kill(brokers.pids()["broker"], signal.SIGKILL)
        run_sync(put_jobs(store, judged_app.code_only, [make_run(0)]))
        wait_until(lambda: _done(store) == 1, description="the job, without a wake")
        wait_until(lambda: _broker_states(store) == ["up"], description="the worker at the new broker")

    assert "In Celery 5.1" not in (tmp_path / "logs" / "worker-1.log").read_text()


def test_valkey_urls_are_redis_urls() -> None:
    assert celery_settings("valkey://host:1/0")["broker_url"] == "redis://host:1/0"
    assert celery_settings("valkey+unix:///tmp/s")["broker_url"] == "redis+socket:///tmp/s"


def test_what_only_redis_knows_is_not_asked_of_another_broker() -> None:
    assert celery_settings("amqp://host")["broker_url"] == "amqp://host"
    assert celery_settings("amqp://host")["broker_transport_options"] == {}
    assert not celery_settings("amqp://host")["worker_disable_prefetch"]
    assert celery_settings("redis://host")["worker_disable_prefetch"]


def test_a_url_that_nothing_can_send_to_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*, group: str) -> tuple[()]:
        return ()

    monkeypatch.setattr("tracescore.pipeline.wake.entry_points", nothing)
    with pytest.raises(ConfigurationError, match="TRACESCORE_BROKER=none"):
        load_wake("redis://host")


def _done(store: Store) -> int:
    return run_sync(store.jobs.counts(PROJECT))["done"]


def _broker_states(store: Store) -> list[str]:
    since_ns = time.time_ns() - 20_000_000_000
    return [str(worker.info["broker"]) for worker in run_sync(store.control.workers(since_ns))]
