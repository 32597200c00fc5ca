"""The three seams around a judge call: on the messages, on the raw reply, on a provider's error."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

T = TypeVar("T")

MaybeAwaitable: TypeAlias = Awaitable[T] | T
ChatMessages: TypeAlias = Sequence[Mapping[str, Any]]

DEFAULT_PROCESSOR_RETRIES = 10
"""How often error processors may retry one judge call where ``max_processor_retries`` is not given."""


@runtime_checkable
class InputProcessor(Protocol):
    """Sees the messages before they are redacted and sent; ``def`` or ``async def``.

    Raise ``JudgeCallRejected`` to reject the call: nothing is sent, and the step fails.
    """

    def process_input(self, messages: ChatMessages, /) -> MaybeAwaitable[ChatMessages]:
        """Give the messages ``{"role", "content"}`` that are to be sent."""
        ...


@runtime_checkable
class OutputProcessor(Protocol):
    """Sees the raw text of a reply before it is read; ``def`` or ``async def``.

    The evidence keeps the text as it came. Raise ``JudgeCallRejected`` to reject the reply: it is not asked for again.
    """

    def process_output(self, text: str, /) -> MaybeAwaitable[str]:
        """Give the text that is to be read."""
        ...


@runtime_checkable
class ErrorProcessor(Protocol):
    """Decides whether a request that a provider answered with an error is made again; ``def`` or ``async def``."""

    def process_api_error(self, error: BaseException, *, retry_count: int) -> MaybeAwaitable[bool | None]:
        """Give True to make the request again, after whatever was waited for here.

        ``error`` is a ``JudgeError`` of ours, its cause the client's own; ``retry_count`` counts the retries of this
        judge call so far, from 0. One that raises anything but ``JudgeCallRejected`` is passed over.
        """
        ...


async def settled(value: MaybeAwaitable[T]) -> T:
    """Await what a processor gave, where it is to be awaited."""
    if hasattr(type(value), "__await__"):
        result: T = await value  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
        return result
    return value  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
