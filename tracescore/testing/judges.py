"""Judges without any model: one that answers as it is told, and one that remembers what another was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from tracescore.errors import JudgeError
from tracescore.judge import Judge, JudgeModel, JudgeReply, JudgeRequest, resolve_model
from tracescore.testing.minimal import minimal_value

Answer: TypeAlias = JudgeReply | str | Mapping[str, Any] | Exception
"""Text, what is to be JSON, a whole reply, or an error to raise."""

Answers: TypeAlias = Callable[[JudgeRequest], Answer | Awaitable[Answer]] | Sequence[Answer]


class FakeJudge:
    """A ``JudgeModel`` for tests: a list answers call by call, a function by what is asked.

    With neither it gives the smallest value that the asked schema accepts. ``requests`` holds what was asked.

    Example:
        >>> judge = FakeJudge([{"score": 0.8}, "Because it is short."])
        >>> FakeJudge(lambda request: {"score": 0.8}, name="strict").name
        'strict'
    """

    def __init__(self, answers: Answers | None = None, *, name: str = "fake-judge") -> None:
        self.name = name
        self.requests: list[JudgeRequest] = []
        self._function = answers if callable(answers) else _smallest
        self._left: Iterator[Answer] | None = None
        if answers is not None and not callable(answers):
            if isinstance(answers, (str, Mapping)):
                raise TypeError(f"{type(self).__name__} takes a list of answers or a function, not {answers!r:.80}")
            self._left = iter(list(answers))

    @property
    def prompts(self) -> list[str]:
        """Give the prompt of each request: the text of its last message."""
        return [_prompt(request) for request in self.requests]

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Answer one request.

        Raises:
            JudgeError: the list is used up.
        """
        self.requests.append(request)
        answer: Any = self._function(request) if self._left is None else next(self._left, None)
        if hasattr(type(answer), "__await__"):
            answer = await answer
        if answer is None:
            raise JudgeError(f"{self.name} was asked {len(self.requests)} times and has no answer to the last")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, JudgeReply):
            return answer
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        return JudgeReply(text=text, finish_reason="stop", model=self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """One request that a judge got, with its reply or its error."""

    request: JudgeRequest
    reply: JudgeReply | None = None
    error: Exception | None = None

    @property
    def prompt(self) -> str:
        """Give the text of the last message."""
        return _prompt(self.request)


class JudgeRecorder:
    """A ``JudgeModel`` that asks another one and keeps what was asked and answered.

    It takes a model, or the settings of one that is asked over the network. What a real judge said once can be said
    again in later tests: ``FakeJudge(recorder.replies)``.

    Example:
        >>> recorder = JudgeRecorder(FakeJudge([{"score": 1.0}]))
        >>> recorder.calls
        []
    """

    def __init__(self, judge: JudgeModel | Judge) -> None:
        self._model = resolve_model(judge) if isinstance(judge, Judge) else judge
        self.name = judge.model_name if isinstance(judge, Judge) else Judge(model=judge).model_name
        self.calls: list[RecordedCall] = []

    @property
    def replies(self) -> list[JudgeReply]:
        """Give the replies, in the order in which they came."""
        return [call.reply for call in self.calls if call.reply is not None]

    @property
    def prompts(self) -> list[str]:
        """Give the prompt of each call."""
        return [call.prompt for call in self.calls]

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Ask the judge; its errors are kept and come out as they are."""
        try:
            reply = await self._model.ask(request)
        except Exception as error:
            self.calls.append(RecordedCall(request=request, error=error))
            raise
        self.calls.append(RecordedCall(request=request, reply=reply))
        return reply


def _smallest(request: JudgeRequest) -> Answer:
    return "Because." if request.schema is None else minimal_value(request.schema)


def _prompt(request: JudgeRequest) -> str:
    content: Any = request.messages[-1].get("content", "") if request.messages else ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
