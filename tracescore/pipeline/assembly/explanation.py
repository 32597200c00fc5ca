"""Why the runs of a trace are what they are: what each span was taken for, by whom, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracescore.dialects import KNOWN_DIALECTS, Content, DialectSet, Reading, SpanRole
from tracescore.model import DEFAULT_PROJECT, Trace
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.errors import error_of_span
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.trace_runs import AssembledRun, assemble, read_invocations
from tracescore.pipeline.assembly.tree import Node, Tree

_READ = {
    "agent_name": "agent",
    "model_answered": "model",
    "tool_name": "tool",
    "tool_call_id": "call id",
    "response_id": "response",
    "session_id": "session",
    "user_id": "user",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainedSpan:
    """One span: what it was taken for, which dialects read it, what they read, and what became of it.

    ``depth`` counts the spans above it. ``became`` is a phrase that stands for itself. ``run_id`` is the run that it
    belongs to, ``None`` for a span of none.
    """

    span_id: str
    parent_span_id: str | None
    name: str
    depth: int
    role: SpanRole | None
    dialects: tuple[str, ...]
    read: tuple[str, ...]
    became: str
    run_id: str | None = None
    error: str | None = None
    """Why it failed, on one line; ``None`` where it did not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """The spans of a trace, each below its parent, and the runs that were made of them."""

    trace_id: str
    spans: tuple[ExplainedSpan, ...]
    runs: tuple[AssembledRun, ...]
    left_out: int = 0
    """Spans that tracescore wrote itself, and those beneath them."""


def explain(trace: Trace, *, project: str = DEFAULT_PROJECT, dialects: DialectSet = KNOWN_DIALECTS) -> Explanation:
    """Assemble a trace, and say of each span what became of it."""
    runs = assemble(trace, project=project, dialects=dialects)
    tree, calls, invocations, _ = read_invocations(trace, dialects)
    fates = _Fates(tree, calls, invocations, {run.run.span_id: run.run.run_id for run in runs})
    spans = tuple(
        ExplainedSpan(
            span_id=node.span.span_id,
            parent_span_id=node.span.parent_span_id or None,
            name=node.span.name,
            depth=depth,
            role=node.role,
            dialects=dialects.readers(node.span, node.logs),
            read=_read(node.reading),
            became=fates.of(node),
            run_id=fates.run_of(node),
            error=error_of_span(node),
        )
        for node, depth in _walk(tree)
    )
    left_out = len({span.span_id for span in trace.spans}) - len(tree.nodes)
    return Explanation(trace_id=trace.trace_id, spans=spans, runs=tuple(runs), left_out=left_out)


def _walk(tree: Tree) -> Iterator[tuple[Node, int]]:
    stack = [(root, 0) for root in reversed(tree.roots)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((child, depth + 1) for child in reversed(node.children))


def _read(reading: Reading) -> tuple[str, ...]:
    """Name what was read of a span: how much of content, the rest as it is."""
    found = [
        f"{side} {_amount(content)}" for side in ("system", "input", "output") if (content := getattr(reading, side))
    ]
    if reading.tool_arguments is not None:
        found.append("arguments")
    if reading.tool_result is not None:
        found.append("result")
    if reading.documents:
        found.append(f"{len(reading.documents)} documents")
    if reading.input_tokens is not None or reading.output_tokens is not None:
        found.append(f"tokens {_count(reading.input_tokens)}/{_count(reading.output_tokens)}")
    for field, word in _READ.items():
        value = getattr(reading, field)
        if value is not None:
            found.append(f"{word} {value}")
    return tuple(found)


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _amount(content: Content) -> str:
    cut = " (cut off)" if content.truncated else ""
    if content.kind != "messages":
        return content.kind + cut
    number = len(content.said())
    return f"{number} message{'' if number == 1 else 's'}{cut}"


class _Fates:
    """What became of each span, looked up by the span."""

    def __init__(
        self, tree: Tree, calls: Sequence[Call], invocations: Sequence[Invocation], run_ids: dict[str | None, str]
    ) -> None:
        self._said: dict[int, str] = {}
        self._owner: dict[int, str | None] = {}
        whole = next((one for one in invocations if one.kind == "trace"), None)
        for invocation in invocations:
            self._of_invocation(invocation)
        self._of_calls(calls)
        for node in tree.nodes:
            agent = node.agent.span.span_id if node.agent is not None else whole.node.span.span_id if whole else None
            self._owner[id(node)] = run_ids.get(agent)
        for invocation in invocations:
            for shell in invocation.records[1:]:
                self._owner[id(shell)] = run_ids.get(invocation.node.span.span_id)

    def of(self, node: Node) -> str:
        """Say what became of a span."""
        return self._said.get(id(node)) or _otherwise(node)

    def run_of(self, node: Node) -> str | None:
        """Give the run that a span belongs to."""
        return self._owner.get(id(node))

    def _of_invocation(self, invocation: Invocation) -> None:
        first, *others = invocation.records or (invocation.node,)
        taken = "" if first.reading.role == "agent" else ": it holds the model calls and the agent they asked for"
        if invocation.kind == "trace":
            taken = ": no span of the trace is an agent"
        elif first.reading.role == "loop":
            taken = ": a loop that holds model calls of its own"
        self._said[id(first)] = (
            "the run of this agent" if invocation.kind == "agent" else "the run of the trace"
        ) + taken
        for shell in others:
            self._said.setdefault(id(shell), f"records the same invocation as {_named(first)}")
        for number, call in enumerate(invocation.calls, 1):
            self._said[id(call.nodes[0])] = f"model call {number} of its run"
        for call in invocation.inner_calls:
            self._said[id(call.nodes[0])] = "a model call inside a tool: counted in the usage, no turn of its run"
        for tool in invocation.tools:
            self._said[id(tool)] = "the execution of a call of its run"
            for copy in invocation.copies.get(id(tool), ()):
                self._said[id(copy)] = f"the same execution as {_named(tool)}"
        for retrieval in invocation.retrievals:
            self._said.setdefault(id(retrieval), "its documents are contexts of its run")

    def _of_calls(self, calls: Sequence[Call]) -> None:
        for call in calls:
            first, *others = call.nodes
            for node in others:
                self._said[id(node)] = f"the same model call as {_named(first)}: what one lacks the other gives"
            self._said.setdefault(id(first), "a model call outside every agent: in no run")


def _otherwise(node: Node) -> str:
    if node.unreadable is not None:
        return f"could not be read ({node.unreadable})"
    if node.role == "llm":
        return "no call of its own: it holds or prepares those beside or beneath it"
    if node.role == "agent":
        return "only holds agents: they take its place"
    if node.aside is not None:
        return f"beneath {_named(node.aside)}: no turn of the agent"
    if node.role == "setup":
        return "builds an agent and runs none"
    if node.role is None:
        return "not read: no dialect knows it"
    return "holds others" if node.children else "adds nothing to a run"


def _named(node: Node) -> str:
    return f"{node.span.name!r} ({node.span.span_id})"
