"""Fields of a reading that stand under fixed names of attributes, all found in one pass over a span's attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tracescore.dialects.values import Attributes, count_of, number_of, text_of
from tracescore.model import JSONValue

Names: TypeAlias = Mapping[str, Sequence[str]]
"""By field: the attributes that may hold it, the first that says something wins."""
_Read: TypeAlias = Callable[[Any], JSONValue]

_MAX_PLANS = 256
_FEW = 40
"""Attributes of a span of which it is kept in mind what to read."""
_LONGEST = 200


class Fields:
    """What a dialect reads as it stands.

    A dialect knows some fifty names and a span has a dozen: it is the span's that are gone through, and how is kept in
    mind, since spans of one library are all alike.
    """

    def __init__(
        self, *, texts: Names | None = None, counts: Names | None = None, numbers: Names | None = None
    ) -> None:
        self._known: dict[str, list[tuple[str, int, _Read]]] = {}
        self._plans: dict[tuple[str, ...], list[tuple[str, str, _Read]]] = {}
        for names, read in ((texts, text_of), (counts, count_of), (numbers, number_of)):
            for field, keys in (names or {}).items():
                for rank, key in enumerate(keys):
                    self._known.setdefault(key, []).append((field, rank, read))

    def read(self, attributes: Attributes) -> dict[str, Any]:
        """Give the fields that the attributes state."""
        names = tuple(attributes)
        plan = self._plans.get(names)
        if plan is None:
            plan = self._plan(names)
        found: dict[str, Any] = {}
        for field, key, read in plan:
            if field not in found and (said := read(attributes[key])) is not None:
                found[field] = said
        return found

    def _plan(self, names: tuple[str, ...]) -> list[tuple[str, str, _Read]]:
        """Give what to read of a span with these attributes, the best name of each field first."""
        held = [(rank, field, key, read) for key in names for field, rank, read in self._known.get(key, ())]
        plan = [(field, key, read) for _, field, key, read in sorted(held, key=lambda one: one[0])]
        if len(names) <= _FEW and sum(map(len, names)) <= _FEW * _LONGEST:
            if len(self._plans) >= _MAX_PLANS:  # senders choose the names of attributes
                self._plans.clear()
            self._plans[names] = plan
        return plan
