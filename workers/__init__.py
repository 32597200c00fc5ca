"""Celery workers: a thin shell around the pump.

``celery -A workers worker`` in a checkout, ``celery -A tracescore.workers worker`` where it is installed,
``tracescore worker`` anywhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celery import Celery

    from tracescore.settings import Settings

    app: Celery

__all__ = ["app", "run_worker"]


def run_worker(settings: Settings) -> int:
    """Run one worker process until it is told to stop; give its exit code."""
    from .run import run_worker as run

    return run(settings)


def __getattr__(name: str) -> object:
    """Build the Celery app when it is first asked for, from the environment: nothing happens at import."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracescore.settings import Settings

    from .celery_app import build_app

    built = build_app(Settings.from_env(os.environ))
    globals()["app"] = built
    return built
