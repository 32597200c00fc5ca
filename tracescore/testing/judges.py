"""A judge without any model: a function answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

from tracescore.judge import JudgeReply, JudgeRequest
from tracescore.testing.minimal import minimal_value

Answer: TypeAlias = JudgeReply | str | Mapping[str, Any]


class FunctionJudge:
    """A ``JudgeModel`` that a function answers for: with text, with what is to be JSON, or with a whole reply.

    Without a function it gives the smallest value that the schema accepts. ``requests`` holds what was asked.

    Example:
        >>> judge = FunctionJudge(lambda request: {"score": 0.8})
        >>> judge.name
        'function-judge'
    """

    def __init__(
        self, function: Callable[[JudgeRequest], Answer] | None = None, *, name: str = "function-judge"
    ) -> None:
        self.name = name
        self.requests: list[JudgeRequest] = []
        self._function = function or _smallest

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Answer one request."""
        self.requests.append(request)
        answer = self._function(request)
        if isinstance(answer, JudgeReply):
            return answer
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        return JudgeReply(text=text, finish_reason="stop", model=self.name)


def _smallest(request: JudgeRequest) -> Answer:
    return "Because." if request.schema is None else minimal_value(request.schema)
