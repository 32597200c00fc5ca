"""A scorer of type trajectory gets the steps of a stored run."""

from __future__ import annotations

from dataclasses import replace

from tests.pipeline.stored import all_scores, make_run, pumping, put_jobs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import Trajectory, TrajectoryStep
from tracescore.scorers import create_scorer
from tracescore.store import Store

steps = create_scorer(id="steps", type="trajectory", version="1", score_range=None).generate_score(
    lambda ctx: len(ctx.run.output.steps) + len(ctx.run.output.raw_output) / 10
)


def test_a_worker_hands_over_the_steps_that_the_spans_showed(store: Store) -> None:
    app = TraceScore([steps], rules=[])
    way = Trajectory(steps=(TrajectoryStep(name="look"), TrajectoryStep(name="book")))

    async def scenario() -> None:
        await put_jobs(store, app, [replace(make_run(0), trajectory=way)])
        async with pumping(store, app):
            await until(lambda: _scored(store), description="the score")

        assert [row.score for row in await all_scores(store)] == [2.1]

    run_sync(scenario())


async def _scored(store: Store) -> bool:
    return bool(await all_scores(store))
