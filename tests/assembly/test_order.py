"""The same spans and log records in any order give the same runs, byte for byte."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from tests.assembly.building import llm, says, span, trace
from tracescore.model import LogRecord, Span, Trace, dump_run, run_to_json
from tracescore.pipeline.assembly import AssembledRun, assemble
from tracescore.sources import read_files

TESTS = Path(__file__).parent.parent
FILES = [
    path
    for root in (TESTS / "corpus", TESTS.parent / "tracescore" / "cli" / "demo_traces")
    for path in sorted(root.rglob("*.json"))
    if not path.name.endswith(".logs.json")
]


def told(found: list[AssembledRun]) -> list[bytes]:
    return [
        orjson.dumps([run_to_json(one.run), sorted(one.span_ids), one.open_spans, one.parent, one.ended_ns])
        + dump_run(one.run)
        for one in found
    ]


def shuffled(given: Trace, seed: int) -> Trace:
    order = random.Random(seed)
    spans, logs = list(given.spans), list(given.logs)
    order.shuffle(spans)
    order.shuffle(logs)
    return Trace(trace_id=given.trace_id, spans=tuple(spans), logs=tuple(logs))


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_the_order_of_spans_and_logs_changes_nothing(path: Path) -> None:
    for given in read_files([path]).traces:
        expected = told(assemble(given))

        assert [told(assemble(shuffled(given, seed))) for seed in range(3)] == [expected] * 3


def test_the_file_list_is_not_empty() -> None:
    assert len(FILES) >= 20


def event(name: str, time_ns: int, **body: str) -> LogRecord:
    return LogRecord(
        trace_id=trace().trace_id,
        span_id=llm("one").span_id,
        event_name="",
        time_ns=time_ns,
        body=dict(body),
        attributes={"event.name": f"gen_ai.{name}"},
    )


def test_events_of_one_time_have_one_order() -> None:
    logs = [event("user.message", 5, content=text) for text in "abcdef"] + [event("choice", 5, content="x")]

    one, other = (assemble(trace(llm("one"), logs=given)) for given in (logs, logs[::-1]))

    assert told(one) == told(other)
    assert [said.text for said in one[0].run.input.input_messages] == list("abcdef")


def test_runs_stand_in_order_of_start_then_span_id() -> None:
    agents = [
        span(name, at=at, until=9, attributes={"gen_ai.operation.name": "invoke_agent"})
        for name, at in (("b", 1), ("a", 1), ("c", 0))
    ]

    assert [len(one.span_ids) for one in assemble(trace(*agents))] == [1, 1, 1]
    assert [one.run.span_id for one in assemble(trace(*agents))] == [
        agents[2].span_id,
        agents[1].span_id,
        agents[0].span_id,
    ]


def test_two_copies_of_a_span_count_once_whichever_comes_first() -> None:
    open_copy, closed_copy = (llm("one", given=[says("user", "q")], until=until) for until in (0, 9))

    def ended(*spans: Span) -> list[int]:
        return [one.ended_ns for one in assemble(trace(*spans))]

    assert ended(open_copy, closed_copy) == ended(closed_copy, open_copy) == [closed_copy.end_ns]
