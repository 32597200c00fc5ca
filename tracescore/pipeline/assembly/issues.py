"""What could not be read, said and not guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from tracescore.dialects import Content, capture_of
from tracescore.model import AgentInput, DataPart, Issue, TextPart
from tracescore.pipeline.assembly.calls import Call
from tracescore.pipeline.assembly.executions import is_answered, is_transfer
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.pauses import stops
from tracescore.pipeline.assembly.transcript import Entry, Slot, Transcript
from tracescore.pipeline.assembly.tree import Node

_ASKED = 64
"""Spans of a run that are asked whether they show messages."""


def issues_of(
    invocation: Invocation,
    given: AgentInput,
    transcript: Transcript,
    own: Sequence[Content | None],
    *,
    top: Node,
    ended_by: object | None,
) -> tuple[Issue, ...]:
    """Collect the issues of a run; ``own`` is what its span records, ``ended_by`` whoever took over."""
    found: list[Issue] = []
    missing = _content_missing(invocation, given, transcript, own)
    if missing is not None:
        found.append(missing)
    found += _truncated(invocation)
    found += _orphan(invocation, top)
    if missing is None:
        found += _unanswered(transcript, took_over=ended_by is not None or _handed_back(invocation))
    found += _history_on_server(invocation)
    found += _unknown(invocation)
    return tuple(found)


def _content_missing(
    invocation: Invocation, given: AgentInput, transcript: Transcript, own: Sequence[Content | None]
) -> Issue | None:
    calls = invocation.calls
    heard = bool(given.input_messages or given.remembered_messages) or any(
        given.system_messages or _hears_result(call) for call in calls if call.reading.input
    )
    heard = heard and not _asked_silently(calls, given)
    spoken = any(_says_something(entry.pieces) for entry in transcript.entries if entry.role == "assistant")
    if calls and not any(own) and not any(call.reading.output for call in calls):
        # What later calls repeat of earlier ones says nothing of the last one.
        last = next((entry for entry in reversed(transcript.entries) if entry.pieces), None)
        spoken = spoken and last is not None and last.role == "assistant" and not last.slots
    if any(own) and not calls:
        return None
    quiet = bool(calls) and all(call.failed or not call.end_ns for call in calls)
    if heard and (spoken or quiet or not calls):
        return None
    if not heard and spoken and not calls:
        return None
    if calls and _is_cut_off(calls, [side for side, there in (("input", heard), ("output", spoken)) if not there]):
        return None
    if heard and _answered_nothing(calls):
        return None
    what = "messages" if not heard else "output messages"
    if not heard and spoken and any(_shows(call) for call in calls):
        what = "input messages"
    node = calls[0].nodes[0] if calls else invocation.node
    half = what == "output messages" or any(_speaks(call) for call in calls) or _prepares_aloud(invocation)
    detail = f"{_scope(node)} recorded no {what}; {_remedy(node, calls, half=half)}"
    return Issue(code="content_not_captured", detail=detail, span_id=node.span.span_id)


def _prepares_aloud(invocation: Invocation) -> bool:
    """Tell whether content is on, since steps that prepare a call show messages, though no call left a span."""
    if invocation.calls:
        return False
    held = chain.from_iterable(top.subtree() for top in invocation.roots or (invocation.node,))
    outputs = (node.reading.output for node in islice(held, _ASKED) if node.role == "step")
    return any(output.kind == "messages" for output in outputs if output)


def _asked_silently(calls: Sequence[Call], given: AgentInput) -> bool:
    """Tell whether a user's message stands there without anything in it, and nothing else was asked."""
    first = next((call.reading.input for call in calls if call.reading.input), None)
    if first is None or given.input_messages or first.kind != "messages":
        return False
    users = [said for said in first.said() if said.role == "user"]
    return bool(users) and not any(said.parts for said in users)


def _remedy(node: Node, calls: Sequence[Call], *, half: bool) -> str:
    """Say what turns content on, or that it is on and the library leaves this out."""
    capture = capture_of(node.span, node.reading)
    if half and not capture.sides:
        return "the recording of content is on, and this library leaves them out"
    if calls and all(call.failed for call in calls):
        return f"a call that failed may leave none, else {capture.setting}"
    if half and calls and not _replied(calls[-1]):
        return f"a call that was broken off leaves none, else {capture.setting}"
    return capture.setting


def _replied(call: Call) -> bool:
    """Tell whether anything shows that a model answered, its words aside."""
    read = call.reading
    return bool(read.finished or read.response_id or read.model_answered or read.output_tokens)


def _scope(node: Node) -> str:
    return " ".join(part for part in (node.span.scope_name, node.span.scope_version) if part) or "the instrumentation"


def _answered_nothing(calls: Sequence[Call]) -> bool:
    """Tell an empty answer from one that was not recorded: a message stands there, or no token was answered."""
    last = calls[-1].reading if calls else None
    if last is None or calls[-1].failed:
        return False
    if last.output_tokens == 0 and last.finished:
        return True
    said = last.output.said() if last.output and last.output.kind == "messages" else ()
    return bool(said) and not any(one.elided or one.calls or "tool" in (one.finish or "") for one in said)


def issues_of_span(node: Node, *, lacks: str | None) -> tuple[Issue, ...]:
    """Collect the issues of a span that is a run by itself; ``lacks`` names what was not recorded of it."""
    missing: list[Issue] = []
    if lacks is not None:
        detail = f"{_scope(node)} recorded no {lacks}; {_remedy(node, (), half=False)}"
        missing.append(Issue(code="content_not_captured", detail=detail, span_id=node.span.span_id))
    return (*missing, *_truncated_spans([node]))


def _is_cut_off(calls: Sequence[Call], sides: Sequence[str]) -> bool:
    """Tell whether all that is missing was recorded and broke off: that is another issue, which no setting mends."""
    return all(any(_lost(call, side) for call in calls) for side in sides)


def _lost(call: Call, side: str) -> bool:
    content: Content | None = getattr(call.reading, side)
    return any(node.span.dropped_attributes for node in call.nodes) if content is None else content.tail_lost


def _says_something(pieces: Iterable[object]) -> bool:
    """Tell content from calls of which only the name, or only the execution, is known."""
    return any(not isinstance(piece, Slot) or piece.arguments is not None for piece in pieces)


def _hears_result(call: Call) -> bool:
    """Tell whether a call was given what a tool returned: a provider that keeps the history needs no more."""
    given = call.reading.input
    return bool(given) and any(result.value is not None for said in given.said() for result in said.results)


def _shows(call: Call) -> bool:
    output = call.reading.output
    return bool(output) and any(said.captured for said in output.said())


def _speaks(call: Call) -> bool:
    output = call.reading.output
    return bool(output) and any(said.text for said in output.said())


def _truncated(invocation: Invocation) -> list[Issue]:
    nodes = [node for call in invocation.calls for node in call.nodes[:1]]
    return _truncated_spans(dict.fromkeys([*nodes, invocation.node]))


def _truncated_spans(nodes: Iterable[Node]) -> list[Issue]:
    found: list[Issue] = []
    for node in nodes:
        dropped, reading = node.span.dropped_attributes, node.reading
        sides = (("input", reading.input), ("output", reading.output))
        cut = [side for side, content in sides if content is not None and content.tail_lost]
        if not (dropped or cut or node.span.truncated or node.logs):
            continue
        if dropped and (node.role == "llm" or cut):
            detail = f"{dropped} attributes of the span were dropped at its sender's limit"
            found.append(Issue(code="truncated", detail=detail, span_id=node.span.span_id))
        elif received := sorted({*node.span.truncated, *(name for log in node.logs for name in log.truncated)}):
            detail = f"more was received of {', '.join(received)[:200]} than is kept of one value"
            found.append(Issue(code="truncated", detail=detail, span_id=node.span.span_id))
        elif cut:
            detail = f"the {' and the '.join(cut)} of the span breaks off; what stands complete before that is kept"
            found.append(Issue(code="truncated", detail=detail, span_id=node.span.span_id))
    return found


def _orphan(invocation: Invocation, top: Node) -> list[Issue]:
    if invocation.parent is not None or not top.orphaned or top.span.has_remote_parent:
        return []
    detail = f"the parent span {top.span.parent_span_id} was not received"
    return [Issue(code="orphan", detail=detail, span_id=top.span.span_id)]


def _handed_back(invocation: Invocation) -> bool:
    """Tell whether the parent went on afterwards: a transfer back to it is answered by that."""
    parent = invocation.parent
    return parent is not None and bool(parent.calls) and parent.calls[-1].start_ns > invocation.node.span.start_ns


def _unanswered(transcript: Transcript, *, took_over: bool) -> list[Issue]:
    ran = {id(slot) for entry in transcript.entries for slot in _run_by_provider(entry)}
    return [
        Issue(
            code="tool_result_missing",
            detail=f"nothing in the trace answers the call of {slot.name}" + (f" ({slot.id})" if slot.id else ""),
            span_id=slot.asked_by,
        )
        for slot in transcript.slots()
        if id(slot) not in ran
        and not is_answered(slot)
        and not _waits(slot)
        and not (took_over and is_transfer(slot))
        and not _is_answer(slot, transcript)
    ]


def _run_by_provider(entry: Entry) -> Sequence[Slot]:
    """Give the calls before the text of one answer: the model knew what came of them, and the client never did."""
    texts = [place for place, piece in enumerate(entry.pieces) if isinstance(piece, TextPart)]
    return [piece for piece in entry.pieces[: texts[-1]] if isinstance(piece, Slot)] if texts else ()


def _waits(slot: Slot) -> bool:
    """Tell a call whose execution stopped to ask a human."""
    return slot.execution is not None and stops(slot.execution)


def _is_answer(slot: Slot, transcript: Transcript) -> bool:
    """Tell the call by which a model gives its final object: it is the answer, and nothing answers it."""
    last = transcript.entries[-1].pieces[-1:]
    return any(isinstance(piece, DataPart) and piece.data == slot.arguments for piece in last)


def _history_on_server(invocation: Invocation) -> list[Issue]:
    known = {call.reading.response_id for call in invocation.calls}
    for call in invocation.calls:
        previous = call.reading.previous_response_id
        if previous is not None and previous not in known:
            detail = f"the messages before this call are kept by the provider under {previous}"
            return [Issue(code="history_on_server", detail=detail, span_id=call.span_id)]
    return []


def _unknown(invocation: Invocation) -> list[Issue]:
    found: list[Issue] = []
    for node in dict.fromkeys([invocation.node, *(call.nodes[0] for call in invocation.calls)]):
        if node.unreadable is not None:
            detail = f"the span could not be read ({node.unreadable})"
        elif node.reading.unknown or (
            node.reading.generic and node.role is not None and not (node.reading.input or node.reading.output)
        ):
            scope = " ".join([part for part in (node.span.scope_name, node.span.scope_version) if part])
            scope = scope or "an unnamed scope"
            detail = f"no dialect knows the spans of {scope}; they were read by the generic rules"
        else:
            continue
        found.append(Issue(code="unknown_dialect", detail=detail, span_id=node.span.span_id))
        break
    return found
