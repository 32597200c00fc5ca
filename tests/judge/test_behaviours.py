"""Each thing that a provider does: the right score or the right failure, and the requests that it takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge.judging import Serve, call_of, judge_at, scored
from tracescore import Score, ScoreFailure
from tracescore.judge import StreamErrorRetryProcessor
from tracescore.testing import ModelReply

GOOD = {"score": 0.5}
TWICE = {"error_processors": [StreamErrorRetryProcessor(max_retries=2)]}


@pytest.mark.parametrize(
    ("replies", "options", "requests"),
    [
        ([GOOD], {}, 1),
        ([ModelReply.fenced(GOOD)], {}, 1),
        ([ModelReply.thinking(GOOD)], {}, 1),
        ([ModelReply.in_prose(GOOD)], {"json_prompt_injection": "inline"}, 1),
        ([ModelReply.in_prose(GOOD), GOOD], {"json_prompt_injection": False}, 2),
        ([ModelReply.in_prose(GOOD), ModelReply.in_prose(GOOD)], {}, 2),  # native ignored, then followed in words
        ([ModelReply.wrong_schema(), GOOD], {}, 2),
        (["no JSON at all", GOOD], {}, 2),
        (['{"score": NaN}', GOOD], {}, 2),
        (["", GOOD], {}, 2),
        ([ModelReply.refused_parameter("temperature"), GOOD], {"temperature": 0}, 2),
        ([ModelReply.rate_limited(), ModelReply.server_error(), GOOD], TWICE, 3),
        ([ModelReply.reset(), GOOD], TWICE, 2),
        ([ModelReply.rate_limited(), ModelReply.wrong_schema(), ModelReply.server_error(503), GOOD], TWICE, 4),
    ],
)
def test_a_score_and_how_many_requests_it_took(
    serve: Serve, replies: list[Any], options: dict[str, Any], requests: int
) -> None:
    server = serve(replies)

    outcome = scored(judge_at(server, **options))

    assert isinstance(outcome, Score)
    assert (outcome.score, len(server.calls), call_of(outcome).attempts) == (0.5, requests, requests)


CUT = '{"score": 0.5'


@pytest.mark.parametrize(
    ("replies", "options", "requests", "error_type", "words", "raw"),
    [
        ([ModelReply.truncated(GOOD)], {}, 1, "JudgeReplyCutOff", "cut off by length", '{"score":0.5'),
        ([ModelReply(text='{"score": 0.5}', finish_reason="length")], {}, 1, "JudgeReplyCutOff", "cut off", None),
        ([ModelReply(text=CUT)], {}, 1, "JudgeReplyTruncated", "nothing closes its object", CUT),
        (["<think>Well"], {}, 1, "JudgeReplyTruncated", "a thought that nothing closes", "<think>Well"),
        ([ModelReply.refused("No.")], {}, 1, "JudgeReplyRefusal", "the judge refused: No.", None),
        ([ModelReply(text="", finish_reason="content_filter")], {}, 1, "JudgeReplyRefusal", "content filter", ""),
        (['{"score": NaN}'] * 2, {}, 2, "JudgeReplyNotFinite", "not finite", '{"score": NaN}'),
        (['{"score": 1e999}'] * 2, {}, 2, "JudgeReplyNotFinite", "not finite", '{"score": 1e999}'),
        (['{"score": "high"}'] * 2, {}, 2, "JudgeReplyError", "score: 'high' is not of type 'number'", None),
        (['{"score": 1.5}'] * 2, {}, 2, "JudgeReplyError", "1.5 is greater than the maximum of 1.0", None),
        (["0.5"] * 2, {}, 2, "JudgeReplyError", "is not of type 'object'", "0.5"),
        ([" "] * 2, {}, 2, "JudgeReplyError", "the reply is empty", " "),
        ([ModelReply(body=b"<html>")], {}, 1, "JudgeReplyError", "the endpoint's answer is not JSON", "<html>"),
        ([ModelReply.rate_limited()] * 9, {}, 1, "JudgeTransientError", "HTTP 429", None),
        ([ModelReply.rate_limited()] * 9, TWICE, 3, "JudgeTransientError", "HTTP 429", None),
        ([ModelReply.rate_limited()] * 9, {**TWICE, "max_processor_retries": 1}, 2, "JudgeTransientError", "429", None),
        ([ModelReply.rate_limited()] * 9, {**TWICE, "max_processor_retries": 0}, 1, "JudgeTransientError", "429", None),
        (
            [ModelReply.rate_limited(), ModelReply.server_error(), ModelReply.server_error(503)],
            TWICE,
            3,
            "JudgeTransientError",
            "HTTP 503",  # the last error, not the first
            None,
        ),
        ([ModelReply.server_error()], {}, 1, "JudgeTransientError", "HTTP 500", None),
        (
            [ModelReply(body=b'{"error": {"code": 502, "message": "upstream"}}')] * 9,
            TWICE,
            3,
            "JudgeTransientError",
            "502: upstream",
            None,
        ),
        ([ModelReply.hang()], {"timeout": 0.05}, 1, "JudgeTransientError", "no answer within the timeout", None),
        ([ModelReply.hang()] * 9, {"timeout": 0.05, **TWICE}, 3, "JudgeTransientError", "within the timeout", None),
        ([ModelReply.reset()], {}, 1, "JudgeTransientError", "the connection was lost", None),
        ([ModelReply(status=401)], TWICE, 1, "JudgeRefused", "HTTP 401", None),
        ([ModelReply(status=429, error_code="insufficient_quota")], TWICE, 1, "JudgeRefused", "HTTP 429", None),
        ([ModelReply(status=400, text="context too long")], TWICE, 1, "JudgeError", "context too long", None),
        ([ModelReply(status=307, headers={"location": "http://x/"})], {}, 1, "JudgeError", "HTTP 307", None),
        # A re-ask is for replies: a provider's error never leads to one, and the error of a re-ask is seen.
        ([ModelReply.wrong_schema(), ModelReply(status=401)], {}, 2, "JudgeRefused", "HTTP 401", None),
        ([ModelReply.wrong_schema(), ModelReply.truncated(GOOD)], {}, 2, "JudgeReplyCutOff", "cut off", None),
        # Retries before the re-ask and after it come out of one budget.
        (
            [ModelReply.rate_limited(), ModelReply.wrong_schema(), *[ModelReply.rate_limited()] * 9],
            TWICE,
            4,
            "JudgeTransientError",
            "HTTP 429",
            None,
        ),
    ],
)
def test_a_failure_and_how_many_requests_it_took(
    serve: Serve,
    replies: list[Any],
    options: dict[str, Any],
    requests: int,
    error_type: str,
    words: str,
    raw: str | None,
) -> None:
    server = serve(replies)

    failure = scored(judge_at(server, **options))

    assert isinstance(failure, ScoreFailure)
    call = call_of(failure)
    assert (failure.error_type, failure.failed_step) == (error_type, "generate_score")
    assert words in (call.error or "")
    assert raw is None or call.raw_reply == raw
    assert (len(server.calls), call.attempts) == (requests, requests)
    assert failure.transient == (error_type == "JudgeTransientError")


def test_a_re_ask_says_what_was_wrong_and_the_evidence_keeps_both_replies(serve: Serve) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    server = serve(
        [ModelReply(text='{"score": 7}', usage=usage), ModelReply(text='{"score": 0.7}', usage=usage, headers={})]
    )

    outcome = scored(judge_at(server))

    said = server.calls[1].body["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
    assert said[2]["content"] == '{"score": 7}'
    assert "score: 7 is greater than the maximum of 1.0" in said[3]["content"]
    call = call_of(outcome)
    assert [(reply.text, reply.problem is None) for reply in call.replies] == [
        ('{"score": 7}', False),
        ('{"score": 0.7}', True),
    ]
    assert (call.raw_reply, call.request_id, call.parsed) == ('{"score": 0.7}', "req-1", {"score": 0.7})
    assert call.usage == {"input": 200, "output": 20, "cache_read": 80}
    assert call.cost == pytest.approx((120 * 0.25 + 80 * 0.025 + 20 * 2) / 1e6)  # pyright: ignore[reportUnknownMemberType]
    assert call.messages == tuple(said)
    assert call.duration_ms > 0
