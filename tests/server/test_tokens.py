"""Tenants: whose token it is says whose spans, runs and scores they are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.otel.requests import TRACE_ID, as_json, as_protobuf, log, logs, span, traces
from tests.server.calls import Answer, call
from tests.server.stored import make_run, put_runs
from tests.waiting import wait_until
from tracescore.bridge import run_sync
from tracescore.errors import ConfigurationError, StoreUnavailable
from tracescore.otel import JSON, PROTOBUF
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import NewToken, Store, TokenKind

SPANS = as_json(traces(span()))
EVERY_QUESTION = [
    ("GET", "/api/runs"),
    ("GET", f"/api/runs/{'1' * 32}"),
    ("GET", "/api/scores"),
    ("GET", f"/api/scores/{'1' * 32}"),
    ("GET", "/api/scorers"),
    ("GET", f"/api/batches/{'1' * 32}"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/nonsense"),
    ("HEAD", "/api/runs"),
    ("POST", "/api/traces/score"),
    ("POST", f"/api/traces/{TRACE_ID}/complete"),
    ("POST", "/v1/traces"),
    ("POST", "/v1/logs"),
    ("GET", "/v1/traces"),
]


def create(store: Store, kind: TokenKind, project: str = "shop") -> NewToken:
    return run_sync(store.tokens.create(project, kind))


def ask(server: RunningServer, method: str, path: str, token: str, body: bytes | None = None, **headers: str) -> Answer:
    return call(server, method, path, body, **{"authorization": f"Bearer {token}", "content_type": JSON, **headers})


def spans_in(store: Store, project: str | None = None) -> int:
    return run_sync(store.spans.trace_counts(project)).spans


@pytest.fixture
def tokens(store: Store) -> dict[str, NewToken]:
    """Made before the server starts, so that it asks for them from the first request on."""
    return {
        "ingest": create(store, "ingest"),
        "read": create(store, "read"),
        "other ingest": create(store, "ingest", "bank"),
        "other read": create(store, "read", "bank"),
    }


@pytest.fixture
def guarded(tokens: dict[str, NewToken], server: RunningServer) -> RunningServer:
    assert tokens
    return server


def wrong(tokens: dict[str, NewToken], needed: str) -> dict[str, str | None]:
    """Every way to be wrong, by its name."""
    good, other_kind = tokens[needed].token, tokens["read" if needed == "ingest" else "ingest"].token
    token_id, secret = good.removeprefix("ts_").split("_")
    return {
        "missing": None,
        "empty": "Bearer ",
        "another scheme": f"Basic {good}",
        "no scheme": good,
        "unknown": f"Bearer ts_{'0' * 16}_{secret}",
        "a wrong secret": f"Bearer ts_{token_id}_{'0' * 64}",
        "cut off": f"Bearer {good[:-1]}",
        "of the other kind": f"Bearer {other_kind}",
    }


@pytest.mark.parametrize(("method", "path"), EVERY_QUESTION)
def test_without_its_token_nothing_is_answered(
    guarded: RunningServer, tokens: dict[str, NewToken], method: str, path: str
) -> None:
    needed = "read" if method in ("GET", "HEAD") and path.startswith("/api") else "ingest"
    for name, authorization in wrong(tokens, needed).items():
        headers = {"content_type": JSON} | ({"authorization": authorization} if authorization else {})
        answer = call(guarded, method, path, b"{}" if method == "POST" else None, **headers)

        assert (name, answer.status) == (name, 401)
        assert answer.headers["www-authenticate"] == 'Bearer realm="tracescore"'
        if method != "HEAD":
            assert answer.json["error"] == f"a valid {needed} token is needed, sent as `Authorization: Bearer ...`"


def test_a_sender_without_a_token_is_answered_in_its_own_encoding_and_nothing_is_stored(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken]
) -> None:
    said = "a valid ingest token is needed, sent as `Authorization: Bearer ...`"
    for authorization in wrong(tokens, "ingest").values():
        headers = {"authorization": authorization} if authorization else {}
        for path, body in (("/v1/traces", traces(span())), ("/v1/logs", logs(log()))):
            answer = call(guarded, "POST", path, as_json(body), content_type=JSON, **headers)
            assert (answer.status, answer.json) == (401, {"error": said, "code": 16, "message": said})
    answer = call(guarded, "POST", "/v1/traces", as_protobuf(traces(span())), content_type=PROTOBUF)

    assert (answer.status, answer.headers["content-type"]) == (401, PROTOBUF)
    assert Status.FromString(answer.body) == Status(code=16, message=said)
    counts = run_sync(store.spans.trace_counts())
    assert (counts.traces, counts.spans, counts.logs) == (0, 0, 0)


def test_a_large_body_without_a_token_is_told_so(guarded: RunningServer) -> None:
    answer = call(guarded, "POST", "/v1/traces", [bytes(150_000)] * 9, content_type=PROTOBUF)

    assert (answer.status, Status.FromString(answer.body).code) == (401, 16)


def test_health_stays_open(guarded: RunningServer) -> None:
    assert [call(guarded, "GET", path).status for path in ("/healthz", "/readyz")] == [200, 200]


def test_the_same_export_under_two_tokens_is_two_tenants_spans(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken]
) -> None:
    body = as_protobuf(traces(span()))
    for name in ("ingest", "other ingest"):
        answer = ask(guarded, "POST", "/v1/traces", tokens[name].token, body, content_type=PROTOBUF)

        assert (answer.status, answer.body) == (200, ExportTraceServiceResponse().SerializeToString())
    assert {project: spans_in(store, project) for project in ("shop", "bank", "default")} == {
        "shop": 1,
        "bank": 1,
        "default": 0,
    }
    complete = f"/api/traces/{TRACE_ID}/complete"
    assert ask(guarded, "POST", complete, tokens["ingest"].token).status == 202
    trace, other = (run_sync(store.spans.load_trace(project, TRACE_ID)) for project in ("shop", "bank"))

    assert trace is not None
    assert other is not None
    assert (trace.complete, other.complete) == (True, False)


def test_anothers_trace_cannot_be_completed_or_scored(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken]
) -> None:
    ask(guarded, "POST", "/v1/traces", tokens["ingest"].token, SPANS)
    token = tokens["other ingest"].token
    targets = f'{{"scorer_id": "brevity", "targets": [{{"trace_id": "{TRACE_ID}"}}]}}'.encode()

    assert ask(guarded, "POST", f"/api/traces/{TRACE_ID}/complete", token).status == 404
    assert ask(guarded, "POST", "/api/traces/score", token, targets).status == 404
    trace = run_sync(store.spans.load_trace("shop", TRACE_ID))
    assert trace is not None
    assert not trace.complete


def test_a_read_token_sees_its_own_projects_rows(store: Store, settings: Settings, tokens: dict[str, NewToken]) -> None:
    run = make_run()
    put_runs(store, run)
    mine = create(store, "read", "default")
    with serving(store, settings) as server:
        seen = ask(server, "GET", "/api/runs", mine.token).json["items"]
        others = [ask(server, "GET", path, tokens["read"].token) for path in ("/api/runs", f"/api/runs/{run.run_id}")]

        assert [row["run_id"] for row in seen] == [run.run_id]
        assert ask(server, "GET", f"/api/runs/{run.run_id}", mine.token).status == 200
    assert (others[0].json["items"], others[1].status) == ([], 404)


def test_a_revoked_token_is_refused_within_seconds(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken]
) -> None:
    token = tokens["ingest"]
    assert ask(guarded, "POST", "/v1/traces", token.token, SPANS).status == 200

    run_sync(store.tokens.revoke(token.row.token_id))
    wait_until(
        lambda: ask(guarded, "POST", "/v1/traces", token.token, SPANS).status == 401,
        timeout=6,
        description="the refusal",
    )
    assert ask(guarded, "POST", "/v1/traces", tokens["other ingest"].token, SPANS).status == 200


def test_the_first_token_closes_the_door_and_revoking_it_does_not_open_it(server: RunningServer, store: Store) -> None:
    assert call(server, "POST", "/v1/traces", SPANS, content_type=JSON).status == 200

    token = create(store, "read", "default")
    wait_until(lambda: call(server, "GET", "/api/runs").status == 401, timeout=6, description="the refusal")
    run_sync(store.tokens.revoke(token.row.token_id))
    wait_until(lambda: ask(server, "GET", "/api/runs", token.token).status == 401, timeout=6, description="revoked")

    assert call(server, "GET", "/api/runs").status == 401
    assert call(server, "POST", "/v1/traces", SPANS, content_type=JSON).status == 401


def test_many_requests_read_the_tokens_seldom(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read = store.tokens.list

    async def counted(project: str | None = None) -> Any:
        nonlocal reads
        reads += 1
        return await read(project)

    monkeypatch.setattr(store.tokens, "list", counted)
    statuses = {ask(guarded, "GET", "/api/scores", tokens["read"].token).status for _ in range(50)}
    statuses |= {ask(guarded, "GET", "/api/scores", f"ts_{number:016x}_{'0' * 64}").status for number in range(50)}

    assert statuses == {200, 401}
    assert reads < 10


def test_the_last_use_is_noted(guarded: RunningServer, store: Store, tokens: dict[str, NewToken]) -> None:
    ask(guarded, "GET", "/api/scores", tokens["read"].token)

    def used() -> list[str]:
        return [row.token_id for row in run_sync(store.tokens.list()) if row.last_used_ns is not None]

    wait_until(used, description="the note")
    assert used() == [tokens["read"].row.token_id]


def test_where_the_tokens_cannot_be_read_nobody_is_let_in(
    guarded: RunningServer, store: Store, tokens: dict[str, NewToken], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(project: str | None = None) -> Any:
        raise StoreUnavailable("disk is full", retry_after=7)

    monkeypatch.setattr(store.tokens, "list", fails)
    answer = ask(guarded, "POST", "/v1/traces", tokens["ingest"].token, SPANS)

    assert (answer.status, answer.headers["retry-after"]) == (503, "7")
    assert answer.json["message"] == "the store is not available: disk is full"
    assert spans_in(store) == 0


@contextmanager
def beyond_loopback(store: Store, settings: Settings, **changes: Any) -> Generator[RunningServer]:
    with serving(store, replace(settings, host="0.0.0.0", **changes)) as running:
        yield RunningServer(host="127.0.0.1", port=running.port)


def test_beyond_loopback_a_token_is_needed_to_start(store: Store, settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="without a token anybody could"), beyond_loopback(store, settings):
        pass
    with beyond_loopback(store, settings, insecure=True) as server:
        assert call(server, "GET", "/api/runs", host="scores.example.com").status == 200
    token = create(store, "read").token
    with beyond_loopback(store, settings) as server:
        assert ask(server, "GET", "/api/runs", token, host="scores.example.com").status == 200
        assert call(server, "GET", "/api/runs", host="scores.example.com").status == 401
        assert ask(server, "GET", "/api/runs", token, origin="https://evil.example").status == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [("scores.example.com", 200), ("SCORES.example.com.:4318", 200), ("127.0.0.1", 200), ("evil.example", 403)],
)
@pytest.mark.parametrize("beyond", [True, False])
def test_hosts_may_be_named(store: Store, settings: Settings, host: str, status: int, beyond: bool) -> None:
    token = create(store, "read").token
    changed = replace(settings, allowed_hosts="scores.example.com, 10.0.0.7", host="0.0.0.0" if beyond else "127.0.0.1")
    with serving(store, changed) as running:
        server = RunningServer(host="127.0.0.1", port=running.port)

        assert ask(server, "GET", "/api/runs", token, host=host).status == status


def test_no_secret_is_ever_logged_or_said(
    guarded: RunningServer, tokens: dict[str, NewToken], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    said = ""
    for token in tokens.values():
        for method, path in EVERY_QUESTION:
            said += repr(ask(guarded, method, path, token.token, b"{" if method == "POST" else None))

    assert not [token.row.token_id for token in tokens.values() if token.token[-64:] in said + caplog.text]
