"""How a run ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracescore.model import AgentOutput, DataPart, RunStatus
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.tree import Node

_PAUSES = ("GraphInterrupt", "NodeInterrupt", "ApprovalRequired", "CallDeferred")
"""Exceptions that frameworks raise to wait for a human."""


def status_of(invocation: Invocation, output: AgentOutput) -> RunStatus:
    """Tell a run that waits for an approval from one that failed, and both from one that ended well.

    A tool that failed does not fail the run, nor does a model call that was tried again; a last call that failed does,
    where nothing was answered.
    """
    node = invocation.node
    own = invocation.records or invocation.roots[-1:]
    if any(one.reading.paused for one in own) or _waits(output) or _interrupted(invocation, own):
        return "paused"
    if any(failed(one) for one in own):
        return "error"
    last = invocation.calls[-1] if invocation.calls else None
    if last is not None and last.failed and node.span.status != "ok":
        answered = output[-1] if output else None
        if answered is None or not answered.content:
            return "error"
    return "ok"


def status_of_span(node: Node) -> RunStatus:
    """Tell how a part of a run ended."""
    if node.reading.paused or any(map(_is_pause, _raised(node, 0))):
        return "paused"
    return "error" if failed(node) else "ok"


def failed(node: Node) -> bool:
    """Tell whether a span ended in an error."""
    return node.span.status == "error" or (node.reading.error_type is not None and node.span.status != "ok")


def _waits(output: AgentOutput) -> bool:
    last = output[-1] if output else None
    if last is None:
        return False
    for part in last.parts:
        if isinstance(part, DataPart) and isinstance(part.data, dict):
            kind = part.data.get("type")
            if "__interrupt__" in part.data or (isinstance(kind, str) and "approval" in kind and "request" in kind):
                return True
    return False


def _interrupted(invocation: Invocation, own: Sequence[Node]) -> bool:
    """Tell whether an interrupt was the last that happened: a run that asks its model again has been resumed."""
    since_ns = invocation.calls[-1].start_ns if invocation.calls else 0
    tools = (tool for tool in invocation.tools if tool.span.start_ns >= since_ns)
    return any(_is_pause(name) for node in (*own, *tools) for name in _raised(node, since_ns))


def _raised(node: Node, since_ns: int) -> Iterable[str]:
    if node.reading.error_type is not None:
        yield node.reading.error_type
    for event in node.span.events:
        name = event.attributes.get("exception.type") if event.name == "exception" else None
        if isinstance(name, str) and (node.span.status == "error" or event.time_ns >= since_ns):
            yield name


def _is_pause(name: str) -> bool:
    return name.rpartition(".")[2] in _PAUSES
