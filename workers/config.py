"""Celery's settings, each with its reason. The store is the truth: Celery only carries wakes, and each ends at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kombu.entity import Queue

WAKE_TASK = "tracescore.wake"
"""The one task; named by hand, since its package is ``workers`` in a checkout and ``tracescore.workers`` elsewhere."""
QUEUES: Mapping[str, str] = {"live": "tracescore.live", "backfill": "tracescore.backfill"}
"""Broker queues by job queue, in the order in which they are served."""
KEY_PREFIX = "tracescore:"


def celery_settings(broker_url: str) -> dict[str, Any]:
    """Give the settings of the Celery app for a broker."""
    url = kombu_url(broker_url)
    return {
        "broker_url": url,
        # -- messages -------------------------------------------------------------------------------------------------
        # A broker is open to whoever reaches it: JSON cannot run code, pickle can.
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        # The store is the result; without a backend Redis holds no celery-task-meta keys.
        "result_backend": None,
        "task_ignore_result": True,
        # Two queues, not priorities: Redis emulates priorities by several lists polled in order, which starves.
        "task_queues": [Queue(name) for name in QUEUES.values()],
        "task_default_queue": QUEUES["live"],
        "task_create_missing_queues": False,
        # -- delivery -------------------------------------------------------------------------------------------------
        # A wake that is lost with its process is delivered to the next one.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # A wake that failed or took too long would fail again; the reconciler sends a new one.
        "task_acks_on_failure": True,
        "task_acks_on_timeout": True,
        # Take a message only when a thread is free for it: what is reserved here wakes nobody else meanwhile. Other
        # brokers than Redis hand out one for each thread.
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": _is_redis(url),
        "worker_enable_prefetch_count_reduction": True,
        # A wake that outlives its connection does no harm; cancelling it would only delay the jobs.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # When a job is due stands in the store; a message with an ETA would sit in one worker's memory.
        "worker_eta_task_limit": 1000,
        # -- process --------------------------------------------------------------------------------------------------
        # One process and one asyncio loop share the judge's connections: 0.9 ms of CPU a call, prefork takes 4.5.
        "worker_pool": "threads",
        # A wake task only hands ids to the pump: two threads outrun any broker.
        "worker_concurrency": 2,
        # Nobody reads them, and the queues of celeryev grow in memory without a reader.
        "worker_send_task_events": False,
        "task_send_sent_event": False,
        # Liveness is the heartbeat in the store; remote control costs a fanout connection and keys without TTL.
        "worker_enable_remote_control": False,
        # Loggers and prints are the user's own; Celery takes both over by default.
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        # -- connection -----------------------------------------------------------------------------------------------
        # A worker without a broker polls the store and waits for the broker; it never gives up.
        "broker_connection_retry_on_startup": True,
        "broker_connection_retry": True,
        "broker_connection_max_retries": None,
        # One more try, for a pooled connection that a restarted broker has closed; then the reconciler does it.
        "task_publish_retry": True,
        "task_publish_retry_policy": {"max_retries": 1, "interval_start": 0, "interval_max": 0},
        "broker_transport_options": transport_options(url),
    }


def kombu_url(url: str) -> str:
    """Give a URL by the names that kombu knows: Valkey speaks Redis's protocol."""
    if url.startswith("valkey+unix://"):
        return "redis+socket://" + url.removeprefix("valkey+unix://")
    return "redis" + url.removeprefix("valkey") if url.startswith("valkey") else url


def _is_redis(url: str) -> bool:
    return url.startswith(("redis", "sentinel"))


def transport_options(broker_url: str) -> dict[str, Any]:
    """Give the options of kombu's transport; they are Redis's own, another transport would refuse them."""
    if not _is_redis(broker_url):
        return {}
    return {
        # Longer than any wake task takes; the shortest value among the apps of one database wins.
        "visibility_timeout": 600,
        # Unacked wakes are looked for every 10 s; kombu's own pace is 100 s whatever the timeout says.
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        # All of them in one sweep; the default moves 10.
        "unacked_restore_limit": 1000,
        # A half-open connection is noticed: reads and connects end, and idle ones are checked.
        "socket_timeout": 30,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "retry_on_timeout": True,
        "health_check_interval": 25,
        # Other users of the same database keep their own keys.
        "global_keyprefix": KEY_PREFIX,
        # Live before backfill: queues are served in the order of task_queues.
        "queue_order_strategy": "priority",
    }
