"""The app: built whole or not at all, and found by its location."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracescore import AgentRun, ConfigurationError, Judge, Rule, TraceScore, create_scorer, load_app, scorer
from tracescore.testing import FakeJudge


@scorer(id="brevity")
def brevity(run: AgentRun) -> float:
    return 1.0


judged = create_scorer(id="judged", type="agent").generate_score(description="d", create_prompt=lambda ctx: "Grade.")
JUDGE = Judge(model=FakeJudge(), instructions="You grade.")


def test_an_app_holds_scorers_by_id() -> None:
    app = TraceScore(scorers=[brevity, judged], judge=JUDGE, name="shop")

    assert list(app.scorers) == ["brevity", "judged"]
    assert app.name == "shop"
    assert app.sinks == ()
    assert repr(app) == "TraceScore(name='shop', scorers=['brevity', 'judged'])"


def test_without_rules_every_scorer_sees_every_run() -> None:
    app = TraceScore(scorers=[brevity, judged], judge=JUDGE)

    planned = app.rule_set.match(AgentRun(run_id="r"))

    assert [(plan.scorer, plan.probability) for plan in planned] == [
        (app.scorers["brevity"], 1.0),
        (app.scorers["judged"], 1.0),
    ]


def test_an_app_without_rules_for_a_scorer_does_not_run_it() -> None:
    app = TraceScore(scorers=[brevity, judged], judge=JUDGE, rules=[])

    assert app.rule_set.match(AgentRun(run_id="r")) == []


def test_the_default_judge_yields_to_the_scorers() -> None:
    own = create_scorer(id="own", type="agent", judge=Judge(instructions="You grade sternly.")).generate_score(
        description="d", create_prompt=lambda ctx: "Grade."
    )
    model = FakeJudge()

    app = TraceScore(scorers=[own, brevity], judge=Judge(model=model, instructions="You grade."))

    assert app.scorers["own"].run_sync(output="Sunny.").ok
    assert model.requests[0].messages[0]["content"] == "You grade sternly."
    assert app.scorers["brevity"] is brevity


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TraceScore(scorers=[brevity, brevity]), "two scorers have the id 'brevity'"),
        (lambda: TraceScore(scorers=[judged]), "'judged': its prompt step generate_score has no judge model"),
        (lambda: TraceScore(scorers=[brevity], name=" "), "name=...\\) is empty"),
        (lambda: TraceScore(scorers=[len]), "takes scorers, not builtin_function_or_method"),  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
        (lambda: TraceScore(scorers=[brevity], rules=[Rule("brev")]), "did you mean 'brevity'"),
        (lambda: TraceScore(scorers=[judged], judge=JUDGE, rules=[Rule("judged")]), "state sample_rate="),
        (
            lambda: TraceScore([brevity], rules=[Rule(brevity, kind="llm"), Rule("brevity", kind="tool")]),
            r"'brevity': it asks for runs of kind 'tool'.*create_scorer\(id='brevity'\) without type=",
        ),
        (
            lambda: TraceScore([brevity], rules=[Rule(brevity, kind="retrieval")]),
            "kind 'retrieval', which hold a query",
        ),
    ],
)
def test_what_cannot_work_fails_when_the_app_is_built(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a working directory whose modules are forgotten afterwards."""
    known, path = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]
    sys.path[:] = path


APP = """
from tracescore import TraceScore, scorer

@scorer(id="brevity")
def brevity(run):
    return 1.0

app = TraceScore(scorers=[brevity])
class holder:
    inner = app
"""


@pytest.mark.parametrize("attribute", ["app", "holder.inner"])
def test_an_app_is_loaded_from_the_working_directory(folder: Path, attribute: str) -> None:
    (folder / "my_scoring.py").write_text(APP, encoding="utf-8")

    assert list(load_app(f"my_scoring:{attribute}").scorers) == ["brevity"]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("my_scoring", "expected 'module:attribute', such as 'scoring:app'"),
        (":app", "expected 'module:attribute'"),
        ("nowhere:app", "there is no module 'nowhere' in "),
        ("nowhere.deep:app", "there is no module 'nowhere' in "),
        ("my_scoring:ap", "my_scoring has no 'ap'; did you mean 'app'"),
        ("my_scoring:brevity", "brevity is a Scorer, not a TraceScore"),
        (
            "needs_more:app",
            r"app 'needs_more:app': needs_more.py:1: needs_more imports 'not_installed', which is missing",
        ),
        ("broken:app", "broken.py:2: importing it failed: ZeroDivisionError: division by zero"),
        ("../m1:app", r"'../m1' is no module's name: give 'm1:app' in the folder where m1.py is"),
        ("m1.py:app", "'m1.py' is no module's name: give 'm1:app'"),
        ("ending:app", r"ending.py:2: importing it called sys.exit\(4\): a module of an app must not end"),
        ("deep:app", "broken.py:2: importing it failed: ZeroDivisionError"),
        ("unread:app", "unread.py:2: importing it failed: SyntaxError"),
        ("elsewhere:app", r"elsewhere.py:3: importing it failed: JSONDecodeError"),
        ("typo:app", r"app 'typo:app': typo.py:2: scorer 'x': it has no generate_score step yet"),
    ],
)
def test_a_location_that_leads_to_no_app_is_explained(folder: Path, location: str, message: str) -> None:
    (folder / "my_scoring.py").write_text(APP, encoding="utf-8")
    (folder / "needs_more.py").write_text("import not_installed", encoding="utf-8")
    (folder / "broken.py").write_text("\n1 / 0", encoding="utf-8")
    (folder / "ending.py").write_text("import sys\nsys.exit(4)", encoding="utf-8")
    (folder / "deep.py").write_text("from broken import app", encoding="utf-8")
    (folder / "unread.py").write_text("a = 1\nb = = 2", encoding="utf-8")
    (folder / "elsewhere.py").write_text("import json\n\njson.loads('{')", encoding="utf-8")
    (folder / "typo.py").write_text(
        "import tracescore as t\napp = t.TraceScore(scorers=[t.create_scorer(id='x')])", encoding="utf-8"
    )

    with pytest.raises(ConfigurationError, match=message):
        load_app(location)


def test_importing_tracescore_is_light_and_its_names_are_all_there() -> None:
    code = (
        "import sys, tracescore\n"
        "exporter = {'TraceScoreSpanExporter'}\n"  # it is one of the SDK's classes, and opens a store
        "assert all(hasattr(tracescore, name) for name in set(tracescore.__all__) - exporter)\n"
        "heavy = {'openai', 'sqlalchemy', 'celery', 'fastapi', 'aiohttp', 'opentelemetry'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert all(hasattr(tracescore, name) for name in exporter)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
