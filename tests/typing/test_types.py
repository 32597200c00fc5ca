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
pytestmark = pytest.mark.xdist_group("typing")  # on one process, so that each checker starts once
PROMISES = (HERE / "api.py", HERE / "completion_api.py", SEEDS)
PLANTED = "planted_errors.py"


@pytest.fixture(scope="module", params=CHECKERS)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give all that a checker says of the promises and of the planted mistakes; it starts once, which takes longest."""
    # A copy: the file itself is left out of what the project checks.
    copy = shutil.copy(HERE / PLANTED, tmp_path_factory.mktemp("planted"))
    files = [*map(str, PROMISES), str(copy)]
    return subprocess.run(
        [*CHECKERS[request.param], *files], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def lines_with_errors(said: str, name: str) -> set[int]:
    """Give the lines of a file that a checker reports."""
    return {int(line) for line in re.findall(rf"\b{re.escape(name)}:(\d+)(?::\d+)?:?\s.*?error", said)}


@pytest.mark.parametrize("file", PROMISES, ids=[file.stem for file in PROMISES])
def test_the_api_is_inferred_as_promised(said: str, file: Path) -> None:
    assert lines_with_errors(said, file.name) == set(), said


def test_planted_errors_are_reported(said: str) -> None:
    text = (HERE / PLANTED).read_text(encoding="utf-8")
    planted = {number for number, line in enumerate(text.splitlines(), 1) if "# error:" in line}

    assert lines_with_errors(said, PLANTED) == planted, said
    assert len(planted) == 52
