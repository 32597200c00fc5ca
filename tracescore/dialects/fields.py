"""Fields of a reading that stand under fixed names of attributes, all found in one pass over a span's attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tracescore.dialects.values import Attributes, count_of, number_of, text_of
from tracescore.model import JSONValue

Names: TypeAlias = Mapping[str, Sequence[str]]
"""By field: the attributes that may hold it, the first that says something wins."""


class Fields:
    """What a dialect reads as it stands.

    A dialect knows some fifty names and a span has a dozen: it is the span's that are gone through.
    """

    def __init__(
        self, *, texts: Names | None = None, counts: Names | None = None, numbers: Names | None = None
    ) -> None:
        self._known: dict[str, list[tuple[str, int, Callable[[Any], JSONValue]]]] = {}
        for names, read in ((texts, text_of), (counts, count_of), (numbers, number_of)):
            for field, keys in (names or {}).items():
                for rank, key in enumerate(keys):
                    self._known.setdefault(key, []).append((field, rank, read))

    def read(self, attributes: Attributes) -> dict[str, Any]:
        """Give the fields that the attributes state."""
        known = self._known
        found: dict[str, Any] = {}
        ranks: dict[str, int] = {}
        for key in attributes:
            if key in known:
                value = attributes[key]
                for field, rank, read in known[key]:
                    if field in ranks and ranks[field] < rank:
                        continue
                    said = read(value)
                    if said is not None:
                        found[field] = said
                        ranks[field] = rank
        return found
