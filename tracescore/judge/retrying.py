"""Retry a judge's request where its error is a passing one."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tracescore.arguments import FLAG, FUNCTION, a_list, check, number, optional, whole
from tracescore.errors import ConfigurationError, JudgeRefused
from tracescore.judge.causes import chain, is_retryable, is_stream_error, is_terminal, retry_after_of
from tracescore.judge.processors import MaybeAwaitable, settled


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryAttempt:
    """A retry that is about to be made; ``retry_count`` from 0, ``delay`` in seconds."""

    error: BaseException
    retry_count: int
    delay: float = 0.0


ErrorMatcher: TypeAlias = Callable[[BaseException], bool]
RetryDelay: TypeAlias = float | Callable[[RetryAttempt], MaybeAwaitable[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Errors that ``match`` tells, with limits of their own; what is None is the processor's."""

    match: ErrorMatcher
    max_retries: int | None = None
    delay: RetryDelay | None = None
    on_retry: Callable[[RetryAttempt], Awaitable[None] | None] | None = None

    def __post_init__(self) -> None:
        _check_matcher(self.match)
        check("RetryPolicy", {"on_retry": optional(FUNCTION)}, {"on_retry": self.on_retry})
        _check_count("RetryPolicy(max_retries", self.max_retries)
        _check_seconds("RetryPolicy(delay", self.delay)


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamErrorRetryProcessor:
    """An ``ErrorProcessor`` that retries what may pass: 408, 409, 425, 429, 5xx and lost connections.

    An error and its causes are looked at, nearest first. The first that an entry of ``matchers`` tells (a predicate,
    or a ``RetryPolicy`` with limits of its own) is retried by that entry; failed events of a Responses stream are known
    without one. Where no entry matches, an error that says of itself that it may pass is retried. All others only with
    ``retry_unknown_errors``, and even then never a refused key, account or model.

    ``delay`` is in seconds, or a function, sync or async, of the ``RetryAttempt``; what is negative or no finite number
    is none. A provider's Retry-After is waited for where it is longer, up to ``max_retry_after`` seconds; ``math.inf``
    is no cap. The retries count against the judge's ``max_processor_retries`` too.

    Example:
        >>> retry = StreamErrorRetryProcessor(max_retries=2, delay=lambda attempt: min(2.0**attempt.retry_count, 30))
        >>> retry.describe()
        'StreamErrorRetryProcessor: 2 retries of what may pass, Retry-After up to 30 s'
    """

    max_retries: int = 1
    matchers: Sequence[ErrorMatcher | RetryPolicy] = ()
    retry_unknown_errors: bool = False
    delay: RetryDelay = 0.0
    max_retry_after: float = 30.0

    def __post_init__(self) -> None:
        _check_count("StreamErrorRetryProcessor(max_retries", self.max_retries)
        _check_seconds("StreamErrorRetryProcessor(delay", self.delay)
        check("StreamErrorRetryProcessor", _ARGUMENTS, {name: getattr(self, name) for name in _ARGUMENTS})
        for matcher in self.matchers:
            if not isinstance(matcher, RetryPolicy):
                _check_matcher(matcher)

    async def process_api_error(self, error: BaseException, *, retry_count: int) -> bool:
        """Wait and give True where the request is to be made again."""
        policy = self._policy(error)
        if policy is None:
            return False
        limit = self.max_retries if policy.max_retries is None else policy.max_retries
        if retry_count >= limit:
            return False
        asked = retry_after_of(error) or 0.0
        own = await self._delay(policy, RetryAttempt(error=error, retry_count=retry_count))
        seconds = max(own, min(asked, self.max_retry_after))
        if policy.on_retry is not None:
            await settled(policy.on_retry(RetryAttempt(error=error, retry_count=retry_count, delay=seconds)))
        if seconds > 0:
            await asyncio.sleep(seconds)
        return True

    def describe(self) -> str:
        """Say in one line what is retried and how often."""
        what = "anything but a refused key" if self.retry_unknown_errors else "what may pass"
        cap = "uncapped" if math.isinf(self.max_retry_after) else f"up to {self.max_retry_after:g} s"
        times = "1 retry" if self.max_retries == 1 else f"{self.max_retries} retries"
        return f"StreamErrorRetryProcessor: {times} of {what}, Retry-After {cap}"

    def _policy(self, error: BaseException) -> RetryPolicy | None:
        nodes = list(chain(error))
        # What the user wrote goes first, however deep: our own error, the outermost, would match before its cause.
        for node in nodes:
            if is_stream_error(node):
                return _DEFAULT
            for matcher in self.matchers:
                policy = matcher if isinstance(matcher, RetryPolicy) else RetryPolicy(match=matcher)
                if policy.match(node):
                    return policy
        if any(is_retryable(node) for node in _before_refusal(nodes)):
            return _DEFAULT
        return _DEFAULT if self.retry_unknown_errors and not is_terminal(error) else None

    async def _delay(self, policy: RetryPolicy, attempt: RetryAttempt) -> float:
        delay = self.delay if policy.delay is None else policy.delay
        seconds = await settled(delay(attempt)) if callable(delay) else delay
        return seconds if 0 < seconds < math.inf else 0.0


_ARGUMENTS = {
    "matchers": a_list("a list of functions of an error, or of RetryPolicy"),
    "retry_unknown_errors": FLAG,
    "max_retry_after": number("0 seconds or more; math.inf is no cap", lambda seconds: seconds >= 0),
}


def doubling(attempt: RetryAttempt) -> float:
    """Give half a second, then twice as much each time, up to 30; spread, so that not all calls come back at once."""
    return min(0.5 * 2.0**attempt.retry_count, 30.0) * random.uniform(0.5, 1.5)


def _before_refusal(nodes: Sequence[BaseException]) -> Sequence[BaseException]:
    """Give the errors outside of a refusal: a quota that is used up is a 429 inside, and no waiting lifts it."""
    refused = next((number for number, node in enumerate(nodes) if isinstance(node, JudgeRefused)), None)
    return nodes if refused is None else nodes[:refused]


def _check_matcher(matcher: object) -> None:
    if not callable(matcher) or inspect.iscoroutinefunction(matcher):
        raise ConfigurationError(f"a matcher is a plain function of an error or a RetryPolicy, not {matcher!r:.80}")


def _check_count(what: str, count: int | None) -> None:
    if count is not None and not whole().fits(count):
        raise ConfigurationError(f"{what}={count!r:.80}) must be a whole number, 0 or more")


def _check_seconds(what: str, delay: RetryDelay | None) -> None:
    if delay is not None and not callable(delay) and not (number().fits(delay) and delay >= 0):
        raise ConfigurationError(f"{what}={delay!r:.80}) must be a finite number of seconds, 0 or more, or a function")


_DEFAULT = RetryPolicy(match=lambda error: True)
