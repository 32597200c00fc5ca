"""``tracescore replay`` and ``tracescore scorers --diff``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import InProcess
from tests.cli.replay_app import APP, CHANGED, app, judge
from tests.pipeline.stored import all_scores, make_run, pumping, put_jobs, until
from tracescore.bridge import run_sync
from tracescore.cli.replay import apart
from tracescore.store import Store


@pytest.fixture
def score_id(tmp_path: Path) -> str:
    """Score one run in the store of the folder in which the command is run; give the outcome's id."""

    async def score(store: Store) -> str:
        async def ended() -> bool:
            return bool(await all_scores(store))

        await put_jobs(store, app, [make_run(1)])
        async with pumping(store, app):
            await until(ended, description="the outcome")
        return (await all_scores(store))[0].score_id

    with Store.open(tmp_path / ".tracescore") as store:
        return run_sync(score(store))


def test_replay_says_that_a_score_is_the_same(in_process: InProcess, score_id: str) -> None:
    asked = len(judge.requests)
    ended = in_process("replay", score_id, "--app", APP)
    done = in_process("replay", score_id, "--app", APP, "--json").json

    assert (ended.code, ended.err) == (0, "")
    assert "✓ the same" in ended.out
    assert (done["same"], done["differences"], done["notes"]) == (True, [], [])
    assert done["stored"]["score"] == done["replayed"]["score"] == 0.5
    assert len(judge.requests) == asked


def test_replay_by_another_version_says_so_and_what_differs(in_process: InProcess, score_id: str) -> None:
    ended = in_process("replay", score_id, "--app", CHANGED)

    assert ended.code == 1
    assert "tracescore scorers --diff" in ended.err
    assert "✗ score" in ended.out
    assert "It is fine." in ended.out


def test_replay_live_asks_again(in_process: InProcess, score_id: str) -> None:
    asked = len(judge.requests)
    done = in_process("replay", score_id, "--app", APP, "--live", "--json").json

    assert (done["same"], done["live"], len(judge.requests) - asked) == (True, True, 2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nonsense", "--app", APP), "no outcome 'nonsense'"),
        (("0" * 32, "--app", APP), "`tracescore scores --json` lists ids"),
        (("0" * 32,), "no app: set TRACESCORE_APP"),
    ],
)
def test_replay_of_nothing_is_one_line(
    in_process: InProcess, score_id: str, words: tuple[str, ...], expected: str
) -> None:
    ended = in_process("replay", *words)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert expected in ended.err


def test_long_texts_are_shown_from_where_they_part() -> None:
    same = "same " * 100

    assert apart("a", "b") == ("a", "b")
    assert apart(same + "left", same + "right") == (f"…{same[-40:]}left", f"…{same[-40:]}right")
    assert apart(same, same + "more") == (f"…{same[-40:]}", f"…{same[-40:]}more")
