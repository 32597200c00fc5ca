"""A moment of fuzzing in every test run; `make fuzz` goes on for as long as is asked."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.fuzz.checks import BYTE_CHECKS
from tests.fuzz.drafts import Draft
from tests.fuzz.growth import MOST_GROWTH, SHAPES, growth_of
from tests.fuzz.keeping import CRASHES
from tests.fuzz.mutations import mutate
from tests.fuzz.searching import check_drafts, replay
from tests.fuzz.seeds import seeds
from tests.fuzz.strategies import HOSTILE, RECORDED, TRACES

KEPT = sorted(path for path in CRASHES.glob("*/*") if path.parent.name != "receiver")


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_broke_something_once(path: Path) -> None:
    replay(path)


def test_crashes_are_kept_where_fuzzing_writes_them() -> None:
    assert KEPT
    assert {path.parent.name for path in KEPT} <= {"traces", "growth", *BYTE_CHECKS}


@settings(max_examples=30)
@given(drafts=TRACES)
def test_any_tree_of_spans(drafts: list[Draft]) -> None:
    check_drafts(drafts)


@settings(max_examples=20)
@given(drafts=RECORDED)
def test_recorded_traces_disturbed(drafts: list[Draft]) -> None:
    check_drafts(drafts)


@settings(max_examples=30)
@given(drafts=HOSTILE)
def test_any_value_in_any_attribute(drafts: list[Draft]) -> None:
    check_drafts(drafts)


@pytest.mark.parametrize("name", sorted(BYTE_CHECKS))
def test_bytes_near_to_recorded_ones(name: str) -> None:
    draw = random.Random(0)
    begun = seeds(name, most=20)

    assert len(begun) == 20
    for data in begun:
        BYTE_CHECKS[name](mutate(data, begun, draw))


@pytest.mark.parametrize("name", list(SHAPES))
def test_work_grows_with_what_came_and_no_faster(name: str) -> None:
    assert growth_of(SHAPES[name], 40) < MOST_GROWTH
