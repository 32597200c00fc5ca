"""Loopback is not a fence against web pages: foreign hosts, origins and content types stay out."""

from __future__ import annotations

import pytest

from tests.otel.requests import as_json, span, traces
from tests.server.calls import call
from tracescore.otel import JSON
from tracescore.server import RunningServer

BODY = as_json(traces(span()))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4318", "10.0.0.7", "", "127.0.0.1.evil.example"])
@pytest.mark.parametrize("path", ["/v1/traces", "/api/runs", "/healthz"])
def test_a_foreign_host_is_refused(server: RunningServer, host: str, path: str) -> None:
    answer = call(server, "POST" if path == "/v1/traces" else "GET", path, BODY, host=host, content_type=JSON)

    assert answer.status == 403
    assert answer.json["error"] == f"host {host!r} is not this server's: it answers on loopback only"


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1", "[::1]:4318"])
def test_a_name_of_this_machine_is_let_in(server: RunningServer, host: str) -> None:
    assert call(server, "POST", "/v1/traces", BODY, host=host, content_type=JSON).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "http://[bad"])
def test_a_foreign_origin_is_refused(server: RunningServer, origin: str) -> None:
    answer = call(server, "POST", "/v1/traces", BODY, origin=origin, content_type=JSON)

    assert answer.status == 403
    assert answer.json["error"] == f"origin {origin!r} is not this server's: web pages are not let in"


def test_the_own_origin_is_let_in(server: RunningServer) -> None:
    assert call(server, "POST", "/v1/traces", BODY, origin=server.url, content_type=JSON).status == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize("path", ["/api/traces/score", "/api/traces/" + "1" * 32 + "/complete"])
def test_the_api_takes_json_only(server: RunningServer, path: str, content_type: str) -> None:
    answer = call(server, "POST", path, b"{}", content_type=content_type)

    assert (answer.status, "send application/json" in answer.json["error"]) == (415, True)


def test_the_api_refuses_what_no_question_of_its_can_need(server: RunningServer) -> None:
    assert call(server, "POST", "/api/traces/score", bytes(2_000_000), content_type=JSON).status == 413
