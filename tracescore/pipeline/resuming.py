"""Runs that were paused and taken up again in a trace of their own: one run, whose child the later one is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracescore.model import AgentRun, Message, load_run
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.summing import cost_of_all, documents_of_all, usage_of_all
from tracescore.store import RunRecord, Store, TurnRow

LOOKED_AT = 32
"""Runs of the session, from the pause on, among which those are that take it up."""
_ANSWERED_LATER = "tool_result_missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class TakenUp:
    """The runs of a trace with those of other traces that took them up, and the traces that do not know of it yet."""

    runs: tuple[RunRecord, ...]
    untold: frozenset[str] = frozenset()


async def take_up(store: Store, project: str, runs: Sequence[RunRecord]) -> TakenUp:
    """Join the settled runs of a trace with what the store holds of their sessions: a pure function of both.

    A paused run takes in those that took it up; one that takes another up becomes its child.
    """
    untold: set[str] = set()
    made: list[RunRecord] = []
    for run in runs:
        if run.session_id is None or not (run.settled and run.outermost and run.kind in ("agent", "trace")):
            made.append(run)
            continue
        earlier = await store.sessions.paused_before(project, run.session_id, run)
        later = await store.sessions.begun_after(project, run.session_id, run, limit=LOOKED_AT) if run.paused else []
        if earlier or later:
            run, others = await asyncio.to_thread(_related, run, earlier, later)
            untold |= others
        made.append(run)
    return TakenUp(runs=tuple(made), untold=frozenset(untold))


def is_resumed_by(paused: AgentRun, later: AgentRun) -> bool:
    """Tell whether a run takes up another one that was paused.

    It does if it is the same agent's, was given the same, remembers the same, and goes on from the very calls (by
    their ids) that the other had made. Somebody who asks the same again gets new calls, and remembers the first ones.
    """
    if paused.status != "paused" or paused.agent_name != later.agent_name or paused.kind != later.kind:
        return False
    if _texts(paused.input.input_messages) != _texts(later.input.input_messages):
        return False
    if _texts(paused.input.remembered_messages) != _texts(later.input.remembered_messages):
        return False
    calls = [(call.id, call.name) for call in paused.output.tool_calls]
    if not calls or any(call_id is None for call_id, _ in calls):
        return False
    return calls == [(call.id, call.name) for call in later.output.tool_calls][: len(calls)]


def joined(paused: AgentRun, resumed: Sequence[AgentRun]) -> AgentRun:
    """Give a paused run with what came of it: what the last that took it up says, and what all of them cost."""
    every, last = [paused, *resumed], resumed[-1]
    issues = [issue for issue in paused.issues if issue.code != _ANSWERED_LATER]
    issues += [issue for issue in last.issues if issue not in issues]
    return replace(
        paused,
        output=last.output,
        status=last.status,
        error=last.error,
        contexts=documents_of_all(every),
        usage=usage_of_all(every),
        cost=cost_of_all(every),
        issues=tuple(issues),
        model=last.model or paused.model,
        resumed_in=tuple(run.run_id for run in resumed),
        end_ns=max(run.end_ns for run in every),
    )


def _related(
    record: RunRecord, earlier: Sequence[TurnRow], later: Sequence[TurnRow]
) -> tuple[RunRecord, frozenset[str]]:
    run = load_run(record.body)
    for row in earlier:
        other = load_run(row.body)
        if run.run_id in other.resumed_in or is_resumed_by(other, run):
            child = replace(run, outermost=False, parent_run_id=other.run_id)
            is_last = other.resumed_in[-1:] == (run.run_id,)
            same = (other.output, other.status, other.end_ns) == (run.output, run.status, run.end_ns)
            knows = run.run_id in other.resumed_in and (same or not is_last)
            return _record(record, child), frozenset() if knows else frozenset({row.trace_id})
    rows = sorted(((row, load_run(row.body)) for row in later), key=lambda pair: (pair[1].start_ns, pair[1].run_id))
    resumed = [other for _, other in rows if is_resumed_by(run, other)]
    names = {other.run_id for other in resumed}
    untold = {row.trace_id for row, _ in rows if (row.run_id in names) != (row.parent_run_id == run.run_id)}
    return _record(record, joined(run, resumed)) if resumed else record, frozenset(untold)


def _record(record: RunRecord, run: AgentRun) -> RunRecord:
    return run_record(run, first_arrival_ns=record.first_arrival_ns, paused=record.paused)


def _texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content.strip()) for message in messages]
