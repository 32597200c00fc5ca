"""Rubrics: what a user writes as one, and the criteria that it amounts to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from tracescore.errors import ConfigurationError
from tracescore.model import ScorerRun

KEY = "rubric"
"""What a run's rubric is called in its contexts and its input."""
NAME_LIMIT = 100
_FIELDS = ("description", "id", "required", "weight")
# Only before a space: "-5 degrees", "3.5 stars" and "**bold**" begin with no list marker.
_MARKER = re.compile(r"\s*(?:[-*•]|\d+[.)])(?:\s+|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class RubricCriterion:
    """One thing that the output must have, or should have where ``required`` is False.

    ``id`` names its sub-score; unless given that is the description. ``weight`` counts where the scorer is ``graded``.

    Example:
        >>> RubricCriterion(description="Includes citations", required=False).required
        False
    """

    description: str
    id: str | None = None
    required: bool = True
    weight: float = 1.0

    def __post_init__(self) -> None:
        where = f"rubric criterion {self.description!r:.80}"
        if not isinstance(self.description, str) or not self.description.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{where}: its description must be text that says something")
        if self.id is not None and (not isinstance(self.id, str) or not self.id.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{where}: its id must be text, not {self.id!r:.80}")
        if not isinstance(self.required, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{where}: required must be True or False, not {self.required!r:.80}")
        if isinstance(self.weight, bool) or not isinstance(self.weight, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{where}: weight must be a number, not {self.weight!r:.80}")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ConfigurationError(f"{where}: weight must be greater than 0 and finite, not {self.weight!r}")


CriterionLike: TypeAlias = RubricCriterion | Mapping[str, Any] | str
RubricLike: TypeAlias = str | Sequence[CriterionLike]


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberedCriterion:
    """A criterion as it is judged: by an id of ours, which no rubric and no output can choose."""

    id: str
    name: str
    """The name of its sub-score."""
    description: str
    required: bool
    weight: float


def read_rubric(given: Any, where: str) -> tuple[RubricCriterion, ...]:
    """Give the criteria of what a user wrote as a rubric; none for None, a blank text or an empty list.

    Raises:
        ConfigurationError: what is no rubric, named by ``where``: to pass over it would let every run pass.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return tuple(RubricCriterion(description=line) for line in _lines(given))
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise ConfigurationError(f"{where} must be text or a list of criteria, not {type(given).__name__}")
    try:
        criteria = tuple(_criterion(item) for item in given if not (isinstance(item, str) and not item.strip()))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    ids = [criterion.id for criterion in criteria if criterion.id is not None]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"{where}: two criteria have the id {twice!r}")
    return criteria


def rubric_of(run: ScorerRun[Any, Any]) -> tuple[RubricCriterion, ...]:
    """Find a run's own rubric: in its request context, then its additional context, then its input.

    Raises:
        ConfigurationError: what stands there is no rubric.
    """
    for where, given in (
        ("request_context['rubric']", run.request_context.get(KEY)),
        ("additional_context['rubric']", run.additional_context.get(KEY)),
        ("the input's rubric", run.input.get(KEY) if isinstance(run.input, Mapping) else getattr(run.input, KEY, None)),
    ):
        criteria = read_rubric(given, where)
        if criteria:
            return criteria
    return ()


def numbered(criteria: Sequence[RubricCriterion]) -> tuple[NumberedCriterion, ...]:
    """Give criteria their ids and the names of their sub-scores; where none is required, all are."""
    all_required = not any(criterion.required for criterion in criteria)
    names: set[str] = set()
    made: list[NumberedCriterion] = []
    for number, criterion in enumerate(criteria, 1):
        description = criterion.description.strip()
        name = _unused(criterion.id or " ".join(description.split())[:NAME_LIMIT], names)
        names.add(name)
        made.append(
            NumberedCriterion(
                id=f"c{number}",
                name=name,
                description=description,
                required=criterion.required or all_required,
                weight=float(criterion.weight),
            )
        )
    return tuple(made)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        description = _MARKER.sub("", line, count=1).strip() if _MARKER.match(line) else line.strip()
        if description:
            yield description


def _criterion(item: Any) -> RubricCriterion:
    if isinstance(item, RubricCriterion):
        return item
    if isinstance(item, str):
        return RubricCriterion(description=item)
    if not isinstance(item, Mapping):
        raise ConfigurationError(f"a criterion is text or has a description, not {item!r:.80}")
    for name in item:
        if name not in _FIELDS:
            nearest = get_close_matches(str(name), _FIELDS, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else f"; it has {', '.join(_FIELDS)}"
            raise ConfigurationError(f"a criterion has no {name!r}{hint}")
    if "description" not in item:
        raise ConfigurationError(f"a criterion needs a description: {dict(item)!r:.80}")
    return RubricCriterion(**{str(name): value for name, value in item.items()})


def _unused(name: str, names: set[str]) -> str:
    made, number = name, 1
    while made in names:
        number += 1
        made = f"{name} ({number})"
    return made
