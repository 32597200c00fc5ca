"""``tracescore backfill`` and ``batches``: made, shown, cancelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import InProcess
from tests.pipeline.stored import PROJECT, make_run, pumping, put_runs, until
from tests.pipeline.test_backfill import APP, backfilling, offer
from tracescore.bridge import run_sync
from tracescore.cli.backfill import read_where
from tracescore.cli.batch_progress import Progress, Rate
from tracescore.errors import InputError
from tracescore.pipeline.backfill import create_backfill
from tracescore.store import BackfillSpec, Store


async def planned_backfill(store: Store, count: int, *, score: bool) -> str:
    await put_runs(store, [make_run(n) for n in range(count)])
    await offer(store)
    made = await create_backfill(store, PROJECT, "length", BackfillSpec())
    plan = backfilling(store, told=[])
    while await plan.step():
        pass
    if score:
        async with pumping(store, APP) as pump:

            async def idle() -> bool:
                pump.wake()
                return pump.idle

            await until(idle, description="all scored")
    return made.batch_id


def ctrl_c(seconds: float) -> None:
    raise KeyboardInterrupt


def test_batches_lists_follows_and_cancels(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / ".tracescore") as store:
        done = run_sync(planned_backfill(store, 12, score=True))
        assert in_process("batches", done).out == "12 runs: 2 scores, 1 not scorable, 9 failures\n"
        run_sync(put_runs(store, [make_run(n) for n in range(12, 20)]))
        pending = run_sync(planned_backfill(store, 20, score=False))

        with monkeypatch.context() as patch:
            patch.setattr("tracescore.cli.batch_progress.time.sleep", ctrl_c)
            left = in_process("batches", pending)
        assert (left.code, len(left.err.splitlines())) == (130, 1)
        assert left.err.startswith("0/8 ended, 0 failed. The workers go on. ")

        cancelled = in_process("batches", pending, "--cancel")
        assert (cancelled.code, cancelled.out.split(" pending")[0]) == (0, "8")
        followed = in_process("batches", pending, "--json")
        listed = in_process("batches", "--json").json
        newest = in_process("batches", "--json", "--limit", "1")

    assert ([item["batch_id"] for item in newest.json], "only the newest 1 are shown" in newest.err) == (
        [pending],
        True,
    )
    assert json.loads(followed.out.splitlines()[-1])["dropped"] == 8
    assert [(item["batch_id"], item["state"], item["scored"], item["open"]) for item in listed] == [
        (pending, "cancelled", 0, 0),
        (done, "done", 2, 0),
    ]


def test_what_cannot_be_is_one_line(in_process: InProcess, tmp_path: Path) -> None:
    Store.open(tmp_path / ".tracescore").close()
    for words, said in (
        (("backfill", "--scorer", "grounded"), "no live worker offers scorer 'grounded', nor any other"),
        (("backfill", "--scorer", "grounded", "--where", "agent"), "give key=value"),
        (("backfill", "--scorer", "grounded", "--sample", "2"), "sample_rate 2.0 is not between 0 and 1"),
        (("batches", "0" * 32), "no batch"),
    ):
        ended = in_process(*words)
        assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        assert said in ended.err


def test_conditions_are_read_as_a_rule_has_them() -> None:
    assert read_where(["agent=a", "agent=b", "attributes.tier=1", "attributes.name=x=y"]) == {
        "agent": ["a", "b"],
        "attributes.tier": ["1", 1],
        "attributes.name": ["x=y"],
    }
    with pytest.raises(InputError, match="give key=value"):
        read_where(["=x"])


def test_the_rate_is_that_of_the_last_while() -> None:
    rate = Rate()
    progress = Progress(state="planned", scored=150, not_scorable=0, failed=0, open=50, dropped=0, done=False)
    rate.note(0, at=0.0)
    assert rate.seconds_left(progress) is None
    for second in range(1, 31):
        rate.note(0 if second < 15 else (second - 15) * 10, at=float(second))

    assert rate.per_second == 7.5
    assert rate.seconds_left(progress) == pytest.approx(50 / 7.5)
