"""Scores leave as OpenTelemetry events on the scored span, and a refusal is seen."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.otel.requests import SPAN_ID, TRACE_ID
from tracescore.otel import PROTOBUF, Decoded, decode_logs
from tracescore.otel.emit import EmitError, EvaluationEvent, emit_scores


@dataclass
class Collector:
    """What an OTLP endpoint was sent."""

    url: str = ""
    status: int = 200
    paths: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def records(self) -> list[Any]:
        requests = [ExportLogsServiceRequest.FromString(body) for body in self.bodies]
        return [record for request in requests for record in request.resource_logs[0].scope_logs[0].log_records]


@pytest.fixture
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.paths.append(self.path)
            kept.bodies.append(gzip.decompress(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(kept.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


def event(**fields: Any) -> EvaluationEvent:
    usual: dict[str, Any] = {
        "trace_id": TRACE_ID,
        "span_id": SPAN_ID,
        "name": "brevity",
        "value": 0.5,
        "explanation": "short enough",
        "time_ns": 1_796_045_057_000_000_000,
        "run_id": "r" * 32,
        "score_key": "k" * 32,
        "scorer_id": "brevity",
        "scorer_version": "v1",
    }
    return EvaluationEvent(**{**usual, **fields})


def attributes_of(record: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in record.attributes}


def test_a_score_is_an_evaluation_event_on_its_span(collector: Collector) -> None:
    emit_scores(collector.url, [event(label="pass", response_id="resp-1", source="manual", probability=0.25)])
    [record] = collector.records

    assert collector.paths == ["/v1/logs"]
    assert (record.trace_id.hex(), record.span_id.hex(), record.event_name) == (
        TRACE_ID,
        SPAN_ID,
        "gen_ai.evaluation.result",
    )
    assert record.time_unix_nano == 1_796_045_057_000_000_000
    assert attributes_of(record) == {
        "gen_ai.evaluation.name": "brevity",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": "short enough",
        "gen_ai.response.id": "resp-1",
        "tracescore.run.id": "r" * 32,
        "tracescore.score.key": "k" * 32,
        "tracescore.scorer.id": "brevity",
        "tracescore.scorer.version": "v1",
        "tracescore.outcome": "score",
        "tracescore.score.source": "manual",
        "tracescore.score.probability": 0.25,
    }


def test_a_failure_carries_its_error_and_no_value(collector: Collector) -> None:
    emit_scores(collector.url, [event(value=None, explanation=None, error_type="ValueError", outcome="failure")])
    sent = attributes_of(collector.records[0])

    assert (sent["error.type"], sent["tracescore.outcome"]) == ("ValueError", "failure")
    assert "gen_ai.evaluation.score.value" not in sent


def test_an_endpoint_may_name_the_path_and_a_trace_may_have_no_span(collector: Collector) -> None:
    emit_scores(f"{collector.url}/v1/logs", [event(span_id=None)])

    assert collector.paths == ["/v1/logs"]
    assert collector.records[0].span_id == b""


def test_text_that_is_no_unicode_is_sent_all_the_same(collector: Collector) -> None:
    emit_scores(collector.url, [event(explanation="a \ud83e b")])

    assert attributes_of(collector.records[0])["gen_ai.evaluation.explanation"] == "a ? b"


def test_what_is_emitted_comes_back_as_our_own_and_is_ignored(collector: Collector) -> None:
    emit_scores(collector.url, [event(), event(name="tone")])

    assert decode_logs(collector.bodies[0], PROTOBUF) == Decoded(ignored=2)


def test_a_refusal_is_seen_with_its_status(collector: Collector) -> None:
    collector.status = 405

    with pytest.raises(EmitError, match="answered 405: 1 evaluation events were not taken") as caught:
        emit_scores(collector.url, [event()])
    assert caught.value.status == 405


def test_an_endpoint_that_is_away_is_seen() -> None:
    with pytest.raises(EmitError, match="gave no answer") as caught:
        emit_scores("http://127.0.0.1:9", [event()], timeout=0.5)
    assert caught.value.status is None


def test_nothing_to_send_sends_nothing(collector: Collector) -> None:
    emit_scores(collector.url, [])

    assert collector.paths == []
