"""The Celery app: settings and one task around a process that scores."""

from __future__ import annotations

import warnings

from celery import Celery

from tracescore.pipeline.announced import broker_of
from tracescore.settings import Settings

from .config import celery_settings
from .lifecycle import WorkerProcess
from .tasks import add_wake_task


def build_app(settings: Settings, process: WorkerProcess | None = None) -> Celery:
    """Build the app of a worker process; nothing is opened or connected before a worker starts."""
    # Celery warns of root whatever is accepted; it matters for pickle, and only JSON is accepted here.
    warnings.filterwarnings("ignore", message=r"(?s).*superuser privileges", module="celery")
    app = Celery("tracescore", set_as_current=False)
    # As a function it is called when a setting is first needed, not when the app is built.
    app.add_defaults(lambda: celery_settings(broker_of(settings.broker, settings.store)))
    process = process or WorkerProcess(settings)
    add_wake_task(app, process.wake)
    process.follow(app)
    return app
