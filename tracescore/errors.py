"""The tree of errors.

TracescoreError
├── ConfigurationError    what a user wrote cannot work: raised when it is built
│   └── ScorerError       a scorer's definition
├── InputError            a file or request that cannot be read
├── StoreError
│   └── StoreUnavailable  full, locked or down: try again later
└── JudgeError            a judge call that gave no usable value
    ├── JudgeReplyError       a reply that is not the schema, cut off or refused
    ├── JudgeTransientError   429, 5xx, connection: may succeed later
    └── JudgeRefused          401, unknown model, no credit: will not succeed soon
"""

from __future__ import annotations


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
    """A judge call that gave no usable value; ``raw_reply`` is kept where there was one."""

    def __init__(self, message: str, *, raw_reply: str | None = None) -> None:
        super().__init__(message)
        self.raw_reply = raw_reply


class JudgeReplyError(JudgeError):
    """A reply that is not the schema, was cut off by length, or is a refusal."""


class JudgeTransientError(JudgeError):
    """A rate limit, a server error or a lost connection."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class JudgeRefused(JudgeError):
    """A provider that refuses the key, the model or the account."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
