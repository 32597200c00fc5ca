"""The parts of a trace that may be scored by themselves: model calls, tools, retrievals, workflows, steps, spans."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from tracescore.dialects import Content, DialectSet, Reading
from tracescore.model import RunKind, RunStatus, ScorerRun, Target, Usage
from tracescore.model.ids import run_id
from tracescore.pipeline.assembly.answer import answers_of
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.errors import said_of
from tracescore.pipeline.assembly.executions import error_of
from tracescore.pipeline.assembly.identity import (
    attributes_of,
    environment_of,
    metadata_of,
    outermost_of,
    service_of,
    tags_of,
)
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.issues import issues_of_span
from tracescore.pipeline.assembly.status import status_of_span
from tracescore.pipeline.assembly.system import each_once
from tracescore.pipeline.assembly.transcript import folded
from tracescore.pipeline.assembly.tree import Node, Tree
from tracescore.pipeline.assembly.usage import usage_of_call

PartRun: TypeAlias = ScorerRun[Any, Any]

_KINDS: dict[str | None, RunKind] = {
    "llm": "llm",
    "tool": "tool",
    "handoff": "tool",
    "retrieval": "retrieval",
    "container": "workflow",
    "step": "step",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part as a run, its span, and the invocation that it belongs to: None outside every run of the trace."""

    run: PartRun
    node: Node
    owner: Invocation | None


@dataclass(kw_only=True, slots=True)
class PartReader:
    """Read the spans of one trace as what is scored, each by itself."""

    project: str
    trace_id: str
    dialects: DialectSet
    tree: Tree
    calls: Sequence[Call]
    invocations: Sequence[Invocation]
    _owners: dict[int, Invocation] = field(init=False)
    _whole: Invocation | None = field(init=False)

    def __post_init__(self) -> None:
        self._owners = {id(found.node): found for found in self.invocations if found.kind == "agent"}
        self._whole = next((found for found in self.invocations if found.kind == "trace"), None)

    def parts(self, kinds: Collection[RunKind]) -> Iterator[Part]:
        """Give every part of these kinds, each once whoever recorded it how often, in order of time."""
        calls = {id(call.nodes[0]): call for call in self.calls}
        copies = {id(copy) for one in self.invocations for some in one.copies.values() for copy in some}
        for node in self.tree.nodes:
            kind = kind_of(node)
            if kind not in kinds or id(node) in copies or (kind == "llm" and id(node) not in calls):
                continue
            if kind == "retrieval" and node.aside is not None and node.aside.role == "retrieval":
                continue
            yield Part(run=self.read(node, calls.get(id(node))), node=node, owner=self._owner(node))

    def read_span(self, node: Node) -> PartRun:
        """Read one span; a model call that several spans record is read from all of them."""
        call = next((call for call in self.calls if any(one is node for one in call.nodes)), None)
        return self.read(node, call if kind_of(node) == "llm" else None)

    def read(self, node: Node, call: Call | None) -> PartRun:
        """Give what a span amounts to as a run."""
        kind = kind_of(node)
        given, answered = _content(node, kind, call)
        reading = call.reading if call is not None else node.reading
        status = status_of_span(node)
        owner = self._owner(node)
        outermost = outermost_of(owner) if owner is not None else None
        return ScorerRun(
            input=given,
            output=answered,
            run_id=run_id(project=self.project, kind=kind, trace_id=self.trace_id, span_id=node.span.span_id),
            metadata=metadata_of(node),
            target=Target(trace_id=self.trace_id, span_id=node.span.span_id),
            kind=kind,
            status=status,
            error=said_of(node) if status == "error" else None,
            issues=issues_of_span(node, lacks=_lacking(kind, given, answered, status)),
            contexts=node.reading.documents or () if kind == "retrieval" else (),
            usage=usage_of_call(reading) if kind == "llm" else Usage(),
            agent_name=(owner.name if owner is not None else None) or reading.agent_name,
            name=_name(node, kind, reading),
            model=reading.model_answered or reading.model_asked,
            provider=reading.provider,
            session_id=(outermost.session_id if outermost is not None else None) or _nearest(node, "session_id"),
            user_id=(outermost.user_id if outermost is not None else None) or _nearest(node, "user_id"),
            service=service_of(node),
            environment=environment_of(node),
            tags=tags_of(Invocation(node=node)),
            attributes=attributes_of(node, self.dialects),
            parent_run_id=self._run_id(owner),
            outermost=owner is None if kind != "workflow" else all(kind_of(one) != kind for one in node.above()),
            start_ns=node.span.start_ns,
            end_ns=node.span.end_ns,
            cost=reading.cost if kind == "llm" else None,
        )

    def _owner(self, node: Node) -> Invocation | None:
        return self._owners.get(id(node.agent)) if node.agent is not None else self._whole

    def _run_id(self, owner: Invocation | None) -> str | None:
        if owner is None:
            return None
        span = "" if owner.kind == "trace" else owner.node.span.span_id
        return run_id(project=self.project, kind=owner.kind, trace_id=self.trace_id, span_id=span)


def kind_of(node: Node) -> RunKind:
    """Give what a span is as a target; an agent invocation's own is its run."""
    return "agent" if node.agent is node else _KINDS.get(node.role, "span")


def _content(node: Node, kind: RunKind, call: Call | None) -> tuple[Any, Any]:
    reading = node.reading
    if call is not None:
        heard = call.reading
        given = [*(heard.system.said() if heard.system else ()), *(heard.input.said() if heard.input else ())]
        return folded(each_once(given)), folded(answers_of(call))
    if kind == "tool":
        given = reading.tool_arguments if reading.tool_arguments is not None else _recorded(reading.input)
        answered = reading.tool_result if reading.tool_result is not None else _recorded(reading.output)
        error = error_of(reading, node) if answered is None else None
        return given, answered if error is None else {"error": error}
    if kind == "retrieval":
        documents = [asdict(document) for document in reading.documents or ()]
        return reading.query or _recorded(reading.input), documents or _recorded(reading.output)
    return _recorded(reading.input), _recorded(reading.output)


def _lacking(kind: RunKind, given: Any, answered: Any, status: RunStatus) -> str | None:
    """Name what was not recorded; a span that only holds others need not record anything."""
    if kind == "llm" and not given:
        return "input messages" if answered else "messages"
    if kind == "llm" and not answered and status == "ok":
        return "output messages"
    if kind == "tool" and given is None and (answered is None or status == "error"):
        return "arguments and result" if answered is None else "arguments"
    if kind == "retrieval" and given is None and answered is None:
        return "query and documents"
    return None


def _recorded(content: Content | None) -> Any:
    """Give what a span records as it is: the decoded value, or messages where it holds nothing else."""
    if not content:
        return None
    value = content.value
    return value if value is not None else folded(content.said())


def _name(node: Node, kind: RunKind, reading: Reading) -> str | None:
    if kind == "tool":
        return reading.tool_name or node.span.name
    return None if kind == "llm" else reading.name or node.span.name


def _nearest(node: Node, field: str) -> str | None:
    found: str | None = getattr(node.reading, field)
    for above in node.above():
        if found is not None:
            break
        found = getattr(above.reading, field)
    return found
