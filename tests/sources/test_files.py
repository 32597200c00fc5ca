"""OTLP files to traces: what cannot be read is said, and the rest is read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from tests.otel.requests import SPAN_ID, TRACE_ID, as_protobuf, log, logs, span, traces
from tracescore.model import Trace
from tracescore.sources import FileProblem, FileRead, read_files


def write(path: Path, *requests: Any) -> Path:
    path.write_bytes(b"\n".join(orjson.dumps(request) for request in requests))
    return path


def test_a_file_gives_its_traces_with_the_logs_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", traces(span(), span(spanId="00f067aa0ba902b7")))
    write(tmp_path / "x.logs.json", logs(log({"content": "hello"})))
    read = read_files([path])

    [trace] = read.traces
    assert (trace.trace_id, [item.span_id for item in trace.spans]) == (TRACE_ID, [SPAN_ID, "00f067aa0ba902b7"])
    assert [item.body for item in trace.logs] == [{"content": "hello"}]
    assert read.problems == []


def test_a_log_file_named_beside_its_trace_file_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", traces(span()))
    log_path = write(tmp_path / "x.logs.json", logs(log({"content": "hello"})))

    assert read_files([log_path, path, path]).traces == read_files([path]).traces


def test_logs_alone_are_a_trace_without_spans(tmp_path: Path) -> None:
    [trace] = read_files([write(tmp_path / "x.logs.json", logs(log({"content": "hello"})))]).traces

    assert (len(trace.spans), len(trace.logs)) == (0, 1)


def test_a_request_a_line_is_one_trace_where_the_trace_id_is_one(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.jsonl",
        traces(span()),
        logs(log({"content": "hello"})),
        {"resourceMetrics": []},
        traces(span(spanId="00f067aa0ba902b7")),
        traces(span(traceId="1" * 32)),
    )
    read = read_files([path])

    assert [(trace.trace_id, len(trace.spans), len(trace.logs)) for trace in read.traces] == [
        (TRACE_ID, 2, 1),
        ("1" * 32, 1, 0),
    ]
    assert read.problems == []


def test_copies_of_a_span_over_several_files_are_one_span(tmp_path: Path) -> None:
    started = write(tmp_path / "a.json", traces(span({"a": 1}, endTimeUnixNano="0")))
    ended = write(tmp_path / "b.json", traces(span({"b": 2})))
    [trace] = read_files([ended, started, ended]).traces
    [found] = trace.spans

    assert (found.attributes, found.end_ns) == ({"a": 1, "b": 2}, 1796045057732158252)


def test_a_broken_attribute_is_named_with_its_span_and_the_rest_is_read(tmp_path: Path) -> None:
    pairs = [{"key": "n", "value": {"intValue": "many"}}, {"key": "kept", "value": {"intValue": "1"}}]
    path = write(tmp_path / "x.json", traces(span(attributes=pairs)))
    read = read_files([path])

    assert read.problems == [
        FileProblem(
            path=str(path),
            message=f"span {SPAN_ID} 'chat': attribute 'n' was left out: 'intValue' is 'many', not an integer",
        )
    ]
    assert read.traces[0].spans[0].attributes == {"kept": 1}


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(orjson.dumps(traces(span())) + b"\n{broken\n[1]\n")
    read = read_files([path])

    assert len(read.traces) == 1
    assert [(problem.message.partition(":")[0], problem.unread) for problem in read.problems] == [
        ("line 2", True),
        ("line 3", True),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"hello there", "it is not JSON"),
        (b"%PDF-1.7", "it is not JSON"),
        (b"%PDF-1.7\x00\xff", "neither JSON nor an OTLP request"),
        (b"\x00" * 5000, "neither JSON nor an OTLP request"),
        (b"\x7fELF\x02\x01", "neither JSON nor an OTLP request"),
        (b"\x00\x00\x10\x00abc", "message 1 was cut off"),
        (b"\x08\xff\xff\xff" + b"a" * 5000, "message 1 was cut off"),
        (b"\x00\x00\x00\x08" + b"\x28\xb5\x2f\xfdabcd", "message 1 is corrupt zstd"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage", "packed in is corrupt"),
        (gzip.compress(b'{"resourceSpans": [', mtime=0)[:-4], "gzip that was cut off"),
        (b"\x28\xb5\x2f\xfdgarbage", "packed in is corrupt"),
        (b'{"resourceSpans": [', "it is not JSON"),
        (b"\x0a\x05\x0a\x03abc", "no OTLP request for spans or log records in protobuf"),
        (b'{"spans": []}', "it is JSON, but no OTLP export request"),
        (b"[]", "it is JSON, but no OTLP export request"),
        (b"5", "it is JSON, but no OTLP export request"),
        (b'{"resourceMetrics": []}', "it holds metrics only"),
        (b'{"resourceSpans": 5}', "'resourceSpans' is not an array"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    read = read_files([path])

    [problem] = read.problems
    assert words in problem.message
    assert (problem.path, problem.unread, read.traces) == (str(path), True, [])


def test_a_missing_file_and_a_directory_say_so_and_the_others_are_read(tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", traces(span()))
    read = read_files([tmp_path / "none.json", tmp_path, good])

    assert [(problem.path, problem.message, problem.unread) for problem in read.problems] == [
        (str(tmp_path / "none.json"), "no such file", True),
        (str(tmp_path), "is a directory: name the files in it", True),
    ]
    assert len(read.traces) == 1


def test_an_export_without_spans_is_read(tmp_path: Path) -> None:
    assert read_files([write(tmp_path / "x.json", {"resourceSpans": []})]) == FileRead()


def test_spans_of_which_none_can_be_kept_leave_the_file_unread(tmp_path: Path) -> None:
    read = read_files([write(tmp_path / "x.json", traces(span(traceId="?")))])

    assert [problem.unread for problem in read.problems] == [True]
    assert read.traces == list[Trace]()


def prefixed(*messages: bytes) -> bytes:
    """Write messages as a collector's file exporter does that writes protobuf, or compresses."""
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


SPANS = [traces(span(spanId=f"{number:016x}"), resource={"service.name": "shop"}) for number in range(1, 4)]
LINES = b"\n".join(map(orjson.dumps, [*SPANS, logs(log({"content": "hello"}))]))
PROTOBUF = [*map(as_protobuf, SPANS), as_protobuf(logs(log({"content": "hello"})))]
zstd = zstandard.ZstdCompressor().compress


@pytest.mark.parametrize(
    "pack",
    [
        lambda: LINES + b"\n",
        lambda: b"\xef\xbb\xbf" + LINES,
        lambda: LINES.replace(b"\n", b"\r\n\r\n"),
        lambda: gzip.compress(LINES),
        lambda: gzip.compress(LINES[:500]) + gzip.compress(LINES[500:]),
        lambda: zstd(LINES),
        lambda: zstd(LINES[:500]) + zstd(LINES[500:]),
        lambda: prefixed(*PROTOBUF),
        lambda: gzip.compress(prefixed(*PROTOBUF)),
        lambda: prefixed(*map(zstd, PROTOBUF)),
        lambda: prefixed(*(zstd(line) for line in LINES.splitlines())),
    ],
    ids=[
        "lines",
        "bom",
        "crlf",
        "gzip",
        "gzip twice",
        "zstd",
        "zstd twice",
        "proto",
        "proto.gz",
        "proto zstd",
        "zstd json",
    ],
)
def test_every_way_to_write_a_file_of_requests_gives_the_same_trace(pack: Callable[[], bytes], tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed.json"
    plain.write_bytes(LINES)
    packed.write_bytes(pack())

    assert read_files([packed]) == read_files([plain])
    assert [(len(trace.spans), len(trace.logs)) for trace in read_files([packed]).traces] == [(3, 1)]


@pytest.mark.parametrize("body", [PROTOBUF[0], gzip.compress(PROTOBUF[0]), PROTOBUF[3]], ids=["spans", "gzip", "logs"])
def test_a_single_request_in_protobuf_is_read(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.pb"
    path.write_bytes(body)
    read = read_files([path])

    assert (len(read.traces), read.problems) == (1, [])


def test_a_first_line_that_is_broken_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINES[300:])
    read = read_files([path])

    assert [problem.message.partition(":")[0] for problem in read.problems] == ["line 1"]
    assert len(read.traces[0].spans) == 2


def test_a_document_over_many_lines_is_one_request(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(orjson.dumps(SPANS[0], option=orjson.OPT_INDENT_2))

    assert len(read_files([path]).traces[0].spans) == 1


def test_what_is_no_file_is_said_at_once_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read = read_files([tmp_path / "pipe", Path("/dev/zero"), Path("-"), tmp_path / "a\0b"])

    assert [problem.message.partition(":")[0] for problem in read.problems] == [
        "is a pipe, not a file",
        "is a device, not a file",
        "standard input is not read",
        "cannot be read",
    ]
    assert all(problem.unread for problem in read.problems)
