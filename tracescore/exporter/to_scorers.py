"""Exported spans straight to scorers: a trace is assembled once its root has ended, and nothing is stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import Lock
from typing import Any

from tracescore.app import TraceScore
from tracescore.bridge import BackgroundLoop
from tracescore.model import ScoreOutcome, Trace
from tracescore.otel import PROTOBUF, SpanRow, decode_traces, read_span
from tracescore.pipeline.ended_traces import EndedTraces
from tracescore.pipeline.in_process import AnyRun, runs_of, score_here
from tracescore.redaction import Redaction
from tracescore.scorers import Scorer

logger = logging.getLogger("tracescore.exporter")


class ToScorers:
    """Score what the app's rules choose, ``slots`` at a time, in a thread of its own; no export waits for it."""

    def __init__(
        self,
        app: TraceScore,
        *,
        project: str,
        slots: int,
        redaction: Redaction,
        on_outcome: Callable[[AnyRun, ScoreOutcome], object],
    ) -> None:
        self._app = app
        self._project = project
        self._on_outcome = on_outcome
        self._redaction = redaction
        self._slots = asyncio.Semaphore(slots)
        self._traces = EndedTraces()
        self._lock = Lock()
        self._running: set[Future[None]] = set()
        self._loop = BackgroundLoop(name="tracescore-score")

    def take(self, body: bytes, *, timeout: float) -> None:
        """Keep spans, and begin to score the traces that have ended with them."""
        decoded = decode_traces(body, PROTOBUF)
        with self._lock:
            late = self._traces.late
            ended = self._traces.add(decoded.rows)
            late = self._traces.late - late
        self._begin(ended)
        if late:
            logger.info("%d spans came after their trace was scored and were left out", late)

    def flush(self, *, timeout: float) -> bool:
        """Begin to score every trace whose root has ended, and wait for all that was begun."""
        with self._lock:
            ended = self._traces.give_rooted()
        self._begin(ended)
        return self._wait(timeout)

    def close(self, *, timeout: float) -> None:
        """Score what is left as it stands, and end."""
        with self._lock:
            ended = self._traces.give_all()
        self._begin(ended)
        in_time = self._wait(timeout)
        self._loop.close()
        if not in_time:
            logger.warning(
                "the exporter was shut down before all runs were scored: give it more time than %g s", timeout
            )

    def _begin(self, ended: Sequence[Sequence[SpanRow]]) -> None:
        for rows in ended:
            future = self._loop.submit(self._score(rows))
            with self._lock:
                self._running.add(future)
            future.add_done_callback(self._ended)

    def _ended(self, future: Future[None]) -> None:
        with self._lock:
            self._running.discard(future)

    def _wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            with self._lock:
                running = set(self._running)
            if not running:
                return True
            if wait(running, timeout=max(0.0, end - time.monotonic())).not_done:
                return False

    async def _score(self, rows: Sequence[SpanRow]) -> None:
        try:
            now_ns = time.time_ns()
            spans = tuple(read_span([row.body], arrived_ns=now_ns) for row in rows)
            rules = self._app.rule_set
            trace = Trace(trace_id=rows[0].trace_id.hex(), spans=spans)
            agents, parts = runs_of([trace], rules.kinds - {"session"}, project=self._project)
            chosen = [(planned.scorer, run) for run in (*agents, *parts) for planned in rules.match(run)]
            await asyncio.gather(*(self._one(scorer, run) for scorer, run in chosen))
        except Exception:  # a trace that cannot be read never ends the application, nor the next trace
            logger.exception("trace %s could not be scored", rows[0].trace_id.hex())

    async def _one(self, scorer: Scorer[Any, Any], run: AnyRun) -> None:
        async with self._slots:
            outcome = await score_here(self._app.rule_set, scorer, run, redaction=self._redaction)
        try:
            self._on_outcome(run, outcome)
        except Exception:
            logger.exception("on_outcome failed for run %s and scorer %s", run.run_id, scorer.id)
