"""What changed between two versions of a scorer, fact by fact."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from tracescore.scorers.described import HIDDEN, Fact


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One fact that is other than it was.

    ``lines`` is a diff: what begins with ``-`` was, what begins with ``+`` is, the rest stands around it. It is empty
    where the difference lies in what is not kept.
    """

    label: str
    lines: tuple[str, ...]


def changes(before: Iterable[Fact], now: Iterable[Fact]) -> list[Change]:
    """Give what changed, in the order of the newer version, then what is gone."""
    was = {fact.label: fact for fact in before}
    is_now = {fact.label: fact for fact in now}
    found = [
        Change(label=label, lines=_lines(was[label].text if label in was else None, fact.text))
        for label, fact in is_now.items()
        if label not in was or was[label].digest != fact.digest
    ]
    return found + [
        Change(label=label, lines=_lines(fact.text, None)) for label, fact in was.items() if label not in is_now
    ]


def _lines(was: str | None, now: str | None) -> tuple[str, ...]:
    if was == now:  # both hidden, or cut before they part
        return (f"  {HIDDEN}",) if was == HIDDEN else ()
    old, new = (was.splitlines() if was is not None else []), (now.splitlines() if now is not None else [])
    diff = difflib.unified_diff(old, new, lineterm="", n=2)
    return tuple(line for line in diff if not line.startswith(("---", "+++", "@@")))
