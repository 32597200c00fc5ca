"""Every block of docs/testing.md runs: as a module, and then each test in it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"testing_page_{number}"
    (tmp_path / f"{name}.py").write_text(BLOCKS[number], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, module)
    tests = [value for key, value in vars(module).items() if key.startswith("test_")]
    for test in tests:
        test()

    assert tests


def test_no_block_is_of_another_language() -> None:
    opened = re.findall(r"^```(\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert opened == ["python"] * len(BLOCKS)
