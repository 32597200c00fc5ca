"""How a run ended."""

from __future__ import annotations

from collections.abc import Iterable

from tracescore.model import AgentOutput, RunStatus
from tracescore.pipeline.assembly.errors import has_failed
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.pauses import is_paused, stops
from tracescore.pipeline.assembly.tree import Node

_STEERING = frozenset({"ParentCommand"})
"""Exceptions that frameworks raise to hand over to another part of a graph."""


def status_of(invocation: Invocation, output: AgentOutput) -> RunStatus:
    """Tell a run that waits for an approval from one that failed, and both from one that ended well.

    A tool that failed does not fail the run, nor does a model call that was tried again; a last call that failed does,
    where nothing was answered.
    """
    if is_paused(invocation, output):
        return "paused"
    own = invocation.records or invocation.roots[-1:]
    if any(_failed(one) and not _is_passed_on(one, invocation, output) for one in own):
        return "error"
    last = invocation.calls[-1] if invocation.calls else None
    if last is not None and last.failed and invocation.node.span.status != "ok" and not _ends_answering(output):
        return "error"
    if _failed_step(invocation.node) and not _ends_answering(output):
        return "error"
    return "ok"


def _ends_answering(output: AgentOutput) -> bool:
    return bool(output) and output[-1].role == "assistant" and bool(output[-1].content)


def _is_passed_on(node: Node, invocation: Invocation, output: AgentOutput) -> bool:
    """Tell a failure that a tracer copied up from a tool, though the model was told of it and answered."""
    said = node.span.status_message
    last = invocation.calls[-1] if invocation.calls else None
    if not said or last is None or not (output and output[-1].content):
        return False
    if any(event.name == "exception" for event in node.span.events):
        return False
    return any(
        tool.span.status == "error" and tool.span.status_message == said and tool.span.end_ns <= last.start_ns
        for tool in invocation.tools
    )


def _failed_step(node: Node) -> bool:
    """Tell whether the last turn of an agent failed, where a library marks that and not the agent's own span."""
    turns = [child for child in node.children if child.role == "step"]
    return node.span.status != "ok" and bool(turns) and _failed(turns[-1])


def status_of_span(node: Node) -> RunStatus:
    """Tell how a part of a run ended."""
    if stops(node):
        return "paused"
    return "error" if _failed(node) else "ok"


def _failed(node: Node) -> bool:
    return has_failed(node) and not went_on(node)


def went_on(node: Node) -> bool:
    """Tell a span that only an exception which steers a graph ended: its work goes on elsewhere."""
    raised = list(_raised(node, node.span.end_ns))
    return bool(raised) and all(name.rpartition(".")[2] in _STEERING for name in raised)


def _raised(node: Node, since_ns: int) -> Iterable[str]:
    if node.reading.error_type is not None:
        yield node.reading.error_type
    for event in node.span.events:
        name = event.attributes.get("exception.type") if event.name == "exception" else None
        if isinstance(name, str) and (node.span.status == "error" or event.time_ns >= since_ns):
            yield name
