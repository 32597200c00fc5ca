"""From the spans of one trace to its set of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from typing_extensions import TypeVar

from tracescore.dialects import KNOWN_DIALECTS, DialectSet
from tracescore.model import DEFAULT_PROJECT, AgentRun, Issue, RunKind, ScorerRun, Target, Trace, Trajectory
from tracescore.pipeline.assembly.agents import resolve_loops, settle_agents
from tracescore.pipeline.assembly.calls import Call, find_calls
from tracescore.pipeline.assembly.elsewhere import Elsewhere, listen
from tracescore.pipeline.assembly.extent import Extent, ParentState, extent_of, extent_of_span, gaps_of
from tracescore.pipeline.assembly.functions import read_functions
from tracescore.pipeline.assembly.handoffs import link_invocations
from tracescore.pipeline.assembly.invocations import Invocation, find_invocations
from tracescore.pipeline.assembly.parts import PartReader, PartRun
from tracescore.pipeline.assembly.run import Scene, build_run, run_id_of
from tracescore.pipeline.assembly.trajectory import Ways, name_calls, way_through
from tracescore.pipeline.assembly.tree import Node, Tree, build_tree

RunT = TypeVar("RunT", bound=ScorerRun[Any, Any], default=AgentRun)


@dataclass(frozen=True, kw_only=True, slots=True)
class AssembledRun(Generic[RunT]):
    """A run, and what decides when it is settled.

    ``parent`` tells of the span above all that was received of the run: none, present, in another process, or missing.
    ``ended_ns`` is 0 while the run's own span is open.
    """

    run: RunT
    span_ids: frozenset[str]
    open_spans: bool
    parent: ParentState
    complete: bool
    first_arrival_ns: int
    last_arrival_ns: int
    ended_ns: int


def assemble(
    trace: Trace, *, project: str = DEFAULT_PROJECT, dialects: DialectSet = KNOWN_DIALECTS
) -> list[AssembledRun]:
    """Build the runs of a trace, in order of their start.

    The same spans and log records in any order give the same runs, and no span, however broken, raises.
    """
    return assemble_all(trace, frozenset(), project=project, dialects=dialects)[0]


def assemble_all(
    trace: Trace,
    kinds: Collection[RunKind],
    *,
    project: str = DEFAULT_PROJECT,
    dialects: DialectSet = KNOWN_DIALECTS,
) -> tuple[list[AssembledRun], list[AssembledRun[PartRun]]]:
    """Build the runs of a trace, and its parts of these kinds as runs, each settled with the run that it belongs to."""
    tree, calls, invocations, runs, extents, _ = build_runs(trace, project=project, dialects=dialects)
    assembled = [
        _assembled(runs[id(invocation)], extents[id(invocation)], invocation.node) for invocation in invocations
    ]
    if not kinds:
        return assembled, []
    reader = PartReader(
        project=project,
        trace_id=trace.trace_id,
        dialects=dialects,
        tree=tree,
        calls=calls,
        invocations=invocations,
    )
    gaps = gaps_of(tree)
    parts: list[AssembledRun[PartRun]] = []
    for part in reader.parts(kinds):
        if part.owner is not None:
            parts.append(_assembled(part.run, extents[id(part.owner)], part.owner.node))
        else:
            parts.append(_assembled(part.run, extent_of_span(part.node, gaps), part.node))
    return assembled, parts


def read_trajectory(
    trace: Trace,
    span_id: str | None = None,
    *,
    project: str = DEFAULT_PROJECT,
    dialects: DialectSet = KNOWN_DIALECTS,
) -> Trajectory | None:
    """Read the way that a whole trace took, or what was done beneath one of its spans.

    That of an agent's span is its run's. None where the trace has no spans, or none of this id.
    """
    tree, calls, invocations, runs, _, ways = build_runs(trace, project=project, dialects=dialects)
    nodes = [node for node in tree.nodes if node.span.span_id == span_id] if span_id is not None else list(tree.roots)
    if not nodes:
        return None
    for invocation in invocations:
        if span_id is not None and invocation.kind == "agent" and invocation.node is nodes[0]:
            run = runs[id(invocation)]
            return None if run.trajectory is None else replace(run.trajectory, raw_output=run.output)
    name_calls(calls, ways)
    return way_through(nodes, invocations, ways)


def build_runs(
    trace: Trace, *, project: str, dialects: DialectSet
) -> tuple[Tree, list[Call], list[Invocation], dict[int, AgentRun], dict[int, Extent], Ways]:
    """Build the runs of a trace, by invocation, with their extents and their steps."""
    tree, calls, invocations, elsewhere = read_invocations(trace, dialects)
    runs: dict[int, AgentRun] = {}
    extents: dict[int, Extent] = {}
    ways = Ways(runs=runs)
    scene = Scene(
        project=project,
        trace_id=trace.trace_id,
        dialects=dialects,
        elsewhere=elsewhere,
        shared=_shared(invocations),
        runs=runs,
        ways=ways,
    )
    gaps = gaps_of(tree)
    for invocation in _children_first(invocations):
        extent = extents[id(invocation)] = extent_of(invocation, tree, gaps)
        runs[id(invocation)] = _built(invocation, extent, scene)
    return tree, calls, invocations, runs, extents, ways


def _shared(invocations: Sequence[Invocation]) -> frozenset[int]:
    """Collect the spans around more than one invocation that is nobody's child."""
    outermost = [invocation for invocation in invocations if invocation.parent is None]
    if len(outermost) < 2:
        return frozenset()
    around = Counter(id(wrapper) for invocation in outermost for wrapper in invocation.wrappers())
    return frozenset(wrapper for wrapper, held in around.items() if held > 1)


def read_invocations(trace: Trace, dialects: DialectSet) -> tuple[Tree, list[Call], list[Invocation], Elsewhere]:
    """Find the spans, the model calls and the invocations of a trace, linked, before their runs are built."""
    tree = build_tree(trace, dialects)
    resolve_loops(tree)
    order = tree.order()
    calls = find_calls(order)
    read_functions(order, calls)
    settle_agents(tree, order, calls)
    invocations = find_invocations(tree, calls)
    link_invocations(invocations)
    return tree, calls, invocations, listen(invocations)


def _children_first(invocations: list[Invocation]) -> list[Invocation]:
    if len(invocations) < 2:
        return invocations
    depth = {id(invocation): sum(1 for _ in invocation.above()) for invocation in invocations}
    return sorted(invocations, key=lambda invocation: -depth[id(invocation)])


def _built(invocation: Invocation, extent: Extent, scene: Scene) -> AgentRun:
    try:
        return build_run(invocation, extent, scene)
    except Exception as error:  # noqa: BLE001 - a broken invocation never blocks the others of its trace
        span = invocation.node.span
        detail = f"the run's spans could not be read ({type(error).__name__})"
        return AgentRun(
            run_id=run_id_of(invocation, scene),
            kind=invocation.kind,
            target=Target(trace_id=scene.trace_id, span_id=span.span_id),
            parent_run_id=run_id_of(invocation.parent, scene) if invocation.parent is not None else None,
            outermost=invocation.parent is None,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            issues=(Issue(code="unknown_dialect", detail=detail, span_id=span.span_id),),
        )


def _assembled(run: RunT, extent: Extent, node: Node) -> AssembledRun[RunT]:
    return AssembledRun(
        run=run,
        span_ids=extent.span_ids,
        open_spans=extent.open_spans,
        parent=extent.parent,
        complete=extent.complete,
        first_arrival_ns=extent.first_arrival_ns,
        last_arrival_ns=extent.last_arrival_ns,
        ended_ns=node.span.end_ns,
    )
