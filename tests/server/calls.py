"""HTTP calls for tests, with nothing between the test and the wire."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from tracescore.server import RunningServer


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


def call(
    server: RunningServer,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] | None = None,
    **headers: str,
) -> Answer:
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named, encode_chunked=not isinstance(body, bytes | None))
        answer = connection.getresponse()
        lower = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(status=answer.status, headers=lower, body=answer.read())
    finally:
        connection.close()


def get(server: RunningServer, path: str, **query: Any) -> Answer:
    return call(server, "GET", f"{path}?{urlencode(query)}" if query else path)


def post_json(server: RunningServer, path: str, content: Any) -> Answer:
    return call(server, "POST", path, json.dumps(content).encode(), content_type="application/json")
