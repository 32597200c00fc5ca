"""A scorer's version changes with what makes its result, and with nothing else."""

# pyright: reportUnknownLambdaType=false
# Scorers come out of modules that the tests write.
from __future__ import annotations

import functools
import importlib
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from tracescore import Judge, RunFilter, ScorerError, TraceScore, create_scorer, filter_run, scorer
from tracescore.scorers.source import normalised
from tracescore.testing import FakeJudge

BASE = """
    import re
    import helpers
    from helpers import tally
    from tracescore import create_scorer, scorer

    WEIGHTS = {"tone": 1, "facts": 2}
    PATTERN = re.compile("sun")
    CACHE = object()

    def made(limit):
        @scorer(id="made")
        def judge_length(run):
            return 1.0 if len(run.output.text) < limit else 0.0
        return judge_length

    closed = made(10)

    @scorer(id="plain")
    def plain(run, factor=1):
        return tally(run.output.text, WEIGHTS) * factor  # counts words

    @scorer(id="through-module")
    def through_module(run):
        return helpers.tally(run.output.text, {})

    steps = create_scorer(id="steps", type="agent").preprocess(lambda ctx: 1).generate_score(lambda ctx: 0.5)
    searched = create_scorer(id="searched", type="agent").generate_score(
        lambda ctx: 1.0 if PATTERN.search(ctx.run.output.text) else float(CACHE is None)
    )
"""
HELPERS = """
    def count(text):
        return len(text.split())

    def tally(text, weights):
        return min(1, count(text) / 10)

    def unused(text):
        return 0
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Write ``scoring.py`` and ``helpers.py`` with replacements, each time in a new folder, and import them."""
    made: list[str] = []

    def forget() -> None:
        for name in ("scoring", "helpers"):
            sys.modules.pop(name, None)

    def write(*replacements: tuple[str, str]) -> ModuleType:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(str(folder))
        scoring, helpers = textwrap.dedent(BASE), textwrap.dedent(HELPERS)
        for old, new in replacements:
            assert old in scoring or old in helpers, old
            scoring, helpers = scoring.replace(old, new), helpers.replace(old, new)
        (folder / "scoring.py").write_text(scoring, encoding="utf-8")
        (folder / "helpers.py").write_text(helpers, encoding="utf-8")
        forget()
        monkeypatch.syspath_prepend(str(folder))
        return importlib.import_module("scoring")

    yield write
    forget()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plain", "* factor", "/ factor"),
        ("plain", "factor=1", "factor=2"),
        ("plain", '"facts": 2', '"facts": 3'),
        ("plain", "count(text) / 10", "count(text) / 20"),
        ("plain", "len(text.split())", "len(text)"),
        ("through_module", "len(text.split())", "len(text)"),
        ("closed", "made(10)", "made(20)"),
        ("steps", "lambda ctx: 0.5", "lambda ctx: 0.6"),
        ("steps", "lambda ctx: 1)", "lambda ctx: 2)"),
        ("steps", 'id="steps", type="agent"', 'id="steps", type="agent", score_range=(0, 2)'),
        ("searched", 're.compile("sun")', 're.compile("rain")'),
        ("searched", 're.compile("sun")', 're.compile("sun", re.I)'),
    ],
)
def test_what_makes_the_result_makes_the_version(
    project: Callable[..., ModuleType], name: str, old: str, new: str
) -> None:
    before = getattr(project(), name).version

    assert getattr(project((old, new)), name).version != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plain", "  # counts words", ""),
        ("plain", "  # counts words", "  # counts no words"),
        ("plain", "WEIGHTS = {", "\n\n# weights\nWEIGHTS = {"),
        ("plain", "    return tally(", "        # deeper\n\n    return tally("),
        ("plain", '@scorer(id="plain")', '@scorer(id="plain", description="Counts words")'),
        ("plain", "return 0\n", "return 1\n"),
        ("plain", "def unused(text)", "def unused_now(text)"),
        ("plain", '"tone": 1, "facts": 2', '"facts": 2, "tone": 1'),
        ("plain", "made(10)", "made(20)"),
        ("steps", ".generate_score(lambda ctx: 0.5)", ".generate_score(\n    lambda ctx: 0.5,  # a half\n)"),
        ("searched", "CACHE = object()", "CACHE = object()  # another one"),
    ],
)
def test_what_does_not_make_the_result_does_not_make_the_version(
    project: Callable[..., ModuleType], name: str, old: str, new: str
) -> None:
    before = getattr(project(), name).version

    assert getattr(project((old, new)), name).version == before


def test_the_same_code_in_another_module_has_the_same_version(project: Callable[..., ModuleType]) -> None:
    module = project()
    path = Path(module.__file__ or "")
    moved = path.parent / "moved.py"
    moved.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")

    other = importlib.import_module("moved")
    del sys.modules["moved"]

    assert other.steps.version == module.steps.version


# Lambdas on one line are told apart.
pair = [lambda ctx: 0.25, lambda ctx: 0.5]  # fmt: skip
nested = lambda ctx: (lambda: 0.5)()  # noqa: E731
twins = [lambda ctx: 1.0, lambda ctx: 1.0, lambda ctx: 1]  # fmt: skip


def version_of(step: Any, **options: Any) -> str:
    begin: Any = create_scorer(id="x", type="agent", **options)
    return begin.generate_score(step).version


def test_lambdas_on_one_line_are_told_apart() -> None:
    assert version_of(pair[0]) != version_of(pair[1])
    assert version_of(twins[0]) == version_of(twins[1]) != version_of(twins[2])
    assert version_of(nested) not in {version_of(step) for step in pair}


def test_versions_are_golden() -> None:
    """Equal on every supported Python; to change one is to score all again, so it needs a new algorithm number."""
    from tests.scorers import versioned

    expected = json.loads((Path(__file__).parents[1] / "golden" / "fingerprints.json").read_text(encoding="utf-8"))

    assert versioned.versions() == expected


class Tone(BaseModel):
    tone: str


class Stern(BaseModel):
    tone: str
    strictness: int


def judged(**options: Any) -> str:
    given: dict[str, Any] = {
        "description": "d",
        "create_prompt": lambda ctx: "Grade.",
        "output_schema": Tone,
        "calculate_score": lambda ctx: 1.0,
        "judge": Judge(model="openai/gpt-5-mini", instructions="You grade."),
    }
    begin: Any = create_scorer(id="x", type="agent")
    return begin.generate_score(**{**given, **options}).version


def test_what_the_judge_is_asked_makes_the_version() -> None:
    judge = Judge(model="openai/gpt-5-mini", instructions="You grade.")
    versions = [
        judged(),
        judged(output_schema=Stern),
        judged(create_prompt=lambda ctx: "Grade it."),
        judged(calculate_score=lambda ctx: 0.5),
        judged(judge=Judge(temperature=0.5).over(judge)),
        judged(judge=Judge(model="openai/gpt-5").over(judge)),
        judged(judge=Judge(instructions="You grade sternly.").over(judge)),
        judged(judge=Judge(model=FakeJudge(name="mine")).over(judge)),
    ]

    assert len(set(versions)) == len(versions)


def test_keys_addresses_and_descriptions_do_not() -> None:
    judge = Judge(model="openai/gpt-5-mini", instructions="You grade.")

    assert judged(description="another") == judged()
    for other in (Judge(api_key="sk-1"), Judge(base_url="http://localhost:1"), Judge(timeout=5), Judge(client=None)):
        assert judged(judge=other.over(judge)) == judged()


def test_the_apps_default_judge_is_part_of_the_version() -> None:
    undecided = create_scorer(id="x", type="agent").generate_score(description="d", create_prompt=lambda ctx: "Grade.")

    versions = {
        TraceScore(scorers=[undecided], judge=Judge(model=f"openai/{name}", instructions="You grade."))
        .scorers["x"]
        .version
        for name in ("gpt-5", "gpt-5-mini")
    }

    assert len(versions) == 2


def test_prepare_run_is_part_of_the_version() -> None:
    versions = {
        version_of(pair[0]),
        version_of(pair[0], prepare_run=filter_run(part_types=["text"])),
        version_of(pair[0], prepare_run=filter_run(part_types=["text"], max_output_messages=3)),
        version_of(pair[0], prepare_run=lambda run: run),
    }

    assert len(versions) == 4
    assert version_of(pair[0], prepare_run=filter_run()) == version_of(pair[0], prepare_run=RunFilter())


def weighted(ctx: Any, weight: float, *, bonus: float = 0.0) -> float:
    return weight + bonus


class Threshold:
    def __init__(self, limit: float) -> None:
        self.limit = limit

    def __call__(self, ctx: Any) -> float:
        return self.limit

    def check(self, ctx: Any) -> float:
        return self.limit / 2


@functools.lru_cache
def remembered(text: str) -> float:
    return len(text) / 100


def test_callables_of_every_kind_have_a_version() -> None:
    steps: list[Any] = [
        functools.partial(weighted, weight=0.5),
        functools.partial(weighted, weight=0.25),
        Threshold(0.5),
        Threshold(0.25),
        Threshold(0.5).check,
        Threshold(0.25).check,
        lambda ctx: remembered(ctx.run.output.text),
        len,
    ]

    assert len({version_of(step) for step in steps}) == len(steps)


def test_functions_that_call_each_other_have_a_version() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert version_of(lambda ctx: float(even(4))).startswith("1-")


def test_a_captured_value_that_cannot_be_hashed_needs_a_version() -> None:
    client = object()
    capturing: Any = create_scorer(id="capturing", type="agent").generate_score(lambda ctx: float(client is None))

    message = r"'capturing': step generate_score depends on a builtins.object, which cannot be hashed; give version="
    with pytest.raises(ScorerError, match=message):
        TraceScore(scorers=[capturing])
    with pytest.raises(ScorerError, match=message):
        capturing.run_sync(output="Sunny.")

    versioned = create_scorer(id="capturing", type="agent", version="7").generate_score(
        lambda ctx: float(client is None)
    )
    assert TraceScore(scorers=[versioned]).scorers["capturing"].version == "7"


def test_a_step_without_source_needs_a_version() -> None:
    namespace: dict[str, Any] = {}
    exec("def score(run):\n    return 1.0", namespace)
    sourceless = scorer(id="sourceless")(namespace["score"])

    with pytest.raises(ScorerError, match=r"'sourceless': step generate_score has no source to read .*give version="):
        _ = sourceless.version


def test_what_has_no_version_asks_no_judge() -> None:
    namespace: dict[str, Any] = {}
    exec("def prompt(ctx):\n    return 'Grade.'", namespace)
    model = FakeJudge()
    judged = create_scorer(id="x", type="agent", judge=Judge(model=model, instructions="You grade.")).generate_score(
        description="Grade", create_prompt=namespace["prompt"]
    )

    with pytest.raises(ScorerError, match="give version="):
        judged.run_sync(output="Sunny.")
    assert model.requests == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("lambda ctx: 1", "lambda ctx:1  # one"),
        ("lambda ctx: (1 +\n   2)", "lambda ctx: (1 + 2)"),
        ("lambda ctx: ctx.a\n        .b", "lambda ctx: ctx.a.b"),
        ("def f(x):\n    return x\n", "def f(x):\n\n        # deep\n        return x"),
        ("async def f():\n    pass", "async def f():\n  pass"),
    ],
)
def test_layout_and_comments_do_not_count(left: str, right: str) -> None:
    assert normalised(left) == normalised(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("lambda ctx: 'a  b'", "lambda ctx: 'a b'"),
        ("lambda ctx: f'{ctx} # a'", "lambda ctx: f'{ctx}'"),
        ("lambda ctx: f'{ctx!r}'", "lambda ctx: f'{ctx!s}'"),
        ("lambda ctx: '''a\n  b'''", "lambda ctx: '''a\n b'''"),
        ("def f():\n    if x:\n        a\n    b", "def f():\n    if x:\n        a\n        b"),
    ],
)
def test_strings_and_structure_count(left: str, right: str) -> None:
    assert normalised(left) != normalised(right)


def test_an_f_string_stays_as_it_is_written() -> None:
    """It is one token before Python 3.12 and many since: its raw text is the same on both."""
    assert normalised("""lambda x: f"{x['a']:>{x.w}}  {x!r}" + "b" """) == (
        """( lambda x : f"{x['a']:>{x.w}}  {x!r}" + "b" ) \n"""
    )
