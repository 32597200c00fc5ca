"""Agents as anything that can be called, and what they may answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from typing_extensions import TypedDict

from tracescore.errors import InputError
from tracescore.model import AgentRun, Message, Role, ScorerRun, text_message
from tracescore.scorers.intake import UnsuitableRun, take_agent_run


class ChatMessage(TypedDict):
    """A message in the form that chat endpoints take."""

    role: Role
    content: str


AgentReply: TypeAlias = str | Message | Mapping[str, Any] | Sequence[Message | Mapping[str, Any]] | ScorerRun[Any, Any]
"""Text, messages (our own, or dicts with ``role`` and ``content``), or a run: its output and contexts count."""
Piece: TypeAlias = str | Message | Mapping[str, Any]
AgentStream: TypeAlias = Iterator[Piece] | AsyncIterator[Piece]
"""Pieces of text, which are joined to one message, and whole messages."""
Agent: TypeAlias = Callable[[list[ChatMessage]], AgentReply | AgentStream | Awaitable[AgentReply | AgentStream]]
"""What is given the conversation so far and does the next part of the work."""


async def reply_of(agent: Agent, messages: Sequence[Message]) -> AgentRun:
    """Call an agent and give what it produced as a run; a plain ``def`` is called in a thread.

    Raises:
        InputError: it gave neither text nor messages.
    """
    given: list[ChatMessage] = [
        {"role": message.role, "content": message.content} for message in messages if message.content
    ]
    call: Any = agent
    if _is_async(call):
        reply = call(given)
    else:
        reply = await asyncio.to_thread(_called, call, given)
    if hasattr(type(reply), "__await__"):
        reply = await reply
    if hasattr(type(reply), "__aiter__"):
        reply = _joined([piece async for piece in reply])
    elif hasattr(type(reply), "__next__"):
        reply = _joined(await asyncio.to_thread(list, reply))
    if reply is None:
        raise InputError("the agent gave None: return its answer as text or messages")
    try:
        return take_agent_run(reply if isinstance(reply, ScorerRun) else ScorerRun(output=reply))
    except UnsuitableRun:
        raise InputError(f"the agent gave neither text nor messages: {reply!r:.200}") from None


def _is_async(agent: Any) -> bool:
    while hasattr(agent, "func"):  # functools.partial
        agent = agent.func
    call = getattr(type(agent), "__call__", None)  # noqa: B004  # the function itself is wanted
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (agent, call))


def _called(agent: Callable[[list[ChatMessage]], Any], messages: list[ChatMessage]) -> Any:
    try:
        return agent(messages)
    except StopIteration as error:  # a future cannot carry it: the loop would wait for ever
        raise RuntimeError("the agent raised StopIteration") from error


def _joined(pieces: Sequence[Any]) -> list[Any]:
    """Give a stream's messages: texts in a row are one message."""
    messages: list[Any] = []
    text: list[str] = []
    for piece in [*pieces, None]:
        if isinstance(piece, str):
            text.append(piece)
            continue
        if text:
            messages.append(text_message("assistant", "".join(text)))
            text = []
        if piece is not None:
            messages.append(piece)
    return messages
