"""The golden sets: real files in, whole runs out."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.golden.conformance import named, recorded_files
from tests.golden.recording import ALL, SETS, golden_of, runs_of

FILES = recorded_files()


@pytest.mark.parametrize("path", FILES, ids=[named(path) for path in FILES])
def test_the_runs_of_a_file_are_those_of_its_golden_set(path: Path) -> None:
    assert runs_of(path) == orjson.loads(golden_of(path).read_bytes())


def test_every_golden_set_is_of_a_file() -> None:
    expected = {golden_of(path) for path in FILES}

    assert {*SETS.glob("*.json"), *ALL.glob("*.json")} == expected
    assert len([golden for golden in expected if golden.parent == SETS]) >= 18
