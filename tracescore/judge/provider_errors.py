"""What a provider's error means: try later, do not try again, or this request alone is at fault."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import openai

from tracescore.errors import JudgeError, JudgeRefused, JudgeTransientError

_REFUSED = {401, 402, 403, 404}
_TRANSIENT = {408, 409, 425, 429}
# A rate limit that no waiting lifts: the account has no credit.
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_MESSAGE_LIMIT = 1000


def as_judge_error(error: openai.OpenAIError, *, model: str, secret: str = "") -> JudgeError:
    """Give the error of ours that an error of the OpenAI client stands for; the key never stands in its text."""
    text = f"{error!s:.{_MESSAGE_LIMIT}}"
    if secret:
        text = text.replace(secret, "***")
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        message = f"judge model {model!r}: {text}"
        if status in _REFUSED or error.code in _NO_CREDIT or error.type in _NO_CREDIT:
            return JudgeRefused(message, status=status)
        if status in _TRANSIENT or status >= 500:
            return JudgeTransientError(message, status=status, retry_after=retry_after(error.response.headers))
        return JudgeError(message)
    if isinstance(error, openai.APIConnectionError):
        return JudgeTransientError(f"judge model {model!r}: {_connection_words(error)}")
    return JudgeError(f"judge model {model!r}: {text}")


def _connection_words(error: openai.APIConnectionError) -> str:
    """Say why there was no answer: the client calls whatever kept it from connecting a timeout."""
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
        if isinstance(cause, OSError) and not isinstance(cause, TimeoutError):
            return f"cannot connect: {cause!s:.{_MESSAGE_LIMIT}}"
    if isinstance(error, openai.APITimeoutError):
        return "no answer within the timeout"
    return f"{type(cause).__name__}: {cause!s:.{_MESSAGE_LIMIT}}"


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Give the seconds that a provider asks to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * factor
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time()
            except ValueError:
                continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
