"""Post the bundled traces as an exporter would: OTLP over HTTP, protobuf, gzip."""

from __future__ import annotations

import base64
import gzip
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracescore.errors import TracescoreError

TRACES = Path(__file__).parent / "demo_traces"

_ID_FIELDS = frozenset({"traceId", "spanId", "parentSpanId"})
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoFile:
    """One bundled export: its traces, and the log records that came with them where there are any."""

    name: str
    traces: Path
    logs: Path | None
    trace_ids: tuple[str, ...]
    spans: int

    @property
    def parts(self) -> tuple[tuple[str, Path], ...]:
        """Give what is posted, in order, each with its path on the receiver."""
        traces = ("/v1/traces", self.traces)
        return (traces,) if self.logs is None else (traces, ("/v1/logs", self.logs))


def demo_files(*, folders: Sequence[str] = ()) -> list[DemoFile]:
    """Find the bundled exports, all of them or those of some folders."""
    found: list[DemoFile] = []
    for path in sorted(TRACES.glob("*/*.json")):
        if path.name.endswith(".logs.json") or (folders and path.parent.name not in folders):
            continue
        logs = path.with_name(f"{path.stem}.logs.json")
        span_ids = [span["traceId"] for span in _spans(json.loads(path.read_bytes()))]
        found.append(
            DemoFile(
                name=f"{path.parent.name}/{path.stem}",
                traces=path,
                logs=logs if logs.exists() else None,
                trace_ids=tuple(dict.fromkeys(span_ids)),
                spans=len(span_ids),
            )
        )
    return found


def post(file: DemoFile, *, endpoint: str) -> None:
    """Post one export; ids and times stay as they were recorded.

    Raises:
        TracescoreError: the receiver refused a part of it, or did not answer.
    """
    for path, source in file.parts:
        _send(endpoint + path, _protobuf(path, source.read_bytes()), what=file.name)


def _spans(request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in request.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            yield from scope.get("spans", ())


def _protobuf(path: str, body: bytes) -> bytes:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest() if path == "/v1/traces" else ExportLogsServiceRequest()
    return ParseDict(_with_protobuf_ids(json.loads(body)), request, ignore_unknown_fields=True).SerializeToString()


def _with_protobuf_ids(value: Any) -> Any:
    """Write ids as protobuf's own JSON has them: OTLP's JSON has hex where protobuf expects base64."""
    if isinstance(value, dict):
        return {
            name: base64.b64encode(bytes.fromhex(item)).decode()
            if name in _ID_FIELDS and isinstance(item, str)
            else _with_protobuf_ids(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_with_protobuf_ids(item) for item in value]
    return value


def _send(url: str, body: bytes, *, what: str) -> None:
    request = urllib.request.Request(
        url,
        data=gzip.compress(body),
        headers={"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy knows nothing of our loopback
    for attempt in range(_ATTEMPTS):
        try:
            with opener.open(request, timeout=20) as response:
                _check(response.read(), url=url, what=what)
                return
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504) or attempt == _ATTEMPTS - 1:
                said = error.read(300).decode("utf-8", "replace")
                raise TracescoreError(f"{url} refused {what}: {error.code} {error.reason} {said}") from error
            time.sleep(min(5.0, float(error.headers.get("Retry-After") or 1)))
        except OSError as error:
            raise TracescoreError(f"{url} did not take {what}: {error}") from error


def _check(body: bytes, *, url: str, what: str) -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    if url.endswith("/v1/traces"):
        partial = ExportTraceServiceResponse.FromString(body).partial_success
        rejected, reason = partial.rejected_spans, partial.error_message
    else:
        partial = ExportLogsServiceResponse.FromString(body).partial_success
        rejected, reason = partial.rejected_log_records, partial.error_message
    if rejected:
        raise TracescoreError(f"{url} rejected {rejected} records of {what}: {reason}")
