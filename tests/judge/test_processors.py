"""Processors around a judge call: on the messages, on the raw reply, on errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.judge.judging import Serve, call_of, judge_at, scored
from tracescore import (
    ConfigurationError,
    ErrorProcessor,
    InputProcessor,
    Judge,
    JudgeCallRejected,
    JudgeRequest,
    JudgeTransientError,
    OutputProcessor,
    Score,
    ScoreFailure,
    StreamErrorRetryProcessor,
    create_scorer,
)
from tracescore.app import TraceScore
from tracescore.testing import FakeJudge, ModelReply

Chat = Sequence[Mapping[str, Any]]


class Adding:
    """Add a word to the last message."""

    def __init__(self, word: str) -> None:
        self.word = word

    def process_input(self, messages: Chat, /) -> Chat:
        return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']} {self.word}"}]


class AddingLater(Adding):
    async def process_input(self, messages: Chat, /) -> Chat:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        await asyncio.sleep(0)
        return super().process_input(messages)


class Unwrapping:
    def process_output(self, text: str, /) -> str:
        return text.removeprefix("VERDICT ")


class UnwrappingLater(Unwrapping):
    async def process_output(self, text: str, /) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        await asyncio.sleep(0)
        return super().process_output(text)


class Counting:
    """Note what is asked of it, and retry ``times``."""

    def __init__(self, times: int = 1000) -> None:
        self.counts: list[int] = []
        self.errors: list[str] = []
        self.times = times

    def process_api_error(self, error: BaseException, *, retry_count: int) -> bool:
        self.counts.append(retry_count)
        self.errors.append(str(error))
        return retry_count < self.times


class Rejecting:
    def process_input(self, messages: Chat, /) -> Chat:
        raise JudgeCallRejected("too private")

    def process_output(self, text: str, /) -> str:
        raise JudgeCallRejected("too rude")

    def process_api_error(self, error: BaseException, *, retry_count: int) -> bool:
        raise JudgeCallRejected("enough")


class Failing:
    def process_api_error(self, error: BaseException, *, retry_count: int) -> bool:
        raise RuntimeError("the processor is broken")


def test_input_processors_see_the_messages_in_order_and_the_evidence_keeps_what_was_sent() -> None:
    judge = FakeJudge(lambda request: {"score": 1})

    outcome = scored(
        Judge(model=judge, instructions="You grade.", input_processors=[Adding("one"), AddingLater("two")])
    )

    assert judge.requests[0].messages[-1]["content"] == "Grade. one two"
    assert call_of(outcome).prompt == "Grade."
    assert call_of(outcome).messages[-1]["content"] == "Grade. one two"


def test_output_processors_see_the_raw_text_and_the_evidence_keeps_it() -> None:
    judge = FakeJudge(lambda request: 'VERDICT VERDICT {"score": 1}')
    processors = [Unwrapping(), UnwrappingLater()]

    outcome = scored(Judge(model=judge, instructions="You grade.", output_processors=processors))

    assert isinstance(outcome, Score)
    assert call_of(outcome).raw_reply == 'VERDICT VERDICT {"score": 1}'


@pytest.mark.parametrize(
    ("options", "message", "requests"),
    [
        ({"input_processors": [Rejecting()]}, "too private", 0),
        ({"output_processors": [Rejecting()]}, "too rude", 1),
        ({"error_processors": [Rejecting()]}, "enough", 1),
    ],
)
def test_a_rejection_is_a_failure_and_never_retried(
    serve: Serve, options: dict[str, Any], message: str, requests: int
) -> None:
    server = serve([ModelReply.server_error()] if "error_processors" in options else [{"score": 7}])
    counting = Counting()

    failure = scored(judge_at(server, **{"error_processors": [counting], **options}))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, failure.message, failure.transient) == ("JudgeCallRejected", message, False)
    assert (len(server.calls), counting.counts) == (requests, [])


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        ({}, 1),
        ({"error_processors": []}, 1),
        ({"max_processor_retries": 5}, 1),
        ({"error_processors": [Counting()]}, 11),  # ten retries, as documented
        ({"error_processors": [Counting()], "max_processor_retries": 3}, 4),
        ({"error_processors": [Counting()], "max_processor_retries": 0}, 1),
        ({"error_processors": [Counting(2)]}, 3),
        ({"error_processors": [Failing(), Counting(2)]}, 3),
        ({"error_processors": [Failing()]}, 1),
    ],
)
def test_the_cap_on_retries(serve: Serve, options: dict[str, Any], requests: int) -> None:
    server = serve(lambda call: ModelReply.rate_limited())  # pyright: ignore[reportUnknownLambdaType]

    failure = scored(judge_at(server, **options))

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, len(server.calls)) == ("JudgeTransientError", requests)


def test_an_error_processor_is_told_how_often_it_was_and_never_beyond_the_cap(serve: Serve) -> None:
    server = serve([ModelReply.server_error(), ModelReply.rate_limited(), ModelReply.server_error(502)])
    counting = Counting()

    failure = scored(judge_at(server, error_processors=[Failing(), counting], max_processor_retries=2))

    assert isinstance(failure, ScoreFailure)
    assert (counting.counts, [error[:35] for error in counting.errors]) == (
        [0, 1],
        ["judge model 'gpt-5-mini': HTTP 500:", "judge model 'gpt-5-mini': HTTP 429:"],
    )
    assert "HTTP 502" in failure.message
    notes = call_of(failure).notes
    assert "error processor Failing failed: RuntimeError: the processor is broken" in notes
    assert [note[:24] for note in notes if note.startswith("request")] == [
        "request 1 was made again",
        "request 2 was made again",
    ]


def test_any_error_of_a_judge_of_the_users_own_can_be_retried() -> None:
    calls: list[JudgeRequest] = []

    def answer(request: JudgeRequest) -> dict[str, float]:
        calls.append(request)
        if len(calls) == 1:
            raise RuntimeError("out of order")
        return {"score": 1}

    assert scored(Judge(model=FakeJudge(answer), instructions="You grade.", error_processors=[Counting()])).ok


def test_a_list_of_a_step_replaces_the_scorers_and_its_cap_is_inherited() -> None:
    def always(request: JudgeRequest) -> dict[str, float]:
        raise JudgeTransientError("later")

    model, outer, inner = FakeJudge(always), Counting(), Counting()
    base = Judge(
        model=model, instructions="You grade.", error_processors=[outer], max_processor_retries=2, input_processors=[]
    )
    judged = create_scorer(id="judged", type="agent", judge=base).generate_score(
        description="d", create_prompt=lambda ctx: "Grade.", judge=Judge(error_processors=[inner])
    )

    assert not judged.run_sync(output="Sunny.").ok
    assert (outer.counts, inner.counts, len(model.requests)) == ([], [0, 1], 3)


def test_a_retry_of_the_reason_does_not_score_again(serve: Serve) -> None:
    server = serve([{"score": 1}, ModelReply.server_error(), "Because."])
    judge = judge_at(server, error_processors=[StreamErrorRetryProcessor()])
    judged = (
        create_scorer(id="judged", type="agent", judge=judge)
        .generate_score(description="d", create_prompt=lambda ctx: "Grade.")
        .generate_reason(description="d", create_prompt=lambda ctx: "Why?")
    )

    score = judged.run_sync(output="Sunny.")

    assert isinstance(score, Score)
    assert (score.reason, [call.attempts for call in score.evidence.judge_calls]) == ("Because.", [1, 2])
    assert [call.prompt for call in server.calls] == ["Grade.", "Why?", "Why?"]


def test_an_apps_judge_retries_twice_and_a_scorers_own_run_does_not(serve: Serve) -> None:
    server = serve()
    plain = create_scorer(id="judged", type="agent", judge=judge_at(server)).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )
    own = create_scorer(id="own", type="agent", judge=judge_at(server, error_processors=[])).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )
    app = TraceScore([plain, own], rules=[])

    judges = [scorer.judge for scorer in (plain, app.scorers["judged"], app.scorers["own"])]

    assert [judge.retries for judge in judges if judge is not None] == [
        "no retries",
        "StreamErrorRetryProcessor: 2 retries of what may pass, Retry-After up to 30 s; at most 10 in a judge call",
        "no retries",
    ]
    assert app.scorers["judged"].version == plain.version  # how often it is asked makes no other scorer


def test_processors_of_content_make_another_version_and_those_of_errors_do_not() -> None:
    def version(**options: Any) -> str:
        judge = Judge(model="openai/gpt-5", instructions="You grade.", **options)
        return (
            create_scorer(id="judged", type="agent", judge=judge)
            .generate_score(description="d", create_prompt=lambda ctx: "Grade.")
            .version
        )

    plain = version()

    assert version(error_processors=[Counting()], max_processor_retries=3) == plain
    assert len({plain, version(input_processors=[Adding("a")]), version(input_processors=[Adding("b")])}) == 3


@pytest.mark.parametrize(
    "options",
    [
        {"input_processors": [Adding]},
        {"error_processors": [Adding("a")]},
        {"output_processors": "x"},
        {"input_processors": Adding("a")},
        {"max_processor_retries": -1},
        {"max_processor_retries": True},
    ],
)
def test_what_is_no_processor_is_refused_when_the_judge_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="Judge"):
        Judge(**options)


def test_a_processor_that_gives_something_else_is_named() -> None:
    class Nothing:
        def process_input(self, messages: Chat, /) -> Any:
            return None

        def process_output(self, text: str, /) -> Any:
            return None

    model = FakeJudge()
    for name in ("input_processors", "output_processors"):
        options: dict[str, Any] = {name: [Nothing()]}
        failure = scored(Judge(model=model, instructions="You grade.", **options))

        assert isinstance(failure, ScoreFailure)
        assert failure.message.startswith(f"{name.split('_')[0]} processor test_a_processor_that_gives_something_else")
    assert len(model.requests) == 1


def test_the_protocols_can_be_looked_for() -> None:
    assert isinstance(Adding(""), InputProcessor)
    assert isinstance(Unwrapping(), OutputProcessor)
    assert isinstance(StreamErrorRetryProcessor(), ErrorProcessor)
