"""Which traces have ended, as their spans come in one by one."""

from __future__ import annotations

import pytest

from tracescore.otel import SpanRow
from tracescore.pipeline import ended_traces
from tracescore.pipeline.ended_traces import EndedTraces


def row(name: str, parent: str | None = None, *, trace: str = "t", remote: bool = False) -> SpanRow:
    flags = 0x300 if remote else 0x100
    above = parent.encode() if parent else None
    return SpanRow(trace.encode(), name.encode(), name.encode(), above, 1, 2, flags, False, b"{}")


def names(given: list[list[SpanRow]]) -> list[str]:
    return ["".join(sorted(row.span_id.decode() for row in rows)) for rows in given]


def test_a_trace_is_given_once_no_parent_is_awaited() -> None:
    traces = EndedTraces()

    assert names(traces.add([row("c", "b")])) == []
    assert names(traces.add([row("b", "a"), row("x", trace="u")])) == ["x"]
    assert names(traces.add([row("a")])) == ["abc"]
    assert names(traces.give_all()) == []


def test_a_root_below_another_process_ends_its_part_of_a_trace_each_time() -> None:
    traces = EndedTraces()

    assert names(traces.add([row("b", "a"), row("a", "gone", remote=True)])) == ["ab"]
    assert names(traces.add([row("d", "c")])) == []
    assert names(traces.add([row("c", "gone", remote=True)])) == ["cd"]


def test_a_span_that_comes_after_its_trace_is_left_out_and_counted() -> None:
    traces = EndedTraces()
    traces.add([row("a")])

    assert (names(traces.add([row("z", "a"), row("a")])), traces.late) == ([], 1)
    assert (names(traces.give_all()), traces.late) == ([], 1)


def test_a_trace_that_lost_a_span_is_given_by_a_flush_if_its_root_ended() -> None:
    traces = EndedTraces()
    traces.add([row("c", "lost"), row("a"), row("y", "x", trace="u")])

    assert names(traces.give_rooted()) == ["ac"]
    assert names(traces.give_all()) == ["y"]


def test_cycles_and_spans_above_themselves_end() -> None:
    traces = EndedTraces()

    assert names(traces.add([row("a", "b"), row("b", "a")])) == ["ab"]
    assert names(traces.add([row("s", "s", trace="u")])) == ["s"]


def test_what_waits_is_bounded_and_the_oldest_is_given_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_traces, "MAX_SPANS", 3)
    monkeypatch.setattr(ended_traces, "REMEMBERED", 2)
    traces = EndedTraces()

    assert names(traces.add([row("b", "a"), row("c", "a")])) == []
    assert names(traces.add([row("x", "w", trace="u"), row("y", "w", trace="u")])) == ["bc"]
    assert [names(traces.add([row("r", trace=f"v{number}")])) for number in range(3)] == [["r"]] * 3
    assert len(traces._given) == 2
