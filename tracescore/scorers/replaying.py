"""A scorer whose judge answers from the evidence of a score: nothing is asked again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tracescore.errors import JudgeError
from tracescore.judge import JudgeReply, JudgeRequest, reply_of
from tracescore.model import JudgeCall, RawReply
from tracescore.scorers.running import Scorer
from tracescore.scorers.steps import Step

ScorerT = TypeVar("ScorerT", bound=Scorer[Any, Any, Any])


class RecordedError(JudgeError):
    """The error of a call that brought no reply; the evidence has its words, not its class."""


class OutOfReplies(JudgeError):
    """A step asks more often than it did when the score was made."""


class RecordedJudge:
    """Answer the n-th request of a step with the n-th reply that it got, whatever is asked."""

    def __init__(self, step: str, name: str, calls: Sequence[JudgeCall]) -> None:
        self.name = name
        self._step = step
        self._left: deque[RawReply | RecordedError] = deque()
        for call in calls:
            self._left += call.replies
            if call.error is not None:  # where no reply came, or none to the re-ask
                self._left.append(RecordedError(call.error))

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Give the next reply.

        Raises:
            RecordedError: there was none then either.
            OutOfReplies: the evidence holds no more.
        """
        if not self._left:
            raise OutOfReplies(f"{self._step} asks the judge more often than the evidence holds replies")
        reply = self._left.popleft()
        if isinstance(reply, RecordedError):
            raise reply
        return reply_of(reply)


def from_evidence(scorer: ScorerT, calls: Sequence[JudgeCall]) -> ScorerT:
    """Give a scorer that takes the replies of these calls for its judge's."""
    definition = scorer._definition

    def recorded(step: Step) -> Step:
        judge = definition.judges[step.name]
        own = [call for call in calls if call.step == step.name]
        model = RecordedJudge(step.name, judge.model_name, own)
        # What was retried then is not in the evidence, and waiting for it would change nothing.
        return replace(step, judge=replace(judge, model=model, error_processors=()))

    steps = tuple(recorded(step) if step in definition.judged_steps else step for step in definition.steps)
    # The version stays: fences in prompts are made of it.
    return type(scorer)(replace(definition, steps=steps, given_version=definition.version))
