"""A single span as what is scored: its own decoded input and output."""

from __future__ import annotations

from tracescore.dialects import KNOWN_DIALECTS, DialectSet
from tracescore.model import DEFAULT_PROJECT, Trace
from tracescore.pipeline.assembly.parts import PartReader, PartRun
from tracescore.pipeline.assembly.trace_runs import assemble, read_invocations


def read_target(
    trace: Trace, span_id: str, *, project: str = DEFAULT_PROJECT, dialects: DialectSet = KNOWN_DIALECTS
) -> PartRun | None:
    """Read what one span amounts to; ``None`` where the trace has no such span.

    The messages of a model call, the arguments and the result of a tool, the query and the documents of a retrieval,
    the run of an agent invocation, and of any other span the input and output that it records.
    """
    tree, calls, invocations, _ = read_invocations(trace, dialects)
    node = next((node for node in tree.nodes if node.span.span_id == span_id), None)
    if node is None:
        return None
    if node.agent is node:
        runs = assemble(trace, project=project, dialects=dialects)
        return next((found.run for found in runs if found.run.span_id == span_id), None)
    reader = PartReader(
        project=project,
        trace_id=trace.trace_id,
        dialects=dialects,
        tree=tree,
        calls=calls,
        invocations=invocations,
    )
    return reader.read_span(node)
