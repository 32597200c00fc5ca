"""What holds of the runs of any trace, whatever its spans say."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracescore.dialects import KNOWN_DIALECTS, Reading
from tracescore.dialects.decode_json import storable
from tracescore.model import PART_KINDS, LogRecord, ScorerRun, Span, Trace, content_hash, dump_run, load_any_run
from tracescore.otel.semconv import OWN_NAME, SERVICE_NAME
from tracescore.pipeline.assembly import AssembledRun, assemble, assemble_all, explain, read_target, read_trajectory

_TRAFFIC = ("agent", "loop", "llm", "retrieval")
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")


class BrokenSpan(Exception):
    """What a dialect raises that has a defect."""


@dataclass(frozen=True, slots=True)
class Raising:
    """A dialect that raises at one span, and knows nothing of the others."""

    span_id: str
    content_prefixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    marks: frozenset[str] | None = None

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Raise at the span."""
        if span.span_id == self.span_id:
            raise BrokenSpan
        return None


def hold_runs(trace: Trace) -> None:
    """Assemble a trace, its parts and single spans of it, and hold them against what any set of runs is."""
    draw = random.Random(len(trace.spans))
    found, parts = assemble_all(trace, PART_KINDS)
    stored = [dump_run(one.run) for one in found]
    _hold_order(trace, stored, draw)
    _hold_ids(trace, found, parts)
    received = as_received(trace)
    _hold_usage(received, [one.run for one in found])
    for run in (*(one.run for one in found), *(part.run for part in parts)):
        hold_codec(run)
    assert found or not any(_is_traffic(span, received) for span in received.spans), "the trace lost its runs"
    if trace.spans:
        one = draw.choice(trace.spans).span_id
        target = read_target(trace, one)
        assert target is None or target.span_id == one, "a target is another span"
        read_trajectory(trace)
        read_trajectory(trace, one)
        _hold_broken(trace, found, one)
    explain(trace)


def as_received(trace: Trace) -> Trace:
    """Give a trace as decoding lets it through: without lone surrogates, integers of any size, non-finite numbers.

    The door replaces these, so that a dialect need not.
    """
    spans = tuple(
        replace(
            span,
            attributes=storable(span.attributes),
            events=tuple(replace(event, attributes=storable(event.attributes)) for event in span.events),
        )
        for span in trace.spans
    )
    logs = tuple(replace(log, body=storable(log.body), attributes=storable(log.attributes)) for log in trace.logs)
    return replace(trace, spans=spans, logs=logs)


def hold_codec(run: ScorerRun[Any, Any]) -> None:
    """Write a run as it is stored and read it again."""
    body = dump_run(run)
    again = load_any_run(body)
    assert dump_run(again) == body, "a run does not survive its store"
    assert content_hash(again) == content_hash(run), "a stored run has another content hash"


def _hold_order(trace: Trace, stored: list[bytes], draw: random.Random) -> None:
    """Shuffle the spans and the records, and give some spans twice."""
    spans = [*trace.spans, *trace.spans[::3]]
    logs = list(trace.logs)
    draw.shuffle(spans)
    draw.shuffle(logs)
    other = assemble(Trace(trace_id=trace.trace_id, spans=tuple(spans), logs=tuple(logs)))
    assert [dump_run(one.run) for one in other] == stored, "the order of the spans changed the runs"


def _hold_ids(trace: Trace, found: Sequence[AssembledRun], parts: Sequence[AssembledRun[Any]]) -> None:
    received = {span.span_id for span in trace.spans}
    parents = {one.run.run_id: one.run.parent_run_id for one in found}
    everything = [*found, *parts]
    assert len({one.run.run_id for one in everything}) == len(everything), "two runs have one id"
    for one in everything:
        assert one.run.target is not None
        assert one.run.target.trace_id == trace.trace_id, "a run is about another trace"
        assert one.run.target.span_id in received or one.run.kind == "trace", "a run is about a span that nobody sent"
        assert one.span_ids <= received, "a run is made of spans that nobody sent"
        assert one.run.parent_run_id is None or one.run.parent_run_id in parents, "a parent is no run of the trace"
    for run_id in parents:
        seen = {run_id}
        while (above := parents[run_id]) is not None:
            assert above not in seen, "runs are their own ancestors"
            seen.add(above)
            run_id = above


def _hold_usage(trace: Trace, runs: Sequence[ScorerRun[Any, Any]]) -> None:
    """Hold the tokens of all runs together against those that the spans state: none is counted twice."""
    spans = {span.span_id: span for span in trace.spans}
    if len(spans) < len(trace.spans):
        return
    stated = dict.fromkeys(_COUNTS, 0)
    for span in spans.values():
        reading = KNOWN_DIALECTS.read(span, [log for log in trace.logs if log.span_id == span.span_id])
        cached = (reading.cache_read_tokens or 0) + (reading.cache_write_tokens or 0)
        stated["input"] += (reading.input_tokens or 0) + cached
        stated["output"] += reading.output_tokens or 0
        stated["cache_read"] += reading.cache_read_tokens or 0
        stated["cache_write"] += reading.cache_write_tokens or 0
        stated["reasoning"] += reading.reasoning_tokens or 0
    for name in _COUNTS:
        counted = [getattr(run.usage, name) or 0 for run in runs]
        assert all(count >= 0 for count in counted), f"a run has used less than nothing: {name}"
        assert sum(counted) <= stated[name], f"tokens are counted twice: {name}"


def _hold_broken(trace: Trace, found: Sequence[AssembledRun], broken: str) -> None:
    """Have a dialect raise at one span: the runs that have no part in it stay as they are named."""
    dialects = replace(KNOWN_DIALECTS, dialects=(Raising(broken), *KNOWN_DIALECTS.dialects))
    left = {one.run.run_id: one for one in assemble(trace, dialects=dialects)}
    above = {span.span_id: span.parent_span_id for span in trace.spans}
    for one in found:
        if one.run.kind != "agent" or broken in one.span_ids or not _has_own(one):
            continue
        if broken in _ancestors(one.run.span_id, above):  # what is above a run may record it too
            continue
        assert one.run.run_id in left, "a broken span took another run down"


def _ancestors(span_id: str | None, above: Mapping[str, str | None]) -> set[str]:
    found: set[str] = set()
    while span_id is not None and (span_id := above.get(span_id)) is not None and span_id not in found:
        found.add(span_id)
    return found


def _has_own(one: AssembledRun) -> bool:
    return bool(one.run.output) or bool(one.run.input.input_messages)


def _is_traffic(span: Span, trace: Trace) -> bool:
    logs = [log for log in trace.logs if log.span_id == span.span_id]
    own = any(OWN_NAME in (one.scope_name, one.resource.get(SERVICE_NAME)) for one in trace.spans)
    return not own and KNOWN_DIALECTS.read(span, logs).role in _TRAFFIC
