"""The code blocks of the rubric scorer's seed document, in our words; each does what the document says of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from tracescore import Judge, Score, create_rubric_scorer, run_until_complete, run_until_complete_sync
from tracescore.bridge import run_sync
from tracescore.testing import FakeJudge


def judge(**words: str) -> Judge:
    """Give a judge that finds a criterion met where its word stands in the work."""

    def answer(request: Any) -> dict[str, Any]:
        work = request.messages[1]["content"].partition("The rubric,")[0]
        asked = request.schema["properties"]
        return {id: {"reasoning": f"I looked for {words[id]}.", "satisfied": words[id] in work} for id in asked}

    return Judge(model=FakeJudge(answer))


def test_a_supervisor_goes_on_until_its_rubric_is_met() -> None:
    """Define the rubric once; the agent corrects itself until it is met, or its steps are used up."""
    rubric_scorer = create_rubric_scorer(
        criteria=[
            {"description": "The response includes an analysis section"},
            {"description": "The response includes concrete recommendations"},
        ],
        judge=judge(c1="Analysis", c2="Recommendations"),
    )

    async def supervisor(messages: list[Any]) -> AsyncIterator[str]:
        yield "## Analysis"
        if "concrete recommendations: not met" in messages[-1]["content"]:
            yield "\n## Recommendations"

    result = run_sync(
        run_until_complete(supervisor, "Research AI in education", [rubric_scorer], max_steps=10, strategy="all")
    )

    assert (result.complete, len(result.steps)) == (True, 2)


def test_a_rubric_as_text() -> None:
    """The list markers go, and each line is a required criterion."""
    rubric_scorer = create_rubric_scorer(
        criteria="""- All tests pass in the test suite
- The function is named find_duplicates and accepts a single list argument""",
        judge=judge(c1="2 passed", c2="def find_duplicates(items)"),
    )

    score = rubric_scorer.run_sync(output="def find_duplicates(items): ...")

    assert isinstance(score, Score)
    assert score.score == 0.0
    assert [sub.name for sub in score.sub_scores] == [
        "All tests pass in the test suite",
        "The function is named find_duplicates and accepts a single list argument",
    ]


def test_optional_criteria_are_reported_and_gate_nothing() -> None:
    rubric_scorer = create_rubric_scorer(
        criteria=[
            {"description": "Includes an analysis section", "required": True},
            {"description": "Includes citations", "required": False},
        ],
        judge=judge(c1="Analysis", c2="[1]"),
    )

    score = rubric_scorer.run_sync(output="## Analysis")

    assert isinstance(score, Score)
    assert score.score == 1.0
    assert "✗ [optional] Includes citations: not met" in (score.reason or "")


def test_a_rubric_for_each_run() -> None:
    """Without criteria, the rubric comes with the run; where there is none, the full score gates nothing."""
    rubric_scorer = create_rubric_scorer(judge=judge(c1="2 passed", c2="find_duplicates"))

    def writer(messages: list[Any]) -> str:
        return "find_duplicates: 2 passed" if len(messages) > 1 else "find_duplicates"

    gated = run_until_complete_sync(
        writer,
        "Write find_duplicates",
        [rubric_scorer],
        request_context={"rubric": "- All tests pass\n- The function is named find_duplicates"},
    )
    ungated = run_until_complete_sync(writer, "Write find_duplicates", [rubric_scorer])

    assert (gated.complete, len(gated.steps)) == (True, 2)
    assert (ungated.complete, len(ungated.steps)) == (True, 1)
