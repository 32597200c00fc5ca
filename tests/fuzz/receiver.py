"""The real server under fire: never an error of its own, always one line, bounded memory, and it goes on working."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import grpc
import orjson
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.fuzz.wire import GrpcAnswer, HttpAnswer, Sent, ask, exchange, throw
from tests.otel.requests import as_json, as_protobuf, span, traces
from tests.server.apart import LIMIT, MOST_GROWTH, ServerApart, server_apart
from tests.server.calls import call, get
from tracescore.cli.address import free_port
from tracescore.otel import JSON, PROTOBUF
from tracescore.otel.problems import MAX_REASON_CHARS, MAX_REASONS

MOST_LEFT = MOST_GROWTH + 64 * 1024 * 1024
"""What may be left of all requests together: one request's growth, and the pages that the store keeps at hand."""
_MOST_TEXT = 1_025
_MOST_REASONS = (MAX_REASONS + 1) * (MAX_REASON_CHARS + 2)
"""What a request of many defects is answered with, at most."""
_LINE = re.compile(r"[^\x00-\x1f\x7f]+")
_REFUSALS = ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNIMPLEMENTED", "UNAVAILABLE")


@dataclass(kw_only=True, slots=True)
class UnderFire:
    """A server that is sent anything, and what must hold of its answers."""

    server: ServerApart
    channel: Any
    tried: int = 0
    taken: int = 0
    """Requests that were answered with 200, or ``OK``."""
    late: int = 0
    """Those answered with 503, ``UNAVAILABLE`` over gRPC: a machine that is busy is no defect, but it is told."""
    most_grown: int = 0
    _begun_at: int = field(init=False)
    _read_to: int = field(default=0, init=False)
    _numbers: Any = field(default_factory=lambda: count(1), init=False)

    def __post_init__(self) -> None:
        self._begun_at = self.server.rss()

    def check(self, sent: Sent) -> None:
        """Send one thing, and hold the answer and the server's memory against what must be."""
        before = self.server.count_from_here()
        self.tried += 1
        running = self.server.running
        match sent.door:
            case "http" | "part":
                answer = exchange(running.host, running.port, sent.data, whole=sent.door == "http")
                assert answer is not None or sent.door == "part", "a whole request was not answered"
                if answer is not None:
                    self.taken += answer.status == 200
                    self.late += answer.status == 503
                    check_answer(answer)
            case "grpc":
                path, _, message = sent.data.partition(b"\n")
                replied = ask(self.channel, path.decode(), message)
                self.taken += replied.code == "OK"
                self.late += replied.code == "UNAVAILABLE"
                check_reply(replied)
            case "frames":
                throw(running.host, running.grpc_port or 0, sent.data)
        assert self.server.process.poll() is None, "the server ended"
        self._hold_log()
        grown = self.server.peak() - before
        self.most_grown = max(self.most_grown, grown)
        assert grown <= MOST_GROWTH, f"the server grew by {grown / LIMIT:.1f} times the limit"

    def _hold_log(self) -> None:
        with self.server.log.open(errors="replace") as log:
            log.seek(self._read_to)
            said = log.read()
            self._read_to = log.tell()
        assert "Traceback" not in said, f"the server raised:\n{said[-3000:]}"

    def still_works(self) -> None:
        """Send a good request by either encoding and door, and read its spans back."""
        number = next(self._numbers)
        for way in range(3):
            trace_id = f"600d{number:026x}{way:02x}"
            request = traces(span({"gen_ai.operation.name": "chat"}, traceId=trace_id))
            if way == 2:
                reply = ask(
                    self.channel,
                    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                    as_protobuf(request),
                    compression=grpc.Compression.Gzip,
                )
                assert reply == GrpcAnswer(code="OK"), "a good request was refused over gRPC"
            else:
                body, kind = (as_json(request), JSON) if way else (as_protobuf(request), PROTOBUF)
                answer = call(self.server.running, "POST", "/v1/traces", body, content_type=kind)
                assert (answer.status, answer.body) in ((200, b""), (200, b"{}")), "a good request was refused"
            found = get(self.server.running, f"/api/traces/{trace_id}/explain")
            assert found.status == 200, "what was taken cannot be read"
            assert len(found.json["spans"]) == 1
        assert self.left <= MOST_LEFT, f"the server keeps {self.left / LIMIT:.1f} times the limit"

    @property
    def left(self) -> int:
        """Give how many bytes more it has than when it began."""
        return self.server.rss() - self._begun_at


@contextmanager
def under_fire(folder: Path) -> Generator[UnderFire]:
    """Run a server with both doors in a folder."""
    with server_apart(folder, grpc_port=free_port("127.0.0.1")) as server:
        channel: Any = grpc.insecure_channel(
            f"{server.running.host}:{server.running.grpc_port}", options=[("grpc.max_send_message_length", -1)]
        )
        fire = UnderFire(server=server, channel=channel)
        fire.still_works()
        try:
            yield fire
        finally:
            channel.close()


def check_answer(answer: HttpAnswer) -> None:
    """Hold an answer against what a sender may count on: no error of the server's, one line that says why."""
    assert answer.status < 500 or answer.status == 503, f"{answer.status}: {answer.body[:500]!r}"
    if answer.status in (200, 204):
        if answer.content_type == PROTOBUF:
            # Both kinds of responses have the same form.
            said = ExportTraceServiceResponse.FromString(answer.body).partial_success.error_message
            assert ExportLogsServiceResponse.FromString(answer.body).partial_success.error_message == said
            check_line(said, needed=False)
        elif answer.content_type == JSON and answer.body:
            partial = orjson.loads(answer.body).get("partialSuccess", {})
            check_line(partial.get("errorMessage", ""), needed=False)
        return
    if not answer.body:
        # Of HEAD, and of what is not for this server: 3xx and 405.
        return
    check_line(_reason(answer), needed=True)


def _reason(answer: HttpAnswer) -> str:
    if answer.content_type == PROTOBUF:
        try:
            return Status.FromString(answer.body).message
        except DecodeError as error:
            raise AssertionError(f"no status: {answer.body[:200]!r}") from error
    if answer.content_type == JSON:
        said = orjson.loads(answer.body)
        return said["error"] if "error" in said else said["detail"]
    return answer.body.decode()


def check_reply(reply: GrpcAnswer) -> None:
    """Hold a reply over gRPC against the same."""
    if reply.code == "OK":
        check_line(ExportTraceServiceResponse.FromString(reply.message).partial_success.error_message, needed=False)
        return
    assert reply.code in _REFUSALS, f"{reply.code}: {reply.details}"
    check_line(reply.details, needed=True)


def check_line(text: str, *, needed: bool) -> None:
    """Hold a message against being one line that is read in one look."""
    if text or needed:
        assert _LINE.fullmatch(text), f"not one line: {text[:200]!r}"
        assert len(text) <= (_MOST_TEXT if needed else _MOST_REASONS), (
            f"{len(text)} characters are no clear line: {text[:200]!r}"
        )
