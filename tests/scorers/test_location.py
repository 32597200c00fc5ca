"""Which line of a user's own a failure names."""

# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.begun import RUN, agent
from tracescore import Judge
from tracescore.bridge import run_sync
from tracescore.judge import JudgeReply, JudgeRequest
from tracescore.scorers.location import raised_at

HERE = "tests/scorers/test_location.py"


def line_of(text: str) -> int:
    """Give the number of the only line of this file that ends so."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {text}"))
    return found


def inner(ctx: Any) -> float:
    return float(json.loads("{"))  # raises


def test_it_is_the_last_own_line_not_the_librarys() -> None:
    failure = agent().generate_score(lambda ctx: inner(ctx)).run_inline(RUN)

    assert failure.message.endswith(f"({HERE}:{line_of('raises')})")


def test_it_is_found_from_threads_and_coroutines_too() -> None:
    async def later(ctx: Any) -> float:
        return inner(ctx)

    async def scores() -> list[Any]:
        with ThreadPoolExecutor(1) as threads:
            begun = [agent().generate_score(step) for step in (inner, later)]
            return [await one.run_prepared(await one.prepare(RUN), threads=threads) for one in begun]

    for failure in run_sync(scores()):
        assert failure.message.endswith(f"({HERE}:{line_of('raises')})")


def test_prepare_run_is_named_too() -> None:
    failure = agent(prepare_run=inner).generate_score(lambda ctx: 1.0).run_inline(RUN)

    assert failure.failed_step == "prepare_run"
    assert failure.message.endswith(f"({HERE}:{line_of('raises')})")


def test_what_no_line_of_theirs_raised_names_none() -> None:
    wrong = agent().generate_score(lambda ctx: 3.0)

    assert wrong.run_inline(RUN).message == "the score 3.0 is outside the range 0 to 1"
    assert raised_at(ValueError("never raised")) is None


def test_a_function_of_a_library_is_named_where_no_own_line_was_running() -> None:
    failure = agent().preprocess(json.loads).generate_score(lambda ctx: 1.0).run_inline(RUN)

    assert "(json/__init__.py:" in failure.message


def test_the_judges_errors_are_the_providers_own() -> None:
    class Broken:
        async def ask(self, request: JudgeRequest, /) -> JudgeReply:
            return JudgeReply(text="no JSON")

    judged = agent(judge=Judge(model=Broken(), instructions="You grade."))

    failure = judged.generate_score(description="d", create_prompt=lambda ctx: "p").run_sync(RUN)

    assert failure.error_type == "JudgeReplyError"
    assert HERE not in failure.message


@pytest.mark.parametrize("gone", [True, False])
def test_files_elsewhere_are_named_by_their_last_two_parts(
    gone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    if gone:
        elsewhere.rmdir()

    failure = agent().generate_score(inner).run_inline(RUN)

    assert failure.message.endswith(f"(scorers/test_location.py:{line_of('raises')})")
