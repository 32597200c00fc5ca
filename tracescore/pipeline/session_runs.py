"""From the outermost runs of one conversation to the run of the session: the pure part, run in a child process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tracescore.model import (
    AgentRun,
    Issue,
    Message,
    Messages,
    load_run,
)
from tracescore.model.ids import run_id
from tracescore.pipeline.resuming import is_resumed_by
from tracescore.pipeline.run_records import run_record
from tracescore.pipeline.summing import cost_of_all, documents_of_all, usage_of_all
from tracescore.store import RunRecord, StoredTurn

MAX_TURNS = 500
MAX_BYTES = 16 * 1024 * 1024
CAPPED = "the conversation is longer than what is kept of one; its first turns are missing"


def session_record(project: str, session_id: str, turns: Sequence[StoredTurn]) -> RunRecord | None:
    """Build the run of a session from its turns, in their order; None where there is none.

    Of more than ``MAX_TURNS`` turns or ``MAX_BYTES`` the newest are taken, and the run says so.
    """
    kept = _newest(turns)
    if not kept:
        return None
    run = session_run(project, session_id, [load_run(turn.body) for turn in kept], capped=len(kept) < len(turns))
    return run_record(run, first_arrival_ns=min(turn.first_arrival_ns for turn in kept))


def session_run(project: str, session_id: str, turns: Sequence[AgentRun], *, capped: bool = False) -> AgentRun:
    """Join turns: input and output are the last one's, what was said before is remembered, each message once."""
    told = _Told()
    followers = [*turns[1:], None]
    for turn, follower in zip(turns, followers, strict=True):
        told.remember(turn.input.remembered_messages)
        if follower is not None and not is_resumed_by(turn, follower):
            told.say((*turn.input.input_messages, *turn.output))
    last = turns[-1]
    issues = [issue for turn in turns for issue in turn.issues]
    if capped:
        issues.append(Issue(code="capped", detail=CAPPED))
    names = {turn.agent_name for turn in turns}
    return replace(
        last,
        run_id=run_id(project=project, kind="session", session_id=session_id),
        kind="session",
        target=None,
        session_id=session_id,
        input=replace(last.input, remembered_messages=Messages(told.messages)),
        contexts=documents_of_all(turns),
        usage=usage_of_all(turns),
        cost=cost_of_all(turns),
        issues=tuple({(issue.code, issue.detail): issue for issue in issues}.values()),
        agent_name=last.agent_name if len(names) == 1 else None,
        tags=tuple(dict.fromkeys(tag for turn in turns for tag in turn.tags)),
        parent_run_id=None,
        start_ns=turns[0].start_ns,
        end_ns=max(turn.end_ns for turn in turns),
    )


@dataclass(slots=True)
class _Told:
    """What was said so far, and the texts of it, by which a memory is recognised."""

    messages: list[Message] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)

    def say(self, messages: Iterable[Message]) -> None:
        """Add what a turn said."""
        said = list(messages)
        self.messages += said
        self.keys += _keys(said)

    def remember(self, memory: Sequence[Message]) -> None:
        """Add what a memory holds beyond all that was said: what was before the first turn, or a turn unrecorded."""
        if len(memory) <= len(self.keys):
            return
        matched = 0
        for place, message in enumerate(memory):
            if matched == len(self.keys):
                self.say(memory[place:])
                return
            if message.content:
                if self.keys[matched] != (message.role, message.content.strip()):
                    return
                matched += 1


def _keys(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content.strip()) for message in messages if message.content]


def _newest(turns: Sequence[StoredTurn]) -> Sequence[StoredTurn]:
    size = 0
    for count, turn in enumerate(reversed(turns)):
        size += len(turn.body)
        if count and (count == MAX_TURNS or size > MAX_BYTES):
            return turns[len(turns) - count :]
    return turns
