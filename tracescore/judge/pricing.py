"""What a reply cost, by the price list that comes with ``genai-prices``: nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from time import time
from typing import Any

_PRICED_AS = {"xai": "x-ai"}
"""Providers that the price list calls otherwise than we do."""
_WITHOUT_PRICE = frozenset({"ollama"})
_MILLION = 1_000_000
_SECONDS_KEPT = 600
"""Prices have hours and dates of their own."""


@dataclass(frozen=True, slots=True)
class _TokenPrices:
    """US dollars a million tokens, where the three kinds have one price each."""

    input: float
    output: float
    cache_read: float

    def of(self, input: int, output: int, cache_read: int) -> float:
        return ((input - cache_read) * self.input + output * self.output + cache_read * self.cache_read) / _MILLION


def cost_of(usage: Mapping[str, int], *, asked: str, answered: str | None) -> float | None:
    """Give the US dollars of a reply; None where its model has no known price or its usage is not told.

    Args:
        usage: tokens by our names: input (cached ones counted), output, cache_read.
        asked: the model as the judge names it, ``"provider/model"``.
        answered: the model that the endpoint says answered.
    """
    if "input" not in usage or "output" not in usage:
        return None
    provider, slash, model = asked.partition("/")
    if provider in _WITHOUT_PRICE:
        return None
    counts = (usage["input"], usage["output"], min(usage.get("cache_read", 0), usage["input"]))
    for name in dict.fromkeys(name for name in (answered, model if slash else asked) if name):
        prices = _prices(provider if slash else None, name, int(time() // _SECONDS_KEPT))
        if isinstance(prices, _TokenPrices):
            return prices.of(*counts)
        if prices is not None:
            return _calculated(provider if slash else None, name, counts)
    return None


@lru_cache(maxsize=256)
def _prices(provider: str | None, model: str, bucket: int) -> _TokenPrices | str | None:
    """Give a model's prices, ``"steps"`` where they depend on the size of a call, None where there are none.

    Kept, since finding and adding up the prices of one call takes half of what a call may cost in all.
    """
    del bucket
    found = _calculation(provider, model, (0, 0, 0))
    if found is None:
        return None
    price = found.model_price
    input, output = price.input_mtok, price.output_mtok
    cache_read = input if price.cache_read_mtok is None else price.cache_read_mtok
    prices = (input, output, cache_read)
    if price.requests_kcount or not all(isinstance(one, Decimal) for one in prices):
        return "steps"
    return _TokenPrices(*(float(one) for one in prices))


def _calculated(provider: str | None, model: str, counts: tuple[int, int, int]) -> float | None:
    found = _calculation(provider, model, counts)
    return None if found is None else float(found.total_price)


def _calculation(provider: str | None, model: str, counts: tuple[int, int, int]) -> Any:
    # Imported at the first reply: the list takes half a second to load, and code scorers never need it.
    from genai_prices import Usage, calc_price
    from genai_prices.data import providers

    known = {one.id for one in providers}
    wanted = _PRICED_AS.get(provider or "", provider)
    usage = Usage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2])
    try:
        return calc_price(
            usage,
            model,
            provider_id=wanted if wanted in known else None,
            genai_request_timestamp=datetime.now(tz=UTC),
        )
    except (LookupError, ValueError):
        return None
