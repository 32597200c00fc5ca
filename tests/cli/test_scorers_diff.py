"""``tracescore scorers --diff``."""

from __future__ import annotations

import linecache
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import InProcess
from tests.cli.replay_app import APP, CHANGED, app, changed
from tracescore.app import TraceScore, load_app
from tracescore.bridge import run_sync
from tracescore.pipeline.offers import described_versions, offer_records
from tracescore.store import Store


def offer(folder: Path, offered: TraceScore, *, at_ns: int | None = None) -> str:
    """Offer an app's scorers as a worker does; give the version."""
    now_ns = time.time_ns() if at_ns is None else at_ns
    with Store.open(folder / ".tracescore") as store:
        run_sync(store.offered.describe("default", described_versions(offered)))
        run_sync(store.control.register_offers("w", "app", "default", offer_records(offered), now_ns=now_ns))
    return offered.scorers["judged"].version


def test_diff_says_what_changed_since_the_last_offer(in_process: InProcess, tmp_path: Path) -> None:
    offered = offer(tmp_path, app)
    ended = in_process("scorers", "--diff", "--app", CHANGED)
    (found,) = in_process("scorers", "--diff", "--app", CHANGED, "--json").json

    assert (ended.code, ended.err) == (0, "")
    assert (found["against"], found["same_version"]) == (offered, False)
    assert [change["what"] for change in found["changes"]] == [
        "generate_score, function",
        "generate_reason, function",
        "generate_score, create prompt",
        "generate_score, schema",
        "generate_score, judge instructions",
        "generate_score, judge model",
        "generate_reason, create prompt",
        "generate_reason, judge instructions",
        "generate_reason, judge model",
    ]
    assert "    + lambda ctx: 1.0\n" in ended.out
    assert "    - You are strict.\n" in ended.out


def test_diff_of_what_is_offered_is_nothing(in_process: InProcess, tmp_path: Path) -> None:
    ended = (offer(tmp_path, app), in_process("scorers", "--diff", "--app", APP))[1]

    assert ended.out.count("\n") == 1
    assert "unchanged" in ended.out


def test_diff_against_a_version_that_was_offered_before(in_process: InProcess, tmp_path: Path) -> None:
    first, second = offer(tmp_path, app, at_ns=1), offer(tmp_path, changed)
    words = ("scorers", "--diff", "--json", "--app", APP)

    assert in_process(*words).json[0]["against"] == second
    assert in_process(*words, "--against", first[:8]).json[0]["changes"] == []
    ended = in_process(*words, "--scorer", "judged", "--against", "9")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert first in ended.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--diff",), "no app: set TRACESCORE_APP"),
        (("--diff", "--app", APP, "--scorer", "nonsense"), "the app has no scorer 'nonsense'; it has judged"),
        (("--scorer", "judged"), "go with --diff"),
    ],
)
def test_diff_of_nothing_is_one_line(
    in_process: InProcess, tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    offer(tmp_path, app)
    ended = in_process("scorers", *words)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert expected in ended.err


def test_a_given_version_that_was_not_raised_is_told(
    in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "given_scoring.py"
    text = """
from tracescore import TraceScore, scorer

@scorer(id="given", version="7")
def given(run):
    return 0.5

app = TraceScore([given])
"""
    folder.write_text(text, encoding="utf-8")
    first = load_app("given_scoring:app")
    with Store.open(tmp_path / ".tracescore") as store:
        run_sync(store.offered.describe("default", described_versions(first)))
    folder.write_text(text.replace("0.5", "0.75"), encoding="utf-8")
    sys.modules.pop("given_scoring")
    linecache.checkcache()
    out = in_process("scorers", "--diff", "--app", "given_scoring:app").out
    sys.modules.pop("given_scoring")

    assert "the version was given and is the same, what it stands for is not" in out
    assert "+     return 0.75\n" in out


def test_diff_where_nothing_was_offered_says_so(in_process: InProcess, tmp_path: Path) -> None:
    Store.open(tmp_path / ".tracescore").close()

    assert "no version of it was offered here" in in_process("scorers", "--diff", "--app", APP).out


def test_without_app_and_store_scorers_says_what_each_would_show(in_process: InProcess) -> None:
    ended = in_process("scorers")

    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "--app module:attr or TRACESCORE_APP lists an app's scorers" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scores", "--scorer", "judgd"), "has never seen a scorer 'judgd'; did you mean 'judged'?"),
        (("scores", "--trace", "zz"), "--trace 'zz' is no id: give all 32 hex digits"),
        (("scores", "--run", "12345678"), "--run '12345678' is no id: give all 32 hex digits"),
        (("runs", "--trace", "zz"), "--trace 'zz' is no id"),
    ],
)
def test_what_can_never_be_found_is_told(
    in_process: InProcess, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    offer(tmp_path, app)
    ended, known = in_process(*words), in_process("scores", "--scorer", "judged")

    assert (ended.code, ended.out, known.code) == (2, "", 0)
    assert said in ended.err
