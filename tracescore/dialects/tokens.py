"""Token counts inside one object, in the words of any provider."""

from __future__ import annotations

from typing import Any, NamedTuple

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.values import count_at

_DETAILS = (
    (
        "prompt_tokens_details",
        "input_tokens_details",
        "inputTokenDetails",
        "input_token_details",
        "promptTokensDetails",
    ),
    (
        "completion_tokens_details",
        "output_tokens_details",
        "outputTokenDetails",
        "output_token_details",
        "completionTokensDetails",
    ),
)


class Tokens(NamedTuple):
    """What a call used; cached and reasoning tokens are parts of input and output."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


def tokens_of(value: Any) -> Tokens:
    """Read an object of counts, also out of JSON text; nothing where it is none."""
    usage = parse(value).value if isinstance(value, str) else value
    if not is_object(usage):
        return Tokens()
    given, answered = (
        next((usage[key] for key in keys if is_object(usage.get(key))), dict[str, Any]()) for keys in _DETAILS
    )
    cached = (
        *("cache_read_input_tokens", "cached_input_tokens", "cachedInputTokens", "cachedContentTokens"),
        *("cacheReadInputTokens", "cachedPromptTokens", "cachedContentTokenCount"),
    )
    written = (
        *("cache_creation_input_tokens", "cache_write_input_tokens", "cache_write_tokens"),
        *("cacheCreationInputTokens", "cacheWriteInputTokens"),
    )
    read = count_at(usage, *cached, "cache_read_tokens", "input_cached_tokens", "input_cache_read")
    if read is None:
        read = count_at(given, "cached_tokens", "cache_read", "cacheReadTokens", "cachedTokens", "cacheRead")
    write = count_at(usage, *written, "cache_creation_tokens", "input_cache_creation")
    if write is None:
        write = count_at(given, "cache_write_tokens", "cache_creation", "cacheWriteTokens", "cacheCreation")
    thought = ("thoughtsTokens", "thoughtsTokenCount", "output_reasoning_tokens")
    reasoning = count_at(usage, "reasoning_tokens", "reasoningTokens", *thought)
    if reasoning is None:
        reasoning = count_at(answered, "reasoning_tokens", "reasoning", "reasoningTokens")
    if "candidates_token_count" in usage or "candidatesTokenCount" in usage:
        return _gemini(usage)
    if "input" in usage and "output" in usage:
        return _parted(usage, read, write)
    return Tokens(
        count_at(usage, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input"),
        count_at(usage, "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output"),
        read,
        write,
        reasoning,
    )


def _gemini(usage: dict[str, Any]) -> Tokens:
    """Read Gemini's counts: what it thought is no part of its candidates, where the total says so."""
    given = count_at(usage, "prompt_token_count", "promptTokenCount")
    answered = count_at(usage, "candidates_token_count", "candidatesTokenCount")
    thought = count_at(usage, "thoughts_token_count", "thoughtsTokenCount")
    total = count_at(usage, "total_token_count", "totalTokenCount")
    if None not in (given, answered, thought, total) and total == (given or 0) + (answered or 0) + (thought or 0):
        answered = (answered or 0) + (thought or 0)
    cached = count_at(usage, "cached_content_token_count", "cachedContentTokenCount")
    return Tokens(given, answered, cached, None, thought)


def either(*counts: int | None) -> int | None:
    """Give the first count that is stated."""
    return next((count for count in counts if count is not None), None)


def _parted(usage: dict[str, Any], read: int | None, write: int | None) -> Tokens:
    """Read counts that leave each other out, where their sum says so: ``input`` beside ``input_cache_read``."""
    sides: dict[str, int] = {}
    for side in ("input", "output"):
        counts = [
            count for key in usage if key == side or key.startswith(f"{side}_") for count in [count_at(usage, key)]
        ]
        sides[side] = sum(count for count in counts if count is not None)
    whole = count_at(usage, "total") == sides["input"] + sides["output"]
    reasoning = count_at(usage, "output_reasoning", "output_reasoning_tokens")
    given, answered = count_at(usage, "input"), count_at(usage, "output")
    return Tokens(
        sides["input"] if whole and given is not None else given,
        sides["output"] if whole and answered is not None else answered,
        read,
        write,
        reasoning,
    )
