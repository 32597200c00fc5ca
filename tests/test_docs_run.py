"""The code in docs/ runs as it stands, and pages lead to pages that are there.

The blocks of `gating.md` need a provider that answers: `test_gating_docs.py` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import DOCS, README, blocks, run_as_module
from tracescore import errors

PAGES = sorted(DOCS.rglob("*.md"))
FROM_TOP_TO_BOTTOM = {"scorers", "filters"}
"""Pages whose blocks are one file; on the others each is its own."""


def pieces() -> Iterator[tuple[str, str]]:
    """Give what is run, each piece with a name."""
    for page in PAGES:
        found = blocks(page)
        if page.stem == "gating" or not found:
            continue
        if page.stem in FROM_TOP_TO_BOTTOM:
            found = ["\n".join(found)]
        for number, text in enumerate(found):
            yield f"{page.stem}_{number}", text


@pytest.mark.parametrize(("name", "text"), list(pieces()), ids=[name for name, _ in pieces()])
def test_the_python_of_a_page_runs(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = run_as_module(f"docs_{name}", text, tmp_path, monkeypatch)
    tests = [value for key, value in vars(module).items() if key.startswith("test_")]
    for test in tests:
        test()

    assert bool(tests) == name.startswith("testing")


def test_blocks_are_of_languages_that_are_looked_for() -> None:
    opened = {
        language
        for page in (README, *PAGES)
        for language in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }

    assert opened == {"bash", "nginx", "python", "text"}


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_a_pages_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text)
    lost = [
        f"{path}#{part}"
        for path, part in links
        if not (target := page.parent / path if path else page).exists() or (part and part not in anchors(target))
    ]

    assert lost == []


def anchors(page: Path) -> set[str]:
    """Give what stands behind ``#`` for each heading of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_guide() -> None:
    text = README.read_text(encoding="utf-8")

    assert [page.name for page in PAGES if page.parent == DOCS and f"(docs/{page.name}" not in text] == []


def test_the_page_on_judges_names_every_error_of_a_judge() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    names = {kind.__name__ for kind in classes if issubclass(kind, errors.JudgeError)}
    named = set(re.findall(r"`(\w+)`", (DOCS / "judges.md").read_text(encoding="utf-8")))

    assert names - named == {"JudgeError"}
