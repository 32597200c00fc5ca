from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tracescore.bridge import run_sync
from tracescore.model import SubScore, Target
from tracescore.sinks import Delivery, OtlpSink, SinkError

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SCORED = Delivery(
    score_key="k" * 32,
    score_id="1" * 32,
    project="default",
    run_id="2" * 32,
    target=Target(trace_id=TRACE, span_id=SPAN),
    scorer_id="grounded",
    scorer_version="1",
    outcome="score",
    score=0.75,
    reason="three of four",
    sub_scores=(SubScore(name="facts", value=0.5),),
    scored_ns=1_700_000_000_000_000_000,
)


@contextmanager
def endpoint(status: int = 200) -> Generator[tuple[str, list[ExportLogsServiceRequest]]]:
    received: list[ExportLogsServiceRequest] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            received.append(ExportLogsServiceRequest.FromString(body))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", received
        finally:
            server.shutdown()
            thread.join()


def events(request: ExportLogsServiceRequest) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [
        (
            record.event_name,
            record.trace_id.hex(),
            record.span_id.hex(),
            {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in record.attributes},
        )
        for group in request.resource_logs
        for scoped in group.scope_logs
        for record in scoped.log_records
    ]


def test_a_score_and_its_sub_scores_are_events_on_the_scored_span() -> None:
    with endpoint() as (url, received):
        run_sync(OtlpSink(url).submit([SCORED]))
    (request,) = received
    scored, part = events(request)

    assert scored[:3] == part[:3] == ("gen_ai.evaluation.result", TRACE, SPAN)
    assert scored[3]["gen_ai.evaluation.name"] == "grounded"
    assert scored[3]["gen_ai.evaluation.score.value"] == 0.75
    assert scored[3]["gen_ai.evaluation.explanation"] == "three of four"
    assert part[3]["gen_ai.evaluation.name"] == "grounded.facts"
    assert part[3]["gen_ai.evaluation.score.value"] == 0.5
    assert scored[3]["tracescore.score.key"] != part[3]["tracescore.score.key"]


def test_a_failure_is_an_event_with_its_error_and_what_was_not_scorable_is_none() -> None:
    failed = replace(SCORED, outcome="failure", score=None, reason="no luck", error_type="RuntimeError", sub_scores=())
    with endpoint() as (url, received):
        run_sync(OtlpSink(url).submit([failed, replace(failed, outcome="not_scorable", error_type=None)]))
    (event,) = events(received[0])

    assert event[3]["error.type"] == "RuntimeError"
    assert "gen_ai.evaluation.score.value" not in event[3]


def test_a_score_that_does_not_count_says_so() -> None:
    with endpoint() as (url, received):
        run_sync(OtlpSink(url).submit([replace(SCORED, sub_scores=(), counted=False), replace(SCORED, sub_scores=())]))
    uncounted, counted = events(received[0])

    assert uncounted[3]["tracescore.score.counted"] is False
    assert "tracescore.score.counted" not in counted[3]


def test_nothing_to_say_is_not_sent() -> None:
    with endpoint() as (url, received):
        run_sync(OtlpSink(url).submit([replace(SCORED, target=None)]))

    assert received == []


def test_a_refusal_is_seen() -> None:
    with endpoint(status=400) as (url, _), pytest.raises(SinkError, match="400"):
        run_sync(OtlpSink(url).submit([SCORED]))
