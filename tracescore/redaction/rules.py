"""One rule of a redaction policy: what it finds, and at which doors it looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias, get_args

from tracescore.arguments import FLAG, FUNCTION, TEXT, a_list, check, optional
from tracescore.errors import ConfigurationError

Door: TypeAlias = Literal["store", "judge", "sink"]
DOORS: tuple[Door, ...] = get_args(Door)
VALUE = "value"
"""The group of a pattern that is replaced where it has one; else the whole match is."""
_ARGUMENTS = {
    "kind": TEXT,
    "pattern": TEXT,
    "hint": optional(TEXT),
    "ignore_case": FLAG,
    "check": optional(FUNCTION),
    "names": optional(TEXT),
    "doors": a_list(f"a list of doors: {', '.join(map(repr, DOORS))}", lambda door: isinstance(door, str)),
    "in_json": FLAG,
}
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactionRule:
    r"""A kind of text that must not pass some doors.

    ``pattern`` is a regular expression, in which ``\w``, ``\d`` and ``\s`` are ASCII's; its group ``value``, if it has
    one, is what the marker ``[kind:…]`` replaces.

    Args:
        hint: a simpler expression that is found wherever the pattern finds something, without looking ahead or behind:
            texts without it are passed in one sweep for all rules. A pattern that does not look around needs none.
        ignore_case: for pattern and hint.
        check: told the text that would be replaced, says whether it is to be.
        names: an expression for names of attributes and arguments: a text under such a name goes whole.
        doors: where the rule holds.
        in_json: pattern and hint find in JSON what they find in the texts inside: without line ends and anchors, and
            with quotes and backslashes as they may be escaped. Otherwise the store's door must read each span.

    Example:
        >>> badge = RedactionRule(kind="badge", pattern="EMP-[0-9]{6}", doors=("store", "judge"), in_json=True)

    Raises:
        ConfigurationError: a kind that is no lower-case word, a pattern that is none or finds an empty text, an unknown
            door.
    """

    kind: str
    pattern: str
    hint: str | None = None
    ignore_case: bool = False
    check: Callable[[str], bool] | None = None
    names: str | None = None
    doors: tuple[Door, ...] = ("judge", "sink")
    in_json: bool = False

    def __post_init__(self) -> None:
        check("RedactionRule", _ARGUMENTS, {name: getattr(self, name) for name in _ARGUMENTS})
        if not _KIND.fullmatch(self.kind):
            raise ConfigurationError(f"RedactionRule(kind={self.kind!r}): give a lower-case word, such as 'badge'")
        for pattern in (self.pattern, self.names, self.hint):
            try:
                empty = pattern is not None and re.compile(pattern).search("")
            except re.error as error:
                raise ConfigurationError(f"RedactionRule(kind={self.kind!r}): {pattern!r}: {error}") from error
            if empty:
                raise ConfigurationError(f"RedactionRule(kind={self.kind!r}): {pattern!r} finds an empty text")
        if isinstance(self.doors, str):
            raise ConfigurationError(f"RedactionRule(kind={self.kind!r}): give a list of doors, not one text")
        for door in self.doors:
            check_door(door)


def check_door(door: str) -> None:
    """Refuse a door that there is not.

    Raises:
        ConfigurationError: with the nearest.
    """
    if door not in DOORS:
        near = get_close_matches(door, DOORS, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ConfigurationError(f"redaction: there is no door {door!r}{hint} There are {', '.join(DOORS)}")


class Finder:
    """A rule made ready to look."""

    __slots__ = ("_check", "_pattern", "kind", "names", "rule")

    def __init__(self, rule: RedactionRule) -> None:
        self.rule = rule
        self.kind = rule.kind
        self._pattern = re.compile(rule.pattern, re.ASCII | (re.IGNORECASE if rule.ignore_case else 0))
        self._check = rule.check
        self.names = re.compile(rule.names, re.IGNORECASE) if rule.names else None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Give the bounds of what is to be replaced, in order."""
        group = VALUE if VALUE in self._pattern.groupindex else 0
        for match in self._pattern.finditer(text):
            start, stop = match.span(group)
            if start < stop and (self._check is None or self._check(text[start:stop])):
                yield start, stop


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for a secret: a marker, a variable, stars, or hardly anything."""
    return len(value) < 4 or value[0] in "[<{$%(" or not any(map(str.isalnum, value))
