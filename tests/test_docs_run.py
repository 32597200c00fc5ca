"""The code in docs/ runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md") if "```python\n" in path.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_python_of_a_page_runs(page: Path) -> None:
    """The blocks of a page are one program."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "__docs__"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)

    assert len(names) > 1
