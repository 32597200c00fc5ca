"""The seam for redaction: every text that leaves passes it, and where it fails nothing leaves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge.judging import call_of
from tracescore import AgentRun, Judge, ScoreFailure, create_scorer
from tracescore.bridge import run_sync
from tracescore.judge import MemoryReplies
from tracescore.model import ScoreOutcome
from tracescore.scorers.asking import Session
from tracescore.scorers.scoring import drive, score_flow
from tracescore.testing import FakeJudge


class Hiding:
    def redact(self, text: str, /) -> str:
        return text.replace("Ann", "[name]")


class Broken:
    def redact(self, text: str, /) -> str:
        raise ValueError(f"cannot read {text}")


class Mute:
    def redact(self, text: str, /) -> Any:
        return None


class Naming:
    """Puts a name into the messages, after the prompt was written."""

    def process_input(self, messages: Any, /) -> Any:
        return [*messages, {"role": "user", "content": [{"type": "text", "text": "It is Ann."}]}]


def scored_with(redactor: Any, judge: Judge, replies: MemoryReplies | None = None) -> ScoreOutcome:
    scorer = create_scorer(id="judged", type="agent", judge=judge).generate_score(
        description="d", create_prompt=lambda ctx: "Is Ann right?"
    )

    async def score() -> ScoreOutcome:
        prepared = await scorer.prepare(AgentRun(run_id="r"))
        return await drive(score_flow(scorer._definition, prepared, Session(redactor=redactor, replies=replies)))

    return run_sync(score())


@pytest.mark.parametrize("processors", [[], [Naming()]])
def test_what_leaves_is_redacted_and_the_evidence_keeps_only_that(processors: list[Any]) -> None:
    model = FakeJudge(lambda request: "Ann is, says Ann." if len(request.messages) < 5 else {"score": 1})
    judge = Judge(model=model, instructions="Judge Ann.", input_processors=[*processors, Naming()])
    replies = MemoryReplies()

    outcome = scored_with(Hiding(), judge, replies)

    assert outcome.ok
    assert len(model.requests) == 2  # the re-ask too, with the reply in it
    assert "Ann" not in repr([request.messages for request in model.requests])
    [call] = outcome.evidence.judge_calls
    assert call.prompt == "Is [name] right?"
    assert "Ann" not in repr(call.messages)


def test_the_prompt_is_redacted_without_processors_too() -> None:
    model = FakeJudge(lambda request: {"score": 1})

    call = call_of(scored_with(Hiding(), Judge(model=model, instructions="Judge Ann.")))

    assert (call.prompt, [message["content"] for message in call.messages]) == (
        "Is [name] right?",
        ["Judge [name].", "Is [name] right?"],
    )


@pytest.mark.parametrize(
    ("redactor", "words"),
    [(Broken(), "the redactor raised ValueError"), (Mute(), "the redactor gave NoneType, no text")],
)
def test_a_redactor_that_fails_stops_the_call(redactor: Any, words: str) -> None:
    model = FakeJudge()

    failure = scored_with(redactor, Judge(model=model, instructions="Judge Ann."))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, failure.message) == ("RedactionFailed", f"{words}: nothing was sent to the judge")
    assert model.requests == []
    assert "Ann" not in repr(failure)


def test_halves_of_surrogate_pairs_are_sent_as_question_marks() -> None:
    model = FakeJudge(lambda request: {"score": 1})
    scorer = create_scorer(
        id="judged", type="agent", judge=Judge(model=model, instructions="You grade.")
    ).generate_score(description="d", create_prompt=lambda ctx: "\ud800!")

    assert run_sync(scorer.run(output="Sunny.", replies=MemoryReplies())).ok
    assert model.requests[0].messages[-1]["content"] == "?!"
