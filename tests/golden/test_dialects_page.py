"""docs/dialects.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from tests.golden.dialects_page import PAGE, generated

DIALECTS = Path(__file__).parents[2] / "tracescore" / "dialects"


def test_the_table_is_that_of_the_recorded_files() -> None:
    assert PAGE.read_text(encoding="utf-8") == generated(), "run `python -m tests.golden.dialects_page`"


def test_every_variable_that_turns_content_on_is_in_the_page() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in DIALECTS.glob("*.py"))
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*_(?:CAPTURE|CONTENT|HIDE|TRACE|LOG|SENSITIVE)[A-Z_]*", code))
    page = PAGE.read_text(encoding="utf-8")

    assert {name for name in named if name not in page} == set()
    assert len(named) > 8


def test_every_dialect_has_its_place_in_the_page() -> None:
    from tracescore.dialects import KNOWN_DIALECTS

    page = PAGE.read_text(encoding="utf-8")
    names = {type(dialect).__name__ for dialect in KNOWN_DIALECTS.dialects}

    assert {name for name in names if f"`{name}`" not in page} == set()
