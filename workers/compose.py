"""Put a worker process together from its settings."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from tracescore.app import load_app
from tracescore.errors import ConfigurationError
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.wake import load_wake
from tracescore.pipeline.worker import Worker, WorkerOptions
from tracescore.redaction import load_redaction
from tracescore.settings import Settings
from tracescore.sinks import OtlpSink, Sink
from tracescore.store import Store

NS = 1_000_000_000


def build_worker(
    settings: Settings, *, broker: str, on_failure: Callable[[BaseException], None] | None = None
) -> tuple[Worker, Store]:
    """Load the app, open the store, and build the worker; nothing runs yet.

    Raises:
        ConfigurationError: there is no app, or it cannot be loaded.
        StoreError: the store cannot be opened.
    """
    if not settings.app:
        raise ConfigurationError("no app: set TRACESCORE_APP=module:attribute to your TraceScore")
    app = load_app(settings.app)
    if any(scorer.needs_judge for scorer in app.scorers.values()):
        # A second of imports, which the first judge call would otherwise spend on the loop.
        importlib.import_module("tracescore.judge.chat")
    sinks = list(_sinks(app.sinks, settings))
    redaction = app.redaction or load_redaction(settings.redaction)
    wake = load_wake(broker)
    store = Store.open(settings.store)
    options = WorkerOptions(
        projects=settings.projects or (settings.project,),
        finds_projects=not settings.projects,
        slots=settings.slots,
        lease=settings.lease,
        times=SettleTimes(
            quiet_ns=int(settings.settle_quiet * NS),
            orphan_ns=int(settings.settle_orphan * NS),
            max_ns=int(settings.settle_max * NS),
            session_idle_ns=int(settings.session_idle * NS),
            compact_ns=int(settings.compact_after * NS),
        ),
        has_broker=broker != "none",
        offer_supersede=settings.offer_supersede,
    )
    worker = Worker(store, app, wake=wake, options=options, sinks=sinks, redaction=redaction, on_failure=on_failure)
    return worker, store


def _sinks(given: tuple[Any, ...], settings: Settings) -> Iterator[Sink]:
    names: set[str] = set()
    if settings.otlp_endpoint:
        given = (*given, OtlpSink(settings.otlp_endpoint))
    for sink in given:
        name = getattr(sink, "name", None)
        if not isinstance(name, str) or not callable(getattr(sink, "submit", None)):
            raise ConfigurationError(f"a sink has a name and an async method submit(items); {sink!r:.80} has not")
        if name in names:
            raise ConfigurationError(f"two sinks have the name {name!r}; what each is owed is kept by name")
        names.add(name)
        yield sink
