"""What a judge is asked with, and what happens when a provider has a bad day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracescore import Judge, JudgeCallRejected, Score, ScoreFailure, StreamErrorRetryProcessor, create_scorer
from tracescore.model import ScoreOutcome
from tracescore.testing import ModelReply, ModelServer


def graded(server: ModelServer, **options: Any) -> ScoreOutcome:
    """Score one answer with a judge at a stand-in server."""
    judge = Judge(
        model="openai/gpt-5-mini", base_url=server.base_url, api_key="sk-test", instructions="You grade.", **options
    )
    return (
        create_scorer(id="graded", type="agent", judge=judge)
        .generate_score(description="Grade", create_prompt=lambda ctx: f"Grade:\n{ctx.fenced(ctx.run.output.text)}")
        .run_sync(output="It is sunny.")
    )


def test_nothing_is_retried_unless_a_processor_says_so() -> None:
    """A rate limit is a failure of its own kind: the same run may well be scored later."""
    with ModelServer([ModelReply.rate_limited()]) as server:
        failure = graded(server)

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, failure.transient, len(server.calls)) == ("JudgeTransientError", True, 1)


def test_a_retry_processor_retries_what_may_pass() -> None:
    """With two retries there are three requests at most, and the provider's Retry-After is waited for."""
    with ModelServer([ModelReply.rate_limited(retry_after=0.01), ModelReply.server_error(), {"score": 1}]) as server:
        score = graded(server, error_processors=[StreamErrorRetryProcessor(max_retries=2)])

    assert isinstance(score, Score)
    assert len(server.calls) == 3


def test_a_reply_that_does_not_fit_is_asked_for_once_more() -> None:
    """The judge is told what is wrong; the score keeps both replies."""
    with ModelServer([{"score": "very good"}, {"score": 0.9}]) as server:
        score = graded(server)

    assert isinstance(score, Score)
    assert score.score == 0.9
    assert [reply.text for reply in score.evidence.judge_calls[0].replies] == [
        '{"score":"very good"}',
        '{"score":0.9}',
    ]


def test_a_model_without_structured_output_gets_the_schema_in_its_prompt() -> None:
    """The first refusal is remembered, so that it costs one request and no more."""
    with ModelServer(refuses=["response_format"]) as server:
        outcomes = [graded(server) for _ in range(3)]

    assert all(outcome.ok for outcome in outcomes)
    assert len(server.calls) == 4


def test_a_processor_can_reject_a_call() -> None:
    """Nothing is sent then."""

    class NothingPrivate:
        def process_input(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
            raise JudgeCallRejected("the answer names a person")

    with ModelServer() as server:
        failure = graded(server, input_processors=[NothingPrivate()])

    assert isinstance(failure, ScoreFailure)
    assert (failure.error_type, failure.message, server.calls) == ("JudgeCallRejected", "the answer names a person", [])


def test_a_score_says_what_its_judge_cost() -> None:
    """Tokens as the provider counts them, US dollars by a price list that comes with the package."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "completion_tokens_details": {"reasoning_tokens": 80}}
    with ModelServer([ModelReply(text='{"score": 1}', usage=usage)]) as server:
        score = graded(server)

    [call] = score.evidence.judge_calls
    assert call.usage == {"input": 1000, "output": 100, "reasoning": 80}
    assert call.cost is not None
    assert 0 < call.cost < 0.01
