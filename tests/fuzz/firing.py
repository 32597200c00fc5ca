"""Send the receiver hostile requests for a while, with a worker behind it, and keep what broke something."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from tests.fuzz.downstream import check_downstream, working
from tests.fuzz.hostile_requests import draw_request
from tests.fuzz.keeping import keep
from tests.fuzz.receiver import under_fire
from tests.server.apart import LIMIT
from tracescore.store import Store

_LARGE = 0.01
_LOOK_EVERY = 200
_SCORE_EVERY = 1_000


def fire_for(seconds: float) -> str:
    """Fire until time is up, and tell what was done.

    What breaks a check is written to ``crashes/receiver``, its door as the file's ending, and raised.
    """
    until = time.monotonic() + seconds
    draw = random.Random()
    scored = 0
    with (
        tempfile.TemporaryDirectory(prefix="tracescore-fuzz-") as folder,
        under_fire(Path(folder)) as fire,
        Store.open(fire.server.data) as store,
        working(store) as heard,
    ):
        while time.monotonic() < until:
            sent = draw_request(draw, LIMIT, large=_LARGE)
            try:
                fire.check(sent)
            except Exception:
                keep("receiver", sent.data, f".{sent.door}")
                raise
            if fire.tried % _LOOK_EVERY == 0:
                fire.still_works()
            if fire.tried % _SCORE_EVERY == 0:
                scored = check_downstream(store, heard)
        fire.still_works()
        scored = check_downstream(store, heard)
        grown, left = fire.most_grown / LIMIT, fire.left / LIMIT
        return (
            f"{fire.tried} requests, {fire.taken} taken, {fire.late} answered too late, {scored} jobs scored; the "
            f"server grew by {grown:.1f} times the limit at most, and kept {left:.1f} times"
        )
