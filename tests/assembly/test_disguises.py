"""The same invocation behind wrappers, without its root, or from another process reads the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracescore.model import Span, Trace
from tracescore.model.codec import content_to_json
from tracescore.pipeline.assembly import assemble
from tracescore.sources import read_files

TESTS = Path(__file__).parent.parent
DEMO = TESTS.parent / "tracescore" / "cli" / "demo_traces"
FILES = sorted(path for path in DEMO.rglob("*.json") if not path.name.endswith(".logs.json"))
OTHER = "f" * 16


def told(given: Trace) -> list[object]:
    return [
        (
            found.run.kind,
            found.run.agent_name,
            found.run.model,
            found.run.session_id,
            found.run.outermost,
            found.run.usage,
            content_to_json(found.run),
            [issue.code for issue in found.run.issues if issue.code != "orphan"],
        )
        for found in assemble(given)
    ]


def with_spans(given: Trace, spans: list[Span]) -> Trace:
    return Trace(trace_id=given.trace_id, spans=tuple(spans), logs=given.logs)


def below_another_span(given: Trace) -> Trace:
    first, last = min(one.start_ns for one in given.spans), max(one.end_ns for one in given.spans)
    request = Span(trace_id=given.trace_id, span_id=OTHER, name="POST /chat", start_ns=first - 9, end_ns=last + 9)
    return with_spans(
        given, [request, *(replace(one, parent_span_id=one.parent_span_id or OTHER) for one in given.spans)]
    )


def below_a_remote_span(given: Trace) -> Trace:
    return with_spans(
        given,
        [one if one.parent_span_id else replace(one, parent_span_id=OTHER, flags=0x300) for one in given.spans],
    )


def below_a_lost_span(given: Trace) -> Trace:
    return with_spans(given, [replace(one, parent_span_id=one.parent_span_id or OTHER) for one in given.spans])


def with_a_bare_span_around_each(given: Trace) -> Trace:
    spans: list[Span] = []
    for number, one in enumerate(given.spans):
        if one.parent_span_id:
            middle = Span(
                trace_id=one.trace_id,
                span_id=f"{number + 1:016x}",
                parent_span_id=one.parent_span_id,
                name="middle",
                start_ns=one.start_ns,
                end_ns=one.end_ns,
            )
            spans.append(middle)
            one = replace(one, parent_span_id=middle.span_id)
        spans.append(one)
    return with_spans(given, spans)


def with_other_scopes(given: Trace) -> Trace:
    return with_spans(given, [replace(one, scope_name=f"in-house.{len(one.scope_name)}") for one in given.spans])


def with_attributes_in_another_order(given: Trace) -> Trace:
    return with_spans(given, [replace(one, attributes=dict([*one.attributes.items()][::-1])) for one in given.spans])


@pytest.mark.parametrize(
    "disguise",
    [
        below_another_span,
        below_a_remote_span,
        below_a_lost_span,
        with_a_bare_span_around_each,
        with_other_scopes,
        with_attributes_in_another_order,
    ],
)
@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_a_disguised_trace_reads_as_the_original(path: Path, disguise: Callable[[Trace], Trace]) -> None:
    for given in read_files([path]).traces:
        assert told(disguise(given)) == told(given)


def test_the_file_list_is_not_empty() -> None:
    assert len(FILES) >= 10
