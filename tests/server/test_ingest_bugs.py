"""Public bugs of receivers, by their numbers in the list of them: sent over real HTTP, as the reports say."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, as_protobuf, attributes, span, traces
from tests.server.calls import Answer, call
from tracescore.bridge import run_sync
from tracescore.model import Span, load_run
from tracescore.otel import JSON, PROTOBUF, read_span
from tracescore.pipeline.assembling import AssembledTrace, SettleTimes, assemble_stored
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import RunFilters, Store

ROOT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Ada"}
OTHER_ID = "b7ad6b7169203399"
on_both = pytest.mark.parametrize("location", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def server(location: str, store: Store) -> Iterator[RunningServer]:
    """A receiver with its usual limits."""
    with serving(store, Settings(port=0, broker="none", settle_quiet=0.0)) as running:
        yield running


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if getattr(request, "param", "sqlite") == "sqlite":
        return str(tmp_path / "store")
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with Store.open(location) as opened:
        yield opened


def send(server: RunningServer, body: bytes | dict[str, Any], content_type: str = JSON, **headers: str) -> Answer:
    encoded = body if isinstance(body, bytes) else as_json(body)
    return call(server, "POST", "/v1/traces", encoded, content_type=content_type, **headers)


def spans_of(store: Store, trace_id: str = TRACE_ID) -> dict[str, Span]:
    trace = run_sync(store.spans.load_trace("default", trace_id))
    return {item.span_id: read_span(item.copies) for item in trace.spans} if trace else {}


def assembled(store: Store) -> AssembledTrace:
    trace = run_sync(store.spans.load_trace("default", TRACE_ID))
    assert trace is not None
    return assemble_stored("default", trace, 2**62, SettleTimes())


def with_value(value: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return traces({**span(**fields), "attributes": [{"key": "k", "value": value}]}, span(spanId=OTHER_ID))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"intValue": "25"}, 25),
        ({"intValue": 25}, 25),
        ({"arrayValue": {"values": [{"intValue": "25"}, {"intValue": 7}]}}, [25, 7]),
        ({"doubleValue": "2.5"}, 2.5),
    ],
)
def test_bug_01_64_bit_integers_are_text_or_numbers(
    server: RunningServer, store: Store, value: dict[str, Any], kept: Any
) -> None:
    answer = send(server, with_value(value))

    assert (answer.status, answer.json) == (200, {})
    assert spans_of(store)[SPAN_ID].attributes == {"k": kept}


@pytest.mark.parametrize("value", [None, "NaN", "Infinity", "-Infinity"])
def test_bug_02_a_token_count_that_is_no_number_costs_itself_alone(
    server: RunningServer, store: Store, value: Any
) -> None:
    answer = send(server, with_value({"doubleValue": value}))

    assert answer.status == 200
    assert {span_id: kept.attributes for span_id, kept in spans_of(store).items()} == {SPAN_ID: {}, OTHER_ID: {}}


@pytest.mark.parametrize("as_base64", [False, True], ids=["hex", "base64"])
def test_bug_15_ids_are_hex_or_base64_in_spans_parents_and_links(
    server: RunningServer, store: Store, as_base64: bool
) -> None:
    def written(identifier: str) -> str:
        return base64.b64encode(bytes.fromhex(identifier)).decode() if as_base64 else identifier

    link = {"traceId": written("ab" * 16), "spanId": written("cd" * 8)}
    sent = span(traceId=written(TRACE_ID), spanId=written(SPAN_ID), parentSpanId=written(OTHER_ID), links=[link])
    assert send(server, traces(sent)).status == 200
    kept = spans_of(store)[SPAN_ID]

    assert kept.parent_span_id == OTHER_ID
    assert [(one.trace_id, one.span_id) for one in kept.links] == [("ab" * 16, "cd" * 8)]


def test_bug_16_an_answer_is_in_the_encoding_of_its_request(server: RunningServer) -> None:
    sent = [(JSON, as_json(traces(span()))), (PROTOBUF, as_protobuf(traces(span()))), (PROTOBUF, b"{}"), (JSON, b"{")]

    assert [send(server, body, content_type).headers["content-type"] for content_type, body in sent] == [
        JSON,
        PROTOBUF,
        PROTOBUF,
        JSON,
    ]


@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_bug_17_a_gzip_body_is_inflated_and_a_broken_one_refused(
    server: RunningServer, store: Store, content_type: str
) -> None:
    body = gzip.compress(as_json(traces(span())) if content_type == JSON else as_protobuf(traces(span())))
    broken = send(server, body[:-12], content_type, content_encoding="gzip")

    assert (broken.status, spans_of(store)) == (400, {})
    assert send(server, body, content_type, content_encoding="gzip").status == 200
    assert list(spans_of(store)) == [SPAN_ID]


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        (JSON, as_protobuf(traces(span())), 400),
        (PROTOBUF, as_json(traces(span())), 400),
        ("application/octet-stream", as_protobuf(traces(span())), 415),
    ],
)
def test_bug_18_a_body_of_another_type_is_refused_and_is_no_fault_of_ours(
    server: RunningServer, content_type: str, body: bytes, status: int
) -> None:
    assert send(server, body, content_type).status == status


def test_bug_27_what_is_derived_is_written_where_it_is_looked_up(server: RunningServer, store: Store) -> None:
    stated = {**ROOT, "gen_ai.conversation.id": "s-1", "user.id": "u-1"}
    resource = {"service.name": "shop", "deployment.environment.name": "prod"}
    send(server, traces(span(stated, status={"code": 2}), resource=resource))
    built = assembled(store)
    run_sync(store.runs.replace_runs("default", TRACE_ID, 1, built.runs))
    filters = RunFilters(
        kind="agent", agent_name="Ada", session_id="s-1", service="shop", environment="prod", status="error"
    )

    assert len(run_sync(store.runs.list("default", filters=filters)).items) == 1


@on_both
def test_bug_31_nul_in_names_keys_and_values_is_stored_on_every_database(server: RunningServer, store: Store) -> None:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "a\x00b"}]}])
    stated = {**ROOT, "gen_ai.agent.name": "A\x00da", "gen_ai.input.messages": messages, "k\x00": "v\x00"}
    assert send(server, traces(span(stated, name="n\x00"), resource={"service.name": "s\x00"})).status == 200
    built = assembled(store)
    run_sync(store.runs.replace_runs("default", TRACE_ID, 1, built.runs))
    (row,) = run_sync(store.runs.list("default")).items

    assert "\x00" not in f"{row.agent_name}{row.service}"
    assert spans_of(store)[SPAN_ID].attributes["k\x00"] == "v\x00"


@on_both
def test_bug_32_a_lone_surrogate_costs_one_character(server: RunningServer, store: Store) -> None:
    body = as_json(traces(span({**ROOT, "k": "cut ##"}), span(spanId=OTHER_ID))).replace(b"##", b"\\ud83e")
    assert send(server, body).status == 200
    run_sync(store.runs.replace_runs("default", TRACE_ID, 1, assembled(store).runs))

    assert spans_of(store)[SPAN_ID].attributes["k"] == "cut \ufffd"
    assert len(spans_of(store)) == 2


def test_bug_33_bytes_that_are_not_utf8_cost_themselves_alone(server: RunningServer, store: Store) -> None:
    request = traces(span({"k": "bad ##", "bytes": b"\xff\xfe"}), span({"k": "good"}, spanId=OTHER_ID))
    assert send(server, as_protobuf(request).replace(b"##", b"\xff\xfe"), PROTOBUF).status == 200
    kept = spans_of(store)

    assert kept[SPAN_ID].attributes == {"k": "bad \ufffd\ufffd", "bytes": "//4="}
    assert kept[OTHER_ID].attributes == {"k": "good"}


@on_both
@pytest.mark.parametrize("content_type", [JSON, PROTOBUF])
def test_bug_34_a_poisoned_span_sinks_neither_its_batch_nor_its_tenants(
    server: RunningServer, store: Store, content_type: str
) -> None:
    request = with_value({"doubleValue": "Infinity"}, name="poisoned")
    body = as_json(request) if content_type == JSON else as_protobuf(request)
    assert send(server, body, content_type).status == 200

    assert {kept.name for kept in spans_of(store).values()} == {"poisoned", "chat"}


@on_both
@pytest.mark.parametrize(
    "count",
    [{"intValue": str(2**63)}, {"intValue": str(2**63 - 1)}, {"intValue": "-5"}, {"doubleValue": 1e300}],
)
def test_bug_36_an_absurd_token_count_costs_itself_alone(
    server: RunningServer, store: Store, count: dict[str, Any]
) -> None:
    stated = [*attributes(ROOT), {"key": "gen_ai.usage.input_tokens", "value": count}]
    assert send(server, traces({**span(), "attributes": stated})).status == 200
    built = assembled(store)
    run_sync(store.runs.replace_runs("default", TRACE_ID, 1, built.runs))
    (row,) = run_sync(store.runs.list("default")).items

    assert row.agent_name == "Ada"
    assert load_run(row.body).usage.input is None


@pytest.mark.parametrize("kind", ["arrayValue", "kvlistValue"])
def test_bug_37_deep_nesting_costs_what_lies_deep(server: RunningServer, store: Store, kind: str) -> None:
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(60):
        value = {kind: {"values": [value if kind == "arrayValue" else {"key": "k", "value": value}]}}
    answer = send(server, with_value(value))

    assert answer.status == 200
    assert "nested deeper" in answer.json["partialSuccess"]["errorMessage"]
    assert len(spans_of(store)) == 2


def test_bug_39_what_is_not_kept_is_told_and_what_is_old_is_kept(server: RunningServer, store: Store) -> None:
    old = span(startTimeUnixNano="1000000000", endTimeUnixNano="2000000000")
    answer = send(server, traces(old, span(spanId=""), span(traceId="xyz")))

    assert answer.json["partialSuccess"]["rejectedSpans"] == "2"
    assert spans_of(store)[SPAN_ID].end_ns == 2_000_000_000


@pytest.mark.parametrize("keep", [False, True], ids=["digest", "kept"])
def test_bug_40_a_span_of_16_megabytes_costs_its_media_not_its_batch(location: str, store: Store, keep: bool) -> None:
    image = base64.b64encode(bytes(range(256)) * 48 * 1024).decode()  # 16 MiB of base64
    parts = [{"type": "text", "content": "What is this?"}, {"type": "image", "url": f"data:image/png;base64,{image}"}]
    stated = {**ROOT, "gen_ai.input.messages": json.dumps([{"role": "user", "parts": parts}])}
    request = traces(span(stated), span(spanId=OTHER_ID))
    settings = Settings(port=0, broker="none", settle_quiet=0.0, keep_media=keep)
    with serving(store, settings) as server:
        answer = send(server, as_protobuf(request), PROTOBUF)
    kept = str(spans_of(store)[SPAN_ID].attributes["gen_ai.input.messages"])

    assert (answer.status, answer.body, len(spans_of(store))) == (200, b"", 2)
    assert "What is this?" in kept
    assert (len(kept) > 16_000_000) is keep
    assert ("sha256=" in kept) is not keep


def test_bug_40_a_text_is_kept_to_a_limit_and_the_run_says_so(server: RunningServer, store: Store) -> None:
    long = "word " * 400_000
    messages = [{"role": "user", "parts": [{"type": "text", "content": long}]}]
    messages.append({"role": "user", "parts": [{"type": "text", "content": "short"}]})
    send(server, traces(span({**ROOT, "gen_ai.input.messages": json.dumps(messages), "embedding": [0.5] * 5000})))
    (run,) = assembled(store).runs
    read = load_run(run.body)
    given = [message.content for message in read.input.input_messages]

    assert [len(text) < 1_100_000 for text in given] == [True, True]
    assert given[1] == "short"
    assert [issue.detail for issue in read.issues if issue.code == "truncated"] == [
        "more was received of embedding, gen_ai.input.messages than is kept of one value"
    ]
