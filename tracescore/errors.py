"""The tree of errors.

TracescoreError
├── ConfigurationError    what a user wrote cannot work: raised when it is built
│   └── ScorerError       a scorer's definition
├── InputError            a file or request that cannot be read
├── StoreError
│   └── StoreUnavailable  full, locked or down: try again later
└── JudgeError            a judge call that gave no usable value
    ├── JudgeReplyError       a reply that is not JSON, or not the schema
    │   ├── JudgeReplyNotFinite  NaN, infinity, or a number that overflows
    │   ├── JudgeReplyTruncated  JSON or a thought that nothing closes
    │   ├── JudgeReplyCutOff     finish reason "length"
    │   └── JudgeReplyRefusal    the judge, or its provider's filter, refuses to answer
    ├── JudgeTransientError   429, 5xx, connection: may succeed later
    ├── JudgeRefused          401, unknown model, no credit: will not succeed soon
    ├── JudgeSettingRefused   one setting of the request, clearly refused by the model
    ├── JudgeCallRejected     a processor of the user's own rejects the call
    └── RedactionFailed       the redactor raised: nothing was sent
"""

from __future__ import annotations

from typing import ClassVar


class TracescoreError(Exception):
    """Any error of tracescore's own."""


class ConfigurationError(TracescoreError):
    """What a user wrote cannot work."""


class ScorerError(ConfigurationError):
    """A scorer's definition cannot work; the message names the scorer."""


class InputError(TracescoreError):
    """A file or a request that cannot be read."""


class StoreError(TracescoreError):
    """The store cannot do what was asked."""


class StoreUnavailable(StoreError):
    """The store is full, locked or down; nothing was acknowledged."""

    def __init__(self, message: str, *, retry_after: float = 5.0, full: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.full = full


class JudgeError(TracescoreError):
    """A judge call that gave no usable value.

    ``raw_reply`` is kept where there was one, ``status`` and ``code`` where a provider gave them.
    """

    def __init__(
        self, message: str, *, raw_reply: str | None = None, status: int | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.raw_reply = raw_reply
        self.status = status
        self.code = code


class JudgeReplyError(JudgeError):
    """A reply that is not JSON, not the schema, or no chat completion at all."""

    asks_again: ClassVar[bool] = True
    """Whether the judge is told what is wrong and asked once more."""


class JudgeReplyNotFinite(JudgeReplyError):
    """A reply with NaN, infinity, or a number that overflows."""


class JudgeReplyTruncated(JudgeReplyError):
    """A reply whose JSON, or whose thought, nothing closes."""

    asks_again = False


class JudgeReplyCutOff(JudgeReplyError):
    """A reply that ended because it reached the limit of its length."""

    asks_again = False


class JudgeReplyRefusal(JudgeReplyError):
    """The judge, or its provider's content filter, refuses to answer."""

    asks_again = False


class JudgeTransientError(JudgeError):
    """A rate limit, a server error or a lost connection; ``retry_after`` in seconds, where the provider says it."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.retry_after = retry_after


class JudgeRefused(JudgeError):
    """A provider that refuses the key, the model or the account."""


class JudgeSettingRefused(JudgeError):
    """A model that clearly refuses one setting.

    ``setting`` is our name of it (``"response_format"`` for the schema), ``sent_as`` the endpoint's. ``value_only``
    says that another value would do.
    """

    def __init__(
        self,
        message: str,
        *,
        setting: str,
        sent_as: str | None = None,
        value_only: bool = False,
        status: int | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.setting = setting
        self.sent_as = sent_as or setting
        self.value_only = value_only


class JudgeCallRejected(JudgeError):
    """A processor rejects the call; it is never retried. Raise it in a processor of your own."""


class RedactionError(TracescoreError):
    """A rule could not say what must not pass, so nothing passes. The text that it failed on is never named."""


class RedactionFailed(JudgeError, RedactionError):
    """The redactor raised: the call stopped, and nothing was sent."""
