"""Type promises: what checkers must infer, and the mistakes that they must report."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SEEDS = ROOT / "tests" / "fundamentals" / "test_seeds.py"
CHECKERS = {
    "basedpyright": [sys.executable, "-m", "basedpyright"],
    "mypy": [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", str(ROOT / "pyproject.toml")],
}


def lines_with_errors(checker: str, *files: Path) -> tuple[set[int], str]:
    """Give the lines that a checker reports in files, and all that it says."""
    command = [*CHECKERS[checker], *map(str, files)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = "|".join(re.escape(file.name) for file in files)
    found = re.findall(rf"(?:{names}):(\d+)(?::\d+)?:?\s.*?error", said)
    return {int(line) for line in found}, said


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_api_is_inferred_as_promised(checker: str) -> None:
    lines, said = lines_with_errors(checker, HERE / "api.py", HERE / "completion_api.py", SEEDS)

    assert not lines, said


@pytest.mark.parametrize("checker", CHECKERS)
def test_planted_errors_are_reported(checker: str, tmp_path: Path) -> None:
    text = (HERE / "planted_errors.py").read_text(encoding="utf-8")
    planted = {number for number, line in enumerate(text.splitlines(), 1) if "# error:" in line}

    # A copy: the file itself is left out of what the project checks.
    copy = shutil.copy(HERE / "planted_errors.py", tmp_path)
    lines, said = lines_with_errors(checker, Path(copy))

    assert lines == planted, said
    assert len(planted) == 52
