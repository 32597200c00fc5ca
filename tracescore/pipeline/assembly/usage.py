"""Tokens and cost of a run's own model calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracescore.dialects import Reading
from tracescore.model import Usage
from tracescore.pipeline.assembly.invocations import Invocation
from tracescore.pipeline.assembly.tree import Node

_NOTHING = (None,) * 5


def usage_of(invocation: Invocation) -> Usage:
    """Sum the tokens of the calls; what spans around them state only where no call states any."""
    counted = [counts_of(call.reading) for call in (*invocation.calls, *invocation.inner_calls)]
    if not _any(counted):
        counted = [counts_of(node.reading) for node in invocation.records[:1] or (invocation.node,)]
    if not _any(counted):
        # Model calls beneath a run that has none are copies of another run's, and counted there.
        has_calls = bool(invocation.calls or invocation.inner_calls)
        stating = [node for node in _stating(invocation.node) if has_calls or node.role != "llm"]
        counted = [counts_of(node.reading) for node in stating] or counted
    given, answered, read, written, reasoned = [_sum(column) for column in zip(*counted, strict=True)]
    return Usage(input=given, output=answered, cache_read=read, cache_write=written, reasoning=reasoned)


def usage_of_call(reading: Reading) -> Usage:
    """Give the tokens of one call."""
    given, answered, read, written, reasoned = counts_of(reading)
    return Usage(input=given, output=answered, cache_read=read, cache_write=written, reasoning=reasoned)


def cost_of(invocation: Invocation) -> float | None:
    """Sum the cost of the calls, where any is recorded."""
    costs = [call.reading.cost for call in (*invocation.calls, *invocation.inner_calls)]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else invocation.node.reading.cost


def counts_of(reading: Reading) -> tuple[int | None, ...]:
    """Give the tokens of one call: given, answered, read from a cache, written to it, spent on reasoning."""
    given, read, written = reading.input_tokens, reading.cache_read_tokens, reading.cache_write_tokens
    cached = (read or 0) + (written or 0)
    if given is not None and cached > given:
        # Raw provider counts leave the cache out; everything else includes it.
        given += cached
    return given, reading.output_tokens, read, written, reading.reasoning_tokens


def _any(counted: Sequence[tuple[int | None, ...]]) -> bool:
    return any(counts != _NOTHING for counts in counted)


def _stating(top: Node) -> Iterator[Node]:
    """Give the highest of a run's own spans that state tokens: what is beneath them is in their sums."""
    waiting = list(reversed(top.children))
    while waiting:
        node = waiting.pop()
        if node.agent is not top.agent:
            continue
        if _any([counts_of(node.reading)]):
            yield node
        else:
            waiting += reversed(node.children)


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
