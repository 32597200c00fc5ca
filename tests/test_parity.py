"""The page on parity: each row names a test that is there, or says why there is none."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pages import DOCS, ROOT

PAGE = (DOCS / "parity.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| there ")
]
NAMED = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE)


def functions_of(path: Path) -> set[str]:
    """Give the names of the test functions that stand in a file."""
    return set(re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_every_test_that_is_named_is_there() -> None:
    missing: list[str] = []
    for path, name in NAMED:
        file = ROOT / "tests" / path
        if not file.is_file() or name not in functions_of(file):
            missing.append(f"{path}::{name}")

    assert missing == []
    assert len(NAMED) > len(ROWS) * 0.8


def test_every_row_names_a_test_or_says_why_there_is_none() -> None:
    wrong = [row for row in ROWS if len(row) != 4 or not ("::test_" in row[2] or (row[2] == "–" and row[3]))]

    assert wrong == []
    assert len(ROWS) > 100
