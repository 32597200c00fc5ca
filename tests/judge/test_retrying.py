"""StreamErrorRetryProcessor: what it retries, how often, and how long it waits."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from typing import Any

import httpx2
import openai
import pytest

from tracescore import ConfigurationError, JudgeError, JudgeRefused, JudgeTransientError
from tracescore.bridge import run_sync
from tracescore.judge import RetryAttempt, RetryPolicy, StreamErrorRetryProcessor, is_bad_request_error

REQUEST = httpx2.Request("POST", "http://model")


def retries(error: BaseException, *, retry_count: int = 0, **options: Any) -> bool:
    return run_sync(StreamErrorRetryProcessor(**options).process_api_error(error, retry_count=retry_count))


def waits(monkeypatch: pytest.MonkeyPatch, error: BaseException, *, retry_count: int = 0, **options: Any) -> float:
    """Give the seconds that would be waited before a retry."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with monkeypatch.context() as patched:
        patched.setattr("tracescore.judge.retrying.asyncio.sleep", sleep)
        assert retries(error, retry_count=retry_count, **options)
    return sum(slept)


def status_error(status: int, headers: dict[str, str] | None = None, code: str | None = None) -> openai.APIStatusError:
    response = httpx2.Response(status, headers=headers or {}, request=REQUEST)
    return openai.APIStatusError("no", response=response, body={"code": code} if code else None)


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


class Flagged(Exception):
    def __init__(self, is_retryable: bool | None = None, **fields: Any) -> None:
        super().__init__("flagged")
        self.is_retryable = is_retryable
        vars(self).update(fields)


OWN_CODE = JudgeRefused("no credit", status=429)
CYCLE = Flagged(False)
CYCLE.__cause__ = caused(Flagged(False), CYCLE)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (JudgeTransientError("429"), True),
        (JudgeError("400", status=400), False),
        (JudgeRefused("401", status=401), False),
        (caused(OWN_CODE, status_error(429)), False),  # the quota is used up: no waiting lifts it
        *[(status_error(status), True) for status in (408, 409, 425, 429, 500, 503, 529)],
        *[(status_error(status), False) for status in (400, 401, 403, 404, 422)],
        (openai.APIConnectionError(request=REQUEST), True),
        (Flagged(True), True),
        (Flagged(True, status_code=401), True),  # it says so itself
        (Flagged(False), False),
        (caused(Flagged(False), Flagged(True)), True),  # a nearer no does not hide an inner yes
        (caused(RuntimeError("wrapped"), status_error(503)), True),
        (Flagged(cause=Flagged(True)), True),
        (CYCLE, False),
        (ValueError("mine"), False),
        (Flagged(type="error", error={"code": "rate_limit_exceeded"}), True),
        (Flagged(type="error", error={"type": "server_error"}), True),
        (Flagged(type="error", error={"code": "bad_input", "type": "server_error"}), False),  # the code goes first
        (Flagged(type="error", error={"message": "You can retry your request."}), True),
        (Flagged(type="response.failed", response={"error": {"code": "overloaded"}}), True),
        (Flagged(body={"type": "error", "error": {"code": "timeout"}}), True),
        (Flagged(code="rate_limit_exceeded"), False),  # without its envelope it may be anything
    ],
)
def test_what_may_pass_is_retried(error: BaseException, expected: bool) -> None:
    assert retries(error) == expected


def test_it_retries_once_unless_told_otherwise() -> None:
    error = JudgeTransientError("429")

    assert [retries(error, retry_count=count) for count in range(3)] == [True, False, False]
    assert [retries(error, retry_count=count, max_retries=2) for count in range(3)] == [True, True, False]
    assert not retries(error, max_retries=0)


def is_reset(error: BaseException) -> bool:
    return "ECONNRESET" in str(error)


def is_refused(error: BaseException) -> bool:
    return isinstance(error, JudgeRefused)


def never(error: BaseException) -> bool:
    return False


def doubled(attempt: RetryAttempt) -> float:
    return 2.0**attempt.retry_count


@pytest.mark.parametrize("outer", [RuntimeError("wrapped"), JudgeError("wrapped"), JudgeTransientError("wrapped")])
def test_a_matcher_sees_every_cause_and_goes_before_what_is_built_in(outer: Exception) -> None:
    error = caused(outer, OSError("ECONNRESET"))
    policy = RetryPolicy(match=is_reset, max_retries=3)

    assert retries(error, matchers=[is_reset])
    assert retries(error, retry_count=2, matchers=[never, policy])
    assert not retries(error, retry_count=3, matchers=[policy])
    assert retries(status_error(400), matchers=[is_bad_request_error])
    assert retries(JudgeError("no", status=400), matchers=[is_bad_request_error])


def test_a_matcher_may_match_even_a_refused_key() -> None:
    assert retries(JudgeRefused("401", status=401), matchers=[is_refused])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("mine"), True),
        (status_error(400), True),
        (status_error(401), False),
        (status_error(403), False),
        (status_error(400, code="invalid_api_key"), False),
        (caused(ValueError("wrapped"), status_error(401)), False),
        (JudgeRefused("there is no key"), False),
        (Flagged(type=" Permission_Denied "), False),
        (Flagged(error={"error": {"type": "authentication_error"}}), False),
        (Flagged(data={"code": "forbidden"}), False),
        (Flagged(response_body='{"error": {"code": "access_denied"}}'), False),
        (Flagged(response_body="not JSON"), True),
        (Flagged(True, status=401), True),
    ],
)
def test_unknown_errors_are_retried_where_that_is_wanted_but_no_refused_key(
    error: BaseException, expected: bool
) -> None:
    assert retries(error, retry_unknown_errors=True) == expected


def http_date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "12.5", "retry-after": "9"}, 0.0125),
        ({"retry-after": "60"}, 30),  # capped
        ({"retry-after": http_date(3600)}, 30),
        ({"retry-after": http_date(-3600)}, 0),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, 0),
        ({}, 0),
    ],
)
def test_a_providers_wait_is_kept_up_to_its_cap(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], expected: float
) -> None:
    assert waits(monkeypatch, caused(RuntimeError("wrapped"), status_error(429, headers))) == expected


def test_the_wait_that_our_own_errors_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    error = JudgeTransientError("429", retry_after=7)

    assert waits(monkeypatch, error) == 7
    assert waits(monkeypatch, error, max_retry_after=2) == 2
    assert waits(monkeypatch, error, max_retry_after=0) == 0
    assert waits(monkeypatch, error, max_retry_after=0, delay=1) == 1
    assert waits(monkeypatch, JudgeTransientError("429", retry_after=7200), max_retry_after=math.inf) == 7200
    assert waits(monkeypatch, Flagged(True, response_headers={"RETRY-AFTER": 3})) == 3


def test_a_delay_is_seconds_or_a_function_and_the_longer_wait_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def later(attempt: RetryAttempt) -> float:
        await asyncio.sleep(0)
        return 4.0

    error = JudgeTransientError("429", retry_after=3)

    assert waits(monkeypatch, error, delay=1.5) == 3
    assert waits(monkeypatch, error, delay=5) == 5
    assert waits(monkeypatch, error, delay=later) == 4
    assert waits(monkeypatch, error, retry_count=4, max_retries=9, delay=doubled) == 16
    for nothing in (math.nan, -1.0, math.inf):

        def none(attempt: RetryAttempt, seconds: float = nothing) -> float:
            return seconds

        assert waits(monkeypatch, error, delay=none) == 3


def test_a_policy_has_a_delay_and_a_say_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[RetryAttempt] = []

    async def tell(attempt: RetryAttempt) -> None:
        told.append(attempt)

    error = OSError("ECONNRESET")
    policies = [RetryPolicy(match=is_reset, delay=2, on_retry=tell), RetryPolicy(match=is_reset, on_retry=told.append)]
    for policy in policies:
        assert waits(monkeypatch, error, delay=1, matchers=[policy]) == (2 if policy.delay else 1)

    assert told == [
        RetryAttempt(error=error, retry_count=0, delay=2.0),
        RetryAttempt(error=error, retry_count=0, delay=1.0),
    ]


async def match_later(error: BaseException) -> bool:
    return True


@pytest.mark.parametrize(
    "options",
    [
        {"max_retries": -1},
        {"delay": -1},
        {"delay": math.inf},
        {"max_retry_after": -1},
        {"max_retry_after": math.nan},
        {"matchers": ["ECONNRESET"]},
        {"matchers": [match_later]},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        StreamErrorRetryProcessor(**options)


@pytest.mark.parametrize("options", [{"match": match_later}, {"max_retries": -1}, {"delay": -1}])
def test_policies_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"match": is_reset, **options}

    with pytest.raises(ConfigurationError):
        RetryPolicy(**given)


def test_it_says_what_it_does() -> None:
    plain, other = (
        StreamErrorRetryProcessor(),
        StreamErrorRetryProcessor(max_retries=3, retry_unknown_errors=True, max_retry_after=math.inf),
    )

    assert plain.describe() == "StreamErrorRetryProcessor: 1 retry of what may pass, Retry-After up to 30 s"
    assert other.describe() == (
        "StreamErrorRetryProcessor: 3 retries of anything but a refused key, Retry-After uncapped"
    )
