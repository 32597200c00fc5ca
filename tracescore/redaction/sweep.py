"""One look at a text for all rules of a door at once: most texts hold nothing, and are to cost next to nothing.

RE2 reads a text once, however many expressions it looks for and whatever the text is made of. Where it is not
installed, or does not know an expression, the standard library's engine does the same, ten times slower.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from tracescore.redaction.rules import Finder, RedactionRule


class DoorRules:
    """The rules of one door, made ready to look."""

    def __init__(self, rules: Sequence[RedactionRule]) -> None:
        self._finders = tuple((Finder(rule), _search([rule])) for rule in rules)
        self._search = _search(rules)
        # Names of attributes come again and again; whatever a sender makes of them, only so many are kept.
        self.kind_named = lru_cache(maxsize=4096)(self._kind_named)

    def __bool__(self) -> bool:
        return bool(self._finders)

    def _kind_named(self, name: str) -> str | None:
        """Give the kind of which a text under this name is, whatever it is; None for most names."""
        for finder, _ in self._finders:
            if finder.names is not None and finder.names.search(name):
                return finder.kind
        return None

    def passes(self, text: bytes) -> bool:
        """Tell by one look at a text in UTF-8 that no rule finds anything in it."""
        return not self._finders or (self._search is not None and self._search(text) is None)

    def within(self, text: bytes) -> Iterator[Finder]:
        """Give the rules that may find something."""
        for finder, search in self._finders:
            if search is None or search(text) is not None:
                yield finder


def _search(rules: Sequence[RedactionRule]) -> Any:
    """Give what searches for all that these rules find; None where one of them has no hint, and may always."""
    hints = [_hint(rule) for rule in rules]
    if None in hints:
        return None
    expression = "|".join(f"(?:{hint})" for hint in hints)
    return (_re2(expression) or re.compile(expression.encode())).search


def _hint(rule: RedactionRule) -> str | None:
    if rule.hint is None and _re2(rule.pattern) is None:
        return None
    hint = rule.pattern if rule.hint is None else rule.hint
    return f"(?i:{hint})" if rule.ignore_case else hint


@lru_cache(maxsize=256)
def _re2(expression: str) -> Any:
    try:
        re2 = importlib.import_module("re2")
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 64 << 20
    try:
        return re2.compile(expression.encode(), options)
    except re2.error:
        return None
