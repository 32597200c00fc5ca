"""OTLP files to traces: what cannot be read is said, and the rest is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.otel.requests import SPAN_ID, TRACE_ID, log, logs, span, traces
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
        ("line 2", False),
        ("line 3", False),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"hello there", "it is not JSON"),
        (b'{"resourceSpans": [', "it is not JSON"),
        (b"\x0a\x05\x0a\x03abc", "it is not JSON"),
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
