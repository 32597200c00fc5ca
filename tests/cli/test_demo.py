"""``tracescore demo``: the whole system, end to end, without a key."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.conftest import Command, InProcess
from tracescore import Rule, TraceScore
from tracescore.cli.demo import JUDGE_CALLS
from tracescore.cli.demo_app import JUDGE_SAMPLE_RATE, app, helpful
from tracescore.cli.demo_expected import expected_runs, pairs_of
from tracescore.cli.demo_filter import Compared, Judged, print_comparison
from tracescore.cli.demo_progress import Progress
from tracescore.cli.demo_report import unmet
from tracescore.cli.demo_traffic import demo_files
from tracescore.cli.outcomes import ShownOutcome


def test_the_demo_scores_every_bundled_run(tracescore: Command, in_process: InProcess, tmp_path: Path) -> None:
    ended = tracescore("demo", "--data", tmp_path / "a folder", "--json")
    report = ended.json
    figures = {
        scorer_id: {
            score["score"] for run in report["runs"] for score in run["scores"] if score["scorer_id"] == scorer_id
        }
        for scorer_id in app.scorers
    }

    assert (ended.code, report["ok"], report["problems"]) == (0, True, [])
    assert report["outcomes"] == report["expected"] > 100
    assert len({run["file"] for run in report["runs"]}) >= 20
    assert all(run["way"] == "scored" for run in report["runs"])
    assert all(min(values - {None}) < 1.0 for values in figures.values())

    comparison = report["filter"]

    assert comparison["judge"] == "stand-in"
    assert len(comparison["runs"]) > 20
    assert comparison["filtered"]["tokens"] < 0.8 * comparison["whole"]["tokens"]
    assert None not in [run[side]["score"] for run in comparison["runs"] for side in ("whole", "filtered")]

    stored = in_process("scores", "--data", tmp_path / "a folder", "--limit", "1000", "--json").json

    assert len(stored) == report["outcomes"]

    runs = in_process("runs", "--data", tmp_path / "a folder", "--limit", "1000", "--json").json

    assert {run["run_id"]: run for run in runs} == {item["run"]["run_id"]: item["run"] for item in report["runs"]}


def test_the_bundled_traces_are_of_two_dialects_and_name_no_machine() -> None:
    files = demo_files()

    assert len(files) >= 20
    assert {file.name.split("_")[0] for file in files} == {"openinference", "otel"}
    for file in files:
        for _, path in file.parts:
            assert not any(word in path.read_text(encoding="utf-8") for word in ("/home/", "/Users/", "/root/"))


def test_the_judges_budget_covers_its_sample() -> None:
    judged = TraceScore([helpful], rules=[Rule(helpful, sample_rate=JUDGE_SAMPLE_RATE)])
    calls = len(pairs_of(expected_runs(judged, demo_files(), project="default")))

    assert 5 <= calls <= JUDGE_CALLS


def test_the_comparison_says_who_judged_and_shows_both_sides() -> None:
    def row(file: str, tokens: int) -> Compared:
        return Compared(
            file=file,
            run_id=file,
            whole=Judged(tokens=1500, cost=0.001, score=1.0),
            filtered=Judged(tokens=tokens, cost=None, score=None),
            cuts=(),
        )

    out = Console(width=120, record=True, file=io.StringIO())
    print_comparison(out, [row("first", 900), row("second", 100)])
    printed = out.export_text()

    assert "no key is set: a local stand-in answers" in printed.replace("\n", " ")
    assert printed.index("second") < printed.index("first") < printed.index("all 2 runs")
    assert [line.split()[-6:] for line in printed.splitlines() if "all 2 runs" in line] == [
        ["3,000", "1,000", "$0.00200", "–", "1.00", "–"]
    ]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (None, "no outcome by answered; the run is unknown"),
        (
            ShownOutcome(scorer_id="answered", outcome="failure", reason="ValueError: no"),
            "answered failed: ValueError: no",
        ),
    ],
)
def test_what_is_missing_or_failed_fails_the_demo(outcome: ShownOutcome | None, said: str) -> None:
    files = [file for file in demo_files() if file.name == "otel_genai_openai/tool_call"]
    expected = expected_runs(app, files, project="default")
    outcomes = {key: ShownOutcome(scorer_id=key[1], outcome="score", score=1.0) for key in pairs_of(expected)}

    assert unmet(expected, Progress(outcomes=outcomes)) == []

    (key,) = [key for key in outcomes if key[1] == "answered"]
    outcomes = {**outcomes, key: outcome} if outcome else {k: v for k, v in outcomes.items() if k != key}
    (line,) = unmet(expected, Progress(outcomes=outcomes))

    assert said in line.what
