"""A rubric scorer and the stand-in endpoint that its judge is."""

from __future__ import annotations

from typing import Any

from tracescore import Judge, create_rubric_scorer
from tracescore.testing import ModelCall, ModelServer

CRITERIA: list[Any] = [
    {"description": "Includes an analysis section"},
    {"description": "Includes concrete recommendations", "id": "advice"},
    {"description": "Includes citations", "required": False},
]


def verdicts(**satisfied: bool) -> dict[str, Any]:
    return {id: {"reasoning": f"Said of {id}.", "satisfied": value} for id, value in satisfied.items()}


class Endpoint:
    """A stand-in whose replies a test sets; counts its calls."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.server = ModelServer(self._reply)

    def _reply(self, call: ModelCall) -> Any:
        return self.replies[min(call.number - self.before, len(self.replies) - 1)]

    def answers(self, *replies: Any) -> None:
        self.before = len(self.server.calls)
        self.replies = list(replies)

    @property
    def calls(self) -> list[ModelCall]:
        return self.server.calls[self.before :]

    def rubric(self, criteria: Any = CRITERIA, **options: Any) -> Any:
        settings = Judge(base_url=self.server.base_url)
        return create_rubric_scorer(
            model="openai/gpt-5-mini", judge=settings, criteria=criteria, version="1", **options
        )
