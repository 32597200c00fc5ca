"""Search with hypothesis for a while, and keep what broke something."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz.checks import BYTE_CHECKS, check_trace
from tests.fuzz.drafts import Draft, trace_of
from tests.fuzz.growth import check_growth
from tests.fuzz.keeping import keep
from tests.fuzz.mutations import mutate
from tests.fuzz.seeds import seeds
from tests.fuzz.strategies import DRAFTS

_ROUND = 200
_UNWELL = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.filter_too_much,
)


SLOW_S = 25
"""An input that takes longer is kept as a crash: requests of some kilobytes take milliseconds."""


@contextmanager
def no_longer_than(seconds: int) -> Generator[None]:
    """Raise where the block goes on for longer; in the main thread only."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_drafts(drafts: Sequence[Draft]) -> None:
    """Check the trace of the drafts."""
    check_trace(trace_of(drafts))


def replay(path: Path) -> None:
    """Check once more what a search kept, by the folder that it lies in."""
    if path.parent.name in BYTE_CHECKS:
        BYTE_CHECKS[path.parent.name](path.read_bytes())
    elif path.parent.name == "growth":
        check_growth(json.loads(path.read_text()))
    else:
        check_drafts(json.loads(path.read_text()))


def search(name: str, seconds: float) -> int:
    """Draw traces until time is up, in rounds of ever other seeds; give how many.

    What breaks a check is written to ``crashes/traces`` (or ``growth``) as small as hypothesis makes it, and raised.
    """
    until = time.monotonic() + seconds
    tried = 0
    broke: Sequence[Draft] | None = None
    over = False

    def check(drafts: list[Draft]) -> None:
        nonlocal tried, broke, over
        # What broke once is made small, however long that takes.
        over = over or (broke is None and time.monotonic() > until)
        if over:
            return
        tried += 1
        try:
            with no_longer_than(SLOW_S):
                checked(drafts)
        except Exception:
            broke = drafts
            raise

    checked = check_growth if name == "growth" else check_drafts
    looking = settings(max_examples=_ROUND, deadline=None, database=None, suppress_health_check=_UNWELL)
    while not over:
        try:
            seed(random.getrandbits(64))(looking(given(DRAFTS[name])(check)))()
        except Exception:
            if broke is not None:
                keep("growth" if name == "growth" else "traces", json.dumps(broke).encode(), ".json")
            raise
    return tried


def mutate_for(name: str, seconds: float) -> int:
    """Mutate the seeds until time is up, without looking at what code they reach; give how many were tried.

    What breaks a check is written to ``crashes/<name>``, and raised.
    """
    until = time.monotonic() + seconds
    draw = random.Random()
    begun = seeds(name)
    tried = 0
    while time.monotonic() < until:
        data = mutate(draw.choice(begun), begun, draw)
        try:
            BYTE_CHECKS[name](data)
        except Exception:
            keep(name, data, "")
            raise
        tried += 1
    return tried
