"""A single span as what is scored: its own decoded input and output."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tracescore.dialects import KNOWN_DIALECTS, Content, DialectSet
from tracescore.model import DEFAULT_PROJECT, RunKind, RunStatus, ScorerRun, Target, Trace, Usage
from tracescore.model.ids import run_id
from tracescore.pipeline.assembly.answer import answers_of
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.identity import attributes_of, environment_of, metadata_of, service_of, tags_of
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.system import each_once
from tracescore.pipeline.assembly.trace_runs import assemble, read_invocations
from tracescore.pipeline.assembly.transcript import folded
from tracescore.pipeline.assembly.tree import Node
from tracescore.pipeline.assembly.usage import usage_of_call

_KINDS: dict[str | None, RunKind] = {"llm": "llm", "tool": "tool", "handoff": "tool", "retrieval": "retrieval"}


def read_target(
    trace: Trace, span_id: str, *, project: str = DEFAULT_PROJECT, dialects: DialectSet = KNOWN_DIALECTS
) -> ScorerRun[Any, Any] | None:
    """Read what one span amounts to; ``None`` where the trace has no such span.

    The messages of a model call, the arguments and the result of a tool, the query and the documents of a retrieval,
    the run of an agent invocation, and of any other span the input and output that it records.
    """
    tree, calls, _, _ = read_invocations(trace, dialects)
    node = next((node for node in tree.nodes if node.span.span_id == span_id), None)
    if node is None:
        return None
    if node.agent is node:
        runs = assemble(trace, project=project, dialects=dialects)
        return next((found.run for found in runs if found.run.span_id == span_id), None)
    kind = _KINDS.get(node.role, "span")
    call = next((call for call in calls if any(one is node for one in call.nodes)), None) if kind == "llm" else None
    given, answered = _content(node, kind, call)
    reading = call.reading if call is not None else node.reading
    enclosing = node.agent
    return ScorerRun(
        input=given,
        output=answered,
        run_id=run_id(project=project, kind=kind, trace_id=trace.trace_id, span_id=span_id),
        metadata=metadata_of(node),
        target=Target(trace_id=trace.trace_id, span_id=span_id),
        kind=kind,
        status=_status(node),
        contexts=node.reading.documents or () if kind == "retrieval" else (),
        usage=usage_of_call(reading) if kind == "llm" else Usage(),
        agent_name=reading.agent_name or (enclosing.reading.agent_name if enclosing is not None else None),
        model=reading.model_answered or reading.model_asked,
        provider=reading.provider,
        session_id=_nearest(node, "session_id"),
        user_id=_nearest(node, "user_id"),
        service=service_of(node),
        environment=environment_of(node),
        tags=tags_of(Invocation(node=node)),
        attributes=attributes_of(node, dialects),
        parent_run_id=None
        if enclosing is None
        else run_id(project=project, kind="agent", trace_id=trace.trace_id, span_id=enclosing.span.span_id),
        outermost=enclosing is None,
        start_ns=node.span.start_ns,
        end_ns=node.span.end_ns,
        cost=reading.cost,
    )


def _content(node: Node, kind: RunKind, call: Call | None) -> tuple[Any, Any]:
    reading = node.reading
    if call is not None:
        heard = call.reading
        given = [*(heard.system.said() if heard.system else ()), *(heard.input.said() if heard.input else ())]
        return folded(each_once(given)), folded(answers_of(call))
    if kind == "tool":
        return reading.tool_arguments, reading.tool_result
    if kind == "retrieval":
        documents = [asdict(document) for document in reading.documents or ()]
        return reading.query or _recorded(reading.input), documents or _recorded(reading.output)
    return _recorded(reading.input), _recorded(reading.output)


def _recorded(content: Content | None) -> Any:
    """Give what a span records as it is: the decoded value, or messages where it holds nothing else."""
    if not content:
        return None
    value = content.value
    return value if value is not None else folded(content.said())


def _status(node: Node) -> RunStatus:
    failed = node.span.status == "error" or (node.reading.error_type is not None and node.span.status != "ok")
    return "error" if failed else "ok"


def _nearest(node: Node, field: str) -> str | None:
    found: str | None = getattr(node.reading, field)
    for above in node.above():
        if found is not None:
            break
        found = getattr(above.reading, field)
    return found
