"""The blocks of docs/gating.md run as they stand, against a local stand-in of the provider."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages import DOCS, blocks
from tracescore.testing import ModelCall, ModelServer

GUIDE = DOCS / "gating.md"
BLOCKS = {block.splitlines()[0].removeprefix("# "): block for block in blocks(GUIDE)}
DRAFT = "## Analysis\nTutors scale badly."
FINAL = f"{DRAFT}\n## Recommendations\nTrain teachers first."


def provider(call: ModelCall) -> Any:
    """Answer as an agent that forgets its recommendations until it is told, and as a judge that looks for words."""
    if call.schema is None:
        return FINAL if "concrete recommendations: not met" in call.prompt else DRAFT
    work = call.prompt.partition("The work to grade")[2].partition("The rubric,")[0]
    found = dict(re.findall(r"^(c\d+): (.*)$", call.prompt, flags=re.MULTILINE))
    said = {
        "analysis": ("Analysis", "There is a section named Analysis.", "It has none."),
        "recommendations": ("Recommendations", "It names one.", "It recommends nothing."),
        "named find_duplicates": ("find_duplicates", "It is.", "It is not."),
    }
    verdicts: dict[str, Any] = {}
    for id, description in found.items():
        word, yes, no = next((words for key, words in said.items() if key in description), ("\0", "", "Not shown."))
        verdicts[id] = {"reasoning": yes if word in work else no, "satisfied": word in work}
    return verdicts


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(provider) as started:
        yield started


@pytest.fixture
def run(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")

    def run(name: str) -> tuple[str, list[ModelCall]]:
        before = len(server.calls)
        (tmp_path / name).write_text(BLOCKS[name], encoding="utf-8")
        runpy.run_path(str(tmp_path / name))
        return capsys.readouterr().out, server.calls[before:]

    return run


def test_every_block_is_run() -> None:
    assert sorted(BLOCKS) == [
        "asking.py",
        "check.py",
        "criteria.py",
        "per_run.py",
        "rubric.py",
        "with_openai.py",
        "with_pydantic_ai.py",
        "with_tools.py",
    ]


def test_a_rubric_gives_the_reason_that_the_guide_shows(run: Any) -> None:
    (shown,) = blocks(GUIDE, "text")
    said, calls = run("rubric.py")

    assert (said, len(calls)) == (shown, 1)


def test_criteria_are_weighted(run: Any) -> None:
    said, _ = run("criteria.py")

    assert said == "6.0 [('analysis', 1.0), ('Includes citations', 0.0), ('Addresses teachers', 0.0)]\n"


def test_each_run_may_bring_its_rubric(run: Any) -> None:
    said, calls = run("per_run.py")

    assert said == "0.0\n1.0 Rubric met: the run has no rubric, so there was nothing to check.\n"
    assert len(calls) == 1


def test_a_check_says_what_is_left_to_do(run: Any) -> None:
    said, _ = run("check.py")

    assert "## rubric-scorer: not passed (0, full score 1)\nRubric not met: 1 of 2 required criteria met." in said
    assert said.endswith("rubric-scorer not_passed 0.0\nbrevity passed 1.0\n")


@pytest.mark.parametrize("name", ["with_openai.py", "with_pydantic_ai.py"])
def test_an_agent_of_a_client_library_goes_on_until_it_is_complete(run: Any, name: str) -> None:
    said, calls = run(name)

    assert said == f"True 2\n{FINAL}\n"
    assert [call.schema is None for call in calls] == [True, False, True, False]
    assert [message["role"] for message in calls[2].body["messages"] if message["role"] != "system"] == [
        "user",
        "assistant",
        "user",
    ]


def test_a_stream_with_tool_calls(run: Any) -> None:
    said, calls = run("with_tools.py")

    assert said.splitlines() == [
        "False - tested: the score is 0, the full score 1",
        "True - tested: the score is 1, the full score 1",
        "2 def find_duplicates(items): ...",
    ]
    assert calls == []


def test_a_step_that_asks(run: Any) -> None:
    assert run("asking.py") == ("True\n", [])
