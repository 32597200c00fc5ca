"""One invocation becomes one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracescore.dialects import Content, DialectSet, Said
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Issue,
    Messages,
    RetrievedDocument,
    Target,
    Trajectory,
)
from tracescore.model.ids import run_id as derive_run_id
from tracescore.pipeline.assembly.answer import produced
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.elsewhere import Elsewhere
from tracescore.pipeline.assembly.errors import error_of_run
from tracescore.pipeline.assembly.executions import is_answered, join_executions
from tracescore.pipeline.assembly.extent import Extent
from tracescore.pipeline.assembly.finals import (
    answer_value,
    end_with_own_output,
    final_answer,
    input_around,
    own_content,
    say_own_output,
)
from tracescore.pipeline.assembly.history import read_history
from tracescore.pipeline.assembly.identity import (
    attributes_of,
    environment_of,
    metadata_of,
    model_and_provider_of,
    outermost_of,
    sender_fields,
    service_of,
    tags_of,
)
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.issues import issues_of
from tracescore.pipeline.assembly.status import status_of
from tracescore.pipeline.assembly.system import each_once, texts_of
from tracescore.pipeline.assembly.trajectory import Ways, way_of
from tracescore.pipeline.assembly.transcript import Entry, Slot, Transcript, folded
from tracescore.pipeline.assembly.transfers import names_fit
from tracescore.pipeline.assembly.usage import cost_of, usage_of


class Scene(NamedTuple):
    """What the runs of one trace have in common while they are being built."""

    project: str
    trace_id: str
    dialects: DialectSet
    elsewhere: Elsewhere
    shared: frozenset[int]
    """The spans around more than one invocation that is nobody's child."""
    runs: Mapping[int, AgentRun]
    """The runs built so far, by invocation: those called or handed over to come before their parents."""
    ways: Ways
    """The steps of the runs built so far."""


def run_id_of(invocation: Invocation, scene: Scene) -> str:
    """Derive the run's id: of its span, or of the trace where it is the whole of it."""
    if invocation.kind == "trace":
        return derive_run_id(project=scene.project, kind="trace", trace_id=scene.trace_id)
    return derive_run_id(
        project=scene.project, kind="agent", trace_id=scene.trace_id, span_id=invocation.node.span.span_id
    )


def build_run(invocation: Invocation, extent: Extent, scene: Scene) -> AgentRun:
    """Read one invocation's run."""
    given_by = _first_with_content(invocation)
    own_input, own_output = own_content(invocation, "input"), own_content(invocation, "output")
    if given_by is None and own_input is None:
        own_input = input_around(invocation, scene.shared)
    first_ns = given_by.start_ns if given_by is not None else invocation.node.span.start_ns
    own = (own_input, own_output)
    others = scene.elsewhere.seen_by(invocation, first_ns)
    history = read_history(given_by.reading.input if given_by is not None else None, own_input, others)
    given = _input(invocation, given_by, own, folded(history.input), folded(history.remembered))
    transcript, entries = produced(invocation, history, scene.elsewhere)
    if own_output and not any(entry.pieces for entry in transcript.entries):
        say_own_output(own_output, transcript, span_id=invocation.node.span.span_id)
        own_output = None
    joined = join_executions(invocation, transcript, entries)
    _answer_by_children(invocation, scene, joined, transcript.slots())
    ended_by = _end(invocation, own_output, transcript, scene)
    output = AgentOutput(transcript.messages())
    way = way_of(invocation, transcript, joined, scene.ways)
    return _finished(
        invocation,
        scene,
        given=given,
        output=output,
        way=way,
        issues=issues_of(invocation, given, transcript, own, top=extent.top, ended_by=ended_by),
    )


def _first_with_content(invocation: Invocation) -> Call | None:
    return next((call for call in invocation.calls if call.reading.input), None)


def _input(
    invocation: Invocation,
    call: Call | None,
    own: tuple[Content | None, Content | None],
    new: Messages,
    remembered: Messages,
) -> AgentInput:
    system = _system_said(call.reading.system, call.reading.input) if call is not None else []
    if not system:
        first = invocation.calls[0].reading.system if invocation.calls else None
        recorded = (node.reading.system for node in invocation.records)
        apart = first or next((content for content in recorded if content), None)
        # Without model calls, a span that records its whole state may show the system message there alone.
        system = _system_said(apart, own[0]) or ([] if invocation.calls else _system_said(None, own[1]))
    plain = each_once(said for said in system if said.tag is None)
    tagged: dict[str, list[Said]] = {}
    if len(plain) < len(system):
        known = {text for said in plain for text in texts_of(said)}
        for said in system:
            if said.tag is not None and said.text.strip() not in known:
                tagged.setdefault(said.tag, []).append(said)
    return AgentInput(
        input_messages=new,
        remembered_messages=remembered,
        system_messages=folded(plain),
        tagged_system_messages={tag: folded(said) for tag, said in sorted(tagged.items())},
    )


def _system_said(apart: Content | None, beside: Content | None) -> list[Said]:
    """Give system messages: those that stand apart, then those among the messages."""
    said = list(apart.said()) if apart else []
    if beside and beside.kind == "messages":
        said += [message for message in beside.said() if message.role == "system"]
    return said


def _answer_by_children(
    invocation: Invocation, scene: Scene, joined: Mapping[int, Slot], slots: Iterable[Slot]
) -> None:
    """Give a call the answer of the sub-agent that its execution called, where nothing else shows it."""
    for child in invocation.children:
        slot = joined.get(id(child.tool)) if child.tool is not None else None
        run = scene.runs.get(id(child))
        if slot is not None and run is not None and slot.result is None and slot.error is None:
            slot.result = answer_value(run.output)
    # A framework may call a sub-agent without a span for the call: then the call that goes by its name is meant.
    open_slots = [slot for slot in slots if slot.execution is None and not is_answered(slot)]
    for child in sorted(invocation.children, key=lambda child: child.place) if open_slots else ():
        name = child.name if child.tool is None and not child.took_over else None
        slot = next((slot for slot in open_slots if name is not None and names_fit(slot.name, name)), None)
        run = scene.runs.get(id(child))
        if slot is not None and run is not None:
            slot.result = answer_value(run.output)
            open_slots.remove(slot)


def _end(invocation: Invocation, own_output: Content | None, transcript: Transcript, scene: Scene) -> Invocation | None:
    """Let the output end: with the answer of whoever took over, else with what the own span records."""
    took_over = [child for child in invocation.children if child.took_over]
    if took_over:
        last = max(took_over, key=lambda child: child.place)
        run = scene.runs.get(id(last))
        answer = final_answer(run.output) if run is not None else None
        if answer is not None:
            transcript.entries.append(Entry("assistant", list(answer.parts), span_id=last.node.span.span_id))
        return last
    if own_output:
        end_with_own_output(own_output, transcript, span_id=invocation.node.span.span_id)
    return None


def _finished(
    invocation: Invocation,
    scene: Scene,
    *,
    given: AgentInput,
    output: AgentOutput,
    way: Trajectory,
    issues: tuple[Issue, ...],
) -> AgentRun:
    node = invocation.node
    outermost = outermost_of(invocation)
    model, provider = model_and_provider_of(invocation)
    status = status_of(invocation, output)
    if status == "paused":
        # Its open calls wait for a human: nothing of them is missing.
        issues = tuple(issue for issue in issues if issue.code != "tool_result_missing")
    return AgentRun(
        input=given,
        output=output,
        run_id=run_id_of(invocation, scene),
        metadata=metadata_of(node, *invocation.records),
        target=Target(trace_id=scene.trace_id, span_id=node.span.span_id),
        kind=invocation.kind,
        status=status,
        error=error_of_run(invocation) if status == "error" else None,
        contexts=_contexts(invocation),
        usage=usage_of(invocation),
        cost=cost_of(invocation),
        issues=issues,
        agent_name=invocation.name,
        model=model,
        provider=provider,
        session_id=outermost.session_id or invocation.session_id,
        user_id=outermost.user_id or invocation.user_id,
        service=service_of(node),
        environment=environment_of(node),
        tags=tags_of(invocation),
        attributes=attributes_of(node, scene.dialects),
        parent_run_id=run_id_of(invocation.parent, scene) if invocation.parent is not None else None,
        outermost=invocation.parent is None,
        start_ns=node.span.start_ns,
        end_ns=node.span.end_ns,
        trajectory=way,
        **sender_fields(invocation),
    )


def _contexts(invocation: Invocation) -> tuple[RetrievedDocument, ...]:
    """Give the documents of the run's retrievals, each once: retrievers nest, and rerankers repeat.

    Where no retrieval records any, those that its prompts were filled with.
    """
    found: dict[tuple[str | None, str], RetrievedDocument] = {}
    retrieved = [node.reading.documents or () for node in invocation.retrievals]
    for documents in retrieved if any(retrieved) else [call.reading.documents or () for call in invocation.calls]:
        for document in documents:
            found.setdefault((document.id, document.text), document)
    return tuple(found.values())
