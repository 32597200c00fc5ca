"""Policies for tests."""

from __future__ import annotations

from tracescore import Redaction, RedactionRule

KEY = "sk-" + "proj-abcdefghij0123456789"
OTHER_KEY = "ghp_" + "a1" * 18


def _fails(found: str) -> bool:
    raise ValueError(f"cannot judge {found}")


RAISING = Redaction(
    rules=[
        RedactionRule(kind="odd", pattern="oddity [a-z]+", check=_fails, doors=("store", "judge", "sink"), in_json=True)
    ],
    defaults=False,
)
"""Its rule raises, with the text that it was asked about, for every oddity."""
