"""A span exporter of OpenTelemetry's SDK, for an application that has tracescore in its own process."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracescore.app import TraceScore
from tracescore.arguments import FUNCTION, MAPPING, PROJECT, an, check, optional, whole
from tracescore.errors import ConfigurationError
from tracescore.exporter.destination import Destination
from tracescore.exporter.to_scorers import ToScorers
from tracescore.exporter.to_store import ToStore
from tracescore.model import AgentRun, ScoreOutcome, ScorerRun
from tracescore.redaction import load_redaction
from tracescore.settings import Settings

logger = logging.getLogger("tracescore.exporter")

TIMEOUT_MILLIS = 30_000
KEPT_OUTCOMES = 10_000
SAY_AGAIN = 60.0
"""Seconds between two log lines about exports that fail."""


_ARGUMENTS = {
    "store": optional(an((str, Path), "a folder or a database URL")),
    "app": optional(an(TraceScore, "a TraceScore")),
    "project": optional(PROJECT),
    "on_outcome": optional(FUNCTION),
    "slots": whole(1),
    "environ": optional(MAPPING),
}


class TraceScoreSpanExporter(SpanExporter):
    """Send an application's spans to a store, or score its runs in this process; nothing goes over a network.

    To a store (the settings' one unless given) spans are durable when an export returns, so give it a batch processor;
    workers score them as they do what a receiver takes. With ``app`` its scorers run here, nothing is stored, and each
    outcome goes to ``on_outcome``, or else into ``outcomes``: a trace is assembled once its root has ended and nothing
    of it is known to run. That is for traces of one process; OpenTelemetry's processors do not pass ``force_flush`` on,
    so call it on the exporter to wait for scores. Rules of kind ``session`` need the store, and a warning says so.

    Whatever fails, the application sees nothing of it but a log line and ``SpanExportResult.FAILURE``.

    Args:
        store: a folder or a database URL.
        app: whose rules and scorers are to run in this process, instead of a store.
        project: whose spans these are; that of the settings unless given.
        on_outcome: called with each run and outcome, in a thread of the exporter's own; a run of another kind than
            agents', which only a rule with ``kind=`` asks for, is a ``ScorerRun``.
        slots: how many scorers run at once.
        environ: where settings are read; that of the process unless given.

    Raises:
        ConfigurationError: both a store and an app, or a setting that is none.

    Example:
        >>> from opentelemetry.sdk.trace import TracerProvider
        >>> from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        >>> from tracescore import TraceScore, TraceScoreSpanExporter, scorer
        >>> @scorer(id="brief")
        ... def brief(run):
        ...     return 1.0 if len(run.output.text) < 280 else 0.0
        >>> exporter = TraceScoreSpanExporter(app=TraceScore([brief]))
        >>> provider = TracerProvider()
        >>> provider.add_span_processor(SimpleSpanProcessor(exporter))
        >>> answer = '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]'
        >>> with provider.get_tracer("mine").start_as_current_span("invoke_agent") as span:
        ...     span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": answer})
        >>> exporter.force_flush()
        True
        >>> [outcome.score for outcome in exporter.outcomes]
        [1.0]
        >>> provider.shutdown()
    """

    def __init__(
        self,
        *,
        store: str | Path | None = None,
        app: TraceScore | None = None,
        project: str | None = None,
        on_outcome: Callable[[AgentRun, ScoreOutcome], object]
        | Callable[[ScorerRun[Any, Any], ScoreOutcome], object]
        | None = None,
        slots: int = 16,
        environ: dict[str, str] | None = None,
    ) -> None:
        given = {"store": store, "app": app, "project": project, "on_outcome": on_outcome, "slots": slots}
        check("TraceScoreSpanExporter", _ARGUMENTS, {**given, "environ": environ})
        if store is not None and app is not None:
            raise ConfigurationError("TraceScoreSpanExporter takes a store or an app, not both")
        if on_outcome is not None and app is None:
            raise ConfigurationError("TraceScoreSpanExporter(on_outcome=...) needs app=: a store's workers score apart")
        self.outcomes: deque[ScoreOutcome] = deque(maxlen=KEPT_OUTCOMES)
        """What the scorers said where there is no ``on_outcome``, oldest first; the last ten thousand."""
        self._settings = Settings.from_env(
            os.environ if environ is None else environ, store=None if store is None else str(store), project=project
        )
        self._redaction = load_redaction(self._settings.redaction)
        self._app = app
        self._on_outcome: Callable[[Any, ScoreOutcome], object] = on_outcome or self._keep
        self._slots = slots
        self._lock = Lock()
        self._shut_down = False
        self._said = float("-inf")
        self._process = os.getpid()
        if app is not None:
            _say_what_does_not_apply(app)
        with _untraced():
            self._destination = self._begin()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take ended spans in."""
        if self._shut_down:
            return SpanExportResult.FAILURE
        try:
            with _untraced():
                body = encode_spans(spans).SerializeToString()
                self._here().take(body, timeout=TIMEOUT_MILLIS / 1000)
        except Exception as error:  # noqa: BLE001 - scoring must never break what is scored
            self._say(spans, error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = TIMEOUT_MILLIS) -> bool:
        """Wait until the runs of ended traces are scored; False where that takes longer, or failed."""
        if self._shut_down:
            return True
        try:
            with _untraced():
                return self._here().flush(timeout=timeout_millis / 1000)
        except Exception:
            logger.exception("force_flush failed")
            return False

    def shutdown(self, timeout_millis: int = TIMEOUT_MILLIS) -> None:
        """Finish what was taken and end; harmless twice. Spans that come later are refused."""
        with self._lock:
            if self._shut_down:
                return
            self._shut_down = True
        if os.getpid() != self._process:  # a forked child that exported nothing has nothing to finish
            return
        try:
            with _untraced():
                self._destination.close(timeout=timeout_millis / 1000)
        except Exception:
            logger.exception("shutdown failed")

    def _here(self) -> Destination:
        """Give the destination of this process: a forked child has none of its parent's threads."""
        with self._lock:
            if os.getpid() != self._process:
                self._process = os.getpid()
                self._destination = self._begin()
            return self._destination

    def _begin(self) -> Destination:
        settings = self._settings
        if self._app is None:
            return ToStore(
                settings.store,
                project=settings.project,
                quiet_ns=int(settings.settle_quiet * 1e9),
                redaction=self._redaction,
            )
        return ToScorers(
            self._app,
            project=settings.project,
            slots=self._slots,
            redaction=self._app.redaction or self._redaction,
            on_outcome=self._on_outcome,
        )

    def _keep(self, run: ScorerRun[Any, Any], outcome: ScoreOutcome) -> None:
        self.outcomes.append(outcome)

    def _say(self, spans: Sequence[ReadableSpan], error: Exception) -> None:
        now = time.monotonic()
        if now - self._said >= SAY_AGAIN:  # with a simple processor it would be a line for each span
            self._said = now
            logger.warning("%d spans were not taken: %s", len(spans), str(error) or type(error).__name__)


def _say_what_does_not_apply(app: TraceScore) -> None:
    without = dict.fromkeys(rule.scorer_id for rule in app.rule_set.rules if rule.kind == "session")
    if without:
        logger.warning(
            "rules of kind session need the store: in this process nothing tells when a session is over, so %s "
            "will see none; give the exporter store= and run a worker",
            ", ".join(without),
        )


@contextmanager
def _untraced() -> Generator[None]:
    """Have nothing traced that is done meanwhile: an exporter whose own work makes spans would never be done."""
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    try:
        yield
    finally:
        detach(token)
