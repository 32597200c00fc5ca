"""A moment of fire at the receiver; ``python -m tests.fuzz receiver`` goes on for as long as is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.fuzz.downstream import check_downstream, working
from tests.fuzz.hostile_requests import draw_request
from tests.fuzz.keeping import CRASHES
from tests.fuzz.receiver import UnderFire, under_fire
from tests.fuzz.wire import Door, Sent
from tests.server.apart import LIMIT
from tracescore.store import Store

KEPT = sorted((CRASHES / "receiver").glob("*.*"))


@pytest.fixture(scope="module")
def fire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnderFire]:
    with under_fire(tmp_path_factory.mktemp("fire")) as under:
        yield under


def test_what_the_receiver_takes_of_a_hail_is_assembled_and_scored(fire: UnderFire) -> None:
    draw = random.Random(1)
    with Store.open(fire.server.data) as store, working(store) as heard:
        for number in range(100):
            fire.check(draw_request(draw, LIMIT, large=0.5 if number % 40 == 39 else 0))
        fire.still_works()

        assert fire.taken > 20
        assert check_downstream(store, heard) > fire.taken


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_what_broke_the_receiver_once(fire: UnderFire, path: Path) -> None:
    door: Any = path.suffix[1:]

    assert door in get_args(Door)
    fire.check(Sent(door=door, data=path.read_bytes()))
    fire.still_works()
