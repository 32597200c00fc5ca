"""What a reply cost, beside the price list's own sums."""

from __future__ import annotations

import pytest
from genai_prices import Usage, calc_price

from tracescore.judge import cost_of


@pytest.mark.parametrize(
    ("asked", "answered", "priced"),
    [
        ("openai/gpt-5-mini", "gpt-5-mini-2025-08-07", ("openai", "gpt-5-mini")),
        ("openai/gpt-5-mini", None, ("openai", "gpt-5-mini")),
        ("openai/gpt-5-mini", "gateway-name", ("openai", "gpt-5-mini")),  # what answered is unknown: what was asked
        ("anthropic/claude-sonnet-4-5", None, ("anthropic", "claude-sonnet-4-5")),
        ("xai/grok-4", None, ("x-ai", "grok-4")),
        ("gpt-5-mini", None, (None, "gpt-5-mini")),
        ("google/gemini-2.5-pro", None, ("google", "gemini-2.5-pro")),  # its price has steps
    ],
)
@pytest.mark.parametrize("counts", [(1000, 100, 0), (1000, 100, 400), (300_000, 1000, 0), (0, 0, 0)])
def test_a_cost_is_the_price_lists(
    asked: str, answered: str | None, priced: tuple[str | None, str], counts: tuple[int, int, int]
) -> None:
    usage = {"input": counts[0], "output": counts[1], "cache_read": counts[2]}
    listed = calc_price(
        Usage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2]),
        priced[1],
        provider_id=priced[0],
    )

    cost = cost_of(usage, asked=asked, answered=answered)

    assert cost == pytest.approx(float(listed.total_price))  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(
    ("usage", "asked"),
    [
        ({"input": 1, "output": 1}, "fake-judge"),
        ({"input": 1, "output": 1}, "openai/no-such-model"),
        ({"input": 1, "output": 1}, "ollama/qwen3"),
        ({}, "openai/gpt-5-mini"),
    ],
)
def test_what_is_not_known_has_no_cost(usage: dict[str, int], asked: str) -> None:
    assert cost_of(usage, asked=asked, answered=None) is None
