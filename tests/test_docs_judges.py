"""The code of the page on judges runs as it stands."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from tracescore import errors

PAGE = Path(__file__).parent.parent / "docs" / "judges.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = tmp_path / f"judges_block_{number}.py"
    path.write_text(BLOCKS[number], encoding="utf-8")  # as a file: a scorer's version is made of its source
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]

    importlib.import_module(path.stem)

    monkeypatch.delitem(sys.modules, path.stem)


def test_the_page_names_every_error_of_a_judge() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    names = {kind.__name__ for kind in classes if issubclass(kind, errors.JudgeError)}

    assert names - set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8"))) == {"JudgeError"}
