"""The one task: tell this process's pump which jobs are due, and end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from .config import WAKE_TASK

if TYPE_CHECKING:
    from celery import Celery


def add_wake_task(app: Celery, wake: Callable[[Sequence[str]], None]) -> None:
    """Register the wake task, bound to the pump of this process."""

    def wake_task(job_ids: list[str]) -> None:
        # A broker is open to whoever reaches it: what is no id goes no further.
        wake([UUID(job_id).hex for job_id in job_ids])

    app.task(wake_task, name=WAKE_TASK)
