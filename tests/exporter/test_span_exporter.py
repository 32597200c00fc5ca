"""Spans of an SDK in the same process: to a store and to scorers, as if they had been sent by OTLP."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from tests.exporter.agents import SECRET, app, brief, message, provider_of, run_agent
from tests.waiting import wait_until
from tracescore import (
    AgentRun,
    ConfigurationError,
    Rule,
    ScoreOutcome,
    ScorerRun,
    TraceScore,
    TraceScoreSpanExporter,
    create_scorer,
)
from tracescore.bridge import run_sync
from tracescore.model import dump_run
from tracescore.pipeline.assembly import assemble
from tracescore.pipeline.explaining import load_trace
from tracescore.server import serving
from tracescore.settings import Settings
from tracescore.store import Store

Outcomes = list[tuple[AgentRun, ScoreOutcome]]
PROCESSORS: list[Callable[[SpanExporter], SpanProcessor]] = [SimpleSpanProcessor, BatchSpanProcessor]


def trace_ids(memory: InMemorySpanExporter) -> list[str]:
    found = {f"{span.context.trace_id:032x}": None for span in memory.get_finished_spans() if span.context}
    return list(found)


def copies(store: Store, trace_id: str) -> list[tuple[str, tuple[bytes, ...]]]:
    stored = run_sync(store.spans.load_trace("default", trace_id))
    assert stored is not None
    return [(span.span_id, tuple(span.copies)) for span in stored.spans]


def runs(store: Store, trace_id: str) -> list[bytes]:
    trace = run_sync(load_trace(store, "default", trace_id))
    assert trace is not None
    return [dump_run(found.run) for found in assemble(trace)]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_spans_are_stored_and_scored_as_those_sent_by_otlp(
    processor: Callable[[SpanExporter], SpanProcessor], tmp_path: Path
) -> None:
    memory, scored = InMemorySpanExporter(), Outcomes()
    with (
        Store.open(tmp_path / "sent") as sent,
        serving(sent, Settings(port=0, broker="none")) as server,
    ):
        provider = provider_of()
        for exporter in (
            memory,
            OTLPSpanExporter(f"{server.url}/v1/traces"),
            TraceScoreSpanExporter(store=tmp_path / "here"),
            TraceScoreSpanExporter(app=app(), on_outcome=lambda run, outcome: scored.append((run, outcome))),
        ):
            provider.add_span_processor(processor(exporter))
        run_agent(provider)
        provider.shutdown()
        [trace_id] = trace_ids(memory)
        with Store.open(tmp_path / "here") as here:
            assert copies(here, trace_id) == copies(sent, trace_id)
            assert len(copies(here, trace_id)) == 3
            assert SECRET not in str(copies(here, trace_id)), "what may not be stored is not, by this door either"
            assert runs(here, trace_id) == runs(sent, trace_id) == [dump_run(scored[0][0])]
    outcomes = {outcome.scorer_id: outcome.outcome for _, outcome in scored}
    assert outcomes == {"brief": "score", "broken": "failure"}


def test_what_an_export_took_is_there_when_it_returns(tmp_path: Path) -> None:
    memory = InMemorySpanExporter()
    exporter = TraceScoreSpanExporter(store=tmp_path / "store", project="shop")
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    run_agent(provider)
    with Store.open(tmp_path / "store") as store:
        counts = run_sync(store.spans.trace_counts("shop"))

    assert exporter.force_flush()
    assert counts.traces == 1
    provider.shutdown()
    exporter.shutdown()
    assert exporter.export(memory.get_finished_spans()) is SpanExportResult.FAILURE


def test_a_store_that_is_away_is_a_log_line_and_no_error_of_the_application(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no store")
    memory = InMemorySpanExporter()
    exporter = TraceScoreSpanExporter(store=tmp_path / "file")
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with caplog.at_level(logging.WARNING, logger="tracescore.exporter"):
        run_agent(provider)
    said = [record.getMessage() for record in caplog.records if record.name == "tracescore.exporter"]

    assert len(said) == 1, "not a line for each span"
    assert "is a file" in said[0]
    assert exporter.export(memory.get_finished_spans()) is SpanExportResult.FAILURE
    (tmp_path / "file").unlink()
    assert exporter.export(memory.get_finished_spans()) is SpanExportResult.SUCCESS, "the store came back"
    provider.shutdown()


def test_a_trace_is_scored_once_its_root_ended_and_never_half_seen() -> None:
    exporter = TraceScoreSpanExporter(app=app())
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as call:
            call.set_attribute("gen_ai.output.messages", message("assistant", "Yes."))
        assert exporter.force_flush()
        assert list(exporter.outcomes) == []
    assert exporter.force_flush()

    assert sorted(outcome.scorer_id for outcome in exporter.outcomes) == ["brief", "broken"]
    run_agent(provider)
    assert exporter.force_flush()
    assert len(exporter.outcomes) == 4
    provider.shutdown()


def test_rules_of_other_kinds_get_theirs_and_those_of_sessions_say_that_they_do_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    called = create_scorer(id="called", version="1").generate_score(lambda ctx: float(ctx.run.output["error"] != ""))
    mine = TraceScore([called, brief], rules=[Rule(called, kind="tool"), Rule(brief, kind="session")])
    scored: list[tuple[str, str | None, float]] = []

    def on_outcome(run: ScorerRun[Any, Any], outcome: ScoreOutcome) -> None:
        scored.append((run.kind, run.name, float(outcome)))

    with caplog.at_level(logging.WARNING, logger="tracescore.exporter"):
        exporter = TraceScoreSpanExporter(app=mine, on_outcome=on_outcome)
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    run_agent(provider)
    provider.shutdown()
    (said,) = [record.getMessage() for record in caplog.records]

    assert said.startswith("rules of kind session need the store: ")
    assert "so brief will see none" in said
    assert scored == [("tool", "look", 1.0)]


def test_what_is_below_another_process_has_its_root_here() -> None:
    exporter = TraceScoreSpanExporter(app=app())
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    remote = NonRecordingSpan(SpanContext(trace_id=5, span_id=6, is_remote=True, trace_flags=TraceFlags(1)))
    tracer = provider.get_tracer("t")
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": message("assistant", "Yes.")}
    with tracer.start_as_current_span("invoke_agent", set_span_in_context(remote), attributes=attributes):
        pass

    assert exporter.force_flush()
    assert len(exporter.outcomes) == 2
    provider.shutdown()


def test_shutdown_scores_what_is_left_and_a_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def on_outcome(run: AgentRun, outcome: ScoreOutcome) -> None:
        seen.append(outcome.scorer_id)
        raise RuntimeError("mine")

    exporter = TraceScoreSpanExporter(app=app(), on_outcome=on_outcome)
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    root = tracer.start_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"})
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": message("assistant", "Yes.")}
    tracer.start_span("chat", set_span_in_context(root), attributes=attributes).end()
    with caplog.at_level(logging.ERROR, logger="tracescore.exporter"):
        provider.shutdown()

    assert sorted(seen) == ["brief", "broken"]
    assert sum("on_outcome failed" in record.getMessage() for record in caplog.records) == 2


def test_what_scorers_do_is_not_traced() -> None:
    from opentelemetry import context

    from tracescore import TraceScore, scorer

    seen: list[Any] = []

    @scorer(id="calls", version="1")
    def calls(run: AgentRun) -> float:
        seen.append((context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY), threading.current_thread().name))
        return 1.0

    exporter = TraceScoreSpanExporter(app=TraceScore([calls]))
    provider = provider_of()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    run_agent(provider)
    provider.shutdown()

    assert seen == [(True, "tracescore-score")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_exports_by_itself(tmp_path: Path) -> None:
    exporter = TraceScoreSpanExporter(store=tmp_path / "store")
    provider = provider_of()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forking beside threads, which is what is tried here
        child = os.fork()
    if not child:
        try:
            run_agent(provider)
            exporter.shutdown()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with Store.open(tmp_path / "store") as store:
        wait_until(lambda: run_sync(store.spans.trace_counts()).traces == 1, description="the child's trace")
    provider.shutdown()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"store": "x", "app": app()}, "not both"),
        ({"on_outcome": print}, "needs app="),
        ({"app": app(), "slots": 0}, "whole number from 1"),
        ({"project": "a b"}, r"project='a b'\): give letters, digits"),
        ({"store": "mysql://x"}, "STORE is a URL of 'mysql'"),
        ({"environ": {"TRACESCORE_SETTLE_QUIET": "soon"}}, "expected a number"),
    ],
)
def test_what_cannot_work_fails_when_it_is_built(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        TraceScoreSpanExporter(**arguments)
