"""Every recorded file reads as it records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conformance import differences, named, recorded, recorded_files, runs_in, shown

FILES = recorded_files()
RECORDED = recorded()


@pytest.mark.parametrize("path", FILES, ids=[named(path) for path in FILES])
def test_the_runs_of_a_file_show_what_it_records(path: Path) -> None:
    assert differences(named(path), shown(runs_in(path)), RECORDED.get(named(path))) == []


def test_every_recorded_file_has_its_spans() -> None:
    assert RECORDED.keys() == {named(path) for path in FILES}


def test_a_cell_that_is_not_as_recorded_is_named() -> None:
    cells = shown([])

    assert "a/b: system is no, recorded is yes" in differences("a/b", cells, {**cells, "system": "yes"})
