"""What was cut from a run before it was judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """One cut: by which rule, what of the run, and how much of it.

    ``rule`` is an option with its value, such as ``"max_remembered_messages=10"``; ``what`` is the field of the run or
    of its input. ``messages`` and ``parts`` count what is gone and, of parts, also what was shortened. ``tokens`` is
    what that comes to, counted as ``counted_by`` says.
    """

    rule: str
    what: str
    messages: int = 0
    parts: int = 0
    tokens: int = 0
    counted_by: str = ""
