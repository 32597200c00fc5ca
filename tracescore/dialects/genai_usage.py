"""What the GenAI conventions, in all their versions, say that a call used and cost."""

from __future__ import annotations

from tracescore.dialects.tokens import Tokens, either, tokens_of
from tracescore.dialects.values import Attributes, count_at, number_at

_USAGE = "gen_ai.usage."
_CACHE_READ = tuple(
    f"{_USAGE}{name}"
    for name in (
        "cache_read.input_tokens",
        "cache_read_input_tokens",
        "details.cache_read_tokens",
        "details.cached_tokens",
    )
)
_CACHE_WRITE = tuple(
    f"{_USAGE}{name}"
    for name in (
        "cache_write.input_tokens",
        "cache_creation.input_tokens",
        "cache_creation_input_tokens",
        "details.cache_write_tokens",
    )
)
_REASONING = tuple(
    f"{_USAGE}{name}" for name in ("reasoning.output_tokens", "reasoning_tokens", "details.reasoning_tokens")
)
_COST = (
    *(f"gen_ai.{name}" for name in ("usage.cost", "usage.cost_usd", "usage.total_cost", "cost.total_cost")),
    *("litellm.cost.total", "llm.usage.total_cost", "operation.cost"),
)


def used_of(attributes: Attributes) -> Tokens:
    """Read the tokens under every name that they go by; what is in the provider's raw counts alone, from there."""
    raw = tokens_of(attributes["gen_ai.usage.raw"]) if "gen_ai.usage.raw" in attributes else Tokens()
    return Tokens(
        count_at(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        count_at(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        either(count_at(attributes, *_CACHE_READ), raw.cache_read),
        either(count_at(attributes, *_CACHE_WRITE), raw.cache_write),
        either(count_at(attributes, *_REASONING), raw.reasoning),
    )


def cost_at(attributes: Attributes) -> float | None:
    """Read the cost, which no convention names."""
    return number_at(attributes, *_COST)
