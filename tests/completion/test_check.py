"""``is_task_complete``: who passes, and what the results come to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from tests.completion.checks import ANSWERED, giving, wanting
from tracescore import (
    AgentRun,
    CompletionResult,
    ConfigurationError,
    InputError,
    Judge,
    ScorerError,
    ScorerRun,
    TaskCompletion,
    create_rubric_scorer,
    create_scorer,
    is_task_complete,
    is_task_complete_sync,
    not_scorable,
)
from tracescore.bridge import run_sync
from tracescore.testing import FakeJudge

FULL, LOW = giving(1.0, id="full", reason="all there"), giving(0.99, id="low", reason="a bit is missing")
BROKEN = giving(ValueError("no number"), id="broken")


def nothing(ctx: Any) -> float:
    not_scorable("no tool was called")


NOTHING = create_scorer(id="nothing", version="1").generate_score(nothing)


def verdicts(completion: TaskCompletion) -> dict[str, str]:
    return {result.scorer_id: result.verdict for result in completion.results}


def test_a_completion_is_a_whole_value() -> None:
    done = is_task_complete_sync(ANSWERED, [FULL])
    (result,) = done.results

    assert replace(done, duration=0.0, results=(replace(result, duration=0.0, outcome=None),)) == TaskCompletion(
        complete=True,
        results=(
            CompletionResult(
                scorer_id="full",
                scorer_name="full",
                verdict="passed",
                score=1.0,
                full_score=1.0,
                reason="all there",
                duration=0.0,
                source="gate",
            ),
        ),
        reason="full: all there",
        feedback="",
        duration=0.0,
        timed_out=False,
    )
    assert result.outcome is not None
    assert (result.outcome.run_id, bool(done)) == ("run-1", True)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize(
    ("scorers", "strategy", "complete"),
    [
        ([FULL, FULL], "all", True),
        ([FULL, LOW], "all", False),
        ([LOW, FULL], "any", True),
        ([LOW, LOW], "any", False),
        ([FULL, BROKEN], "all", False),
        ([BROKEN, FULL], "any", True),
        ([BROKEN], "any", False),
        ([NOTHING, FULL], "all", True),
        ([NOTHING, LOW], "any", False),
        ([NOTHING], "all", False),
        ([NOTHING, NOTHING], "any", False),
    ],
)
def test_all_or_any_must_pass_and_what_is_not_scorable_has_no_say(
    scorers: Any, strategy: Any, complete: bool, parallel: bool
) -> None:
    done = is_task_complete_sync(ANSWERED, scorers, strategy=strategy, parallel=parallel)

    assert (bool(done), done.complete) == (complete, complete)


@pytest.mark.parametrize(
    ("score", "options", "passes"),
    [
        (10, {"score_range": (0, 10)}, True),
        (1, {"score_range": (0, 10)}, False),
        (0.5, {"score_range": (0, 0.5)}, True),
        (0, {"higher_is_better": False}, True),
        (1, {"higher_is_better": False}, False),
        (-1, {"score_range": (-1, 1), "higher_is_better": False}, True),
    ],
)
def test_the_full_score_of_the_scorers_own_scale_passes(score: float, options: Any, passes: bool) -> None:
    assert is_task_complete_sync(ANSWERED, [giving(score, **options)]).complete is passes


def test_an_error_is_not_complete_and_says_so() -> None:
    done = is_task_complete_sync(ANSWERED, [FULL, BROKEN])

    assert verdicts(done) == {"full": "passed", "broken": "error"}
    assert done.results[1].score is None
    assert done.reason.startswith("broken: the scorer failed in generate_score: ValueError: no number")
    assert "## broken: could not be checked\nthe scorer failed in generate_score" in done.feedback


def test_nothing_scorable_says_why() -> None:
    done = is_task_complete_sync(ANSWERED, [NOTHING])

    assert done.reason == "no scorer could say whether the task is complete: nothing: no tool was called"
    assert done.results[0].outcome is not None


def test_feedback_says_what_did_not_pass() -> None:
    done = is_task_complete_sync(ANSWERED, [FULL, LOW])

    assert done.feedback == (
        "The task is not complete: 1 of 2 checks passed, and every check must pass.\n"
        "\n"
        "## full: passed\n"
        "all there\n"
        "\n"
        "## low: not passed (0.99, full score 1)\n"
        "a bit is missing\n"
        "\n"
        "Go on with the task: put right what did not pass, and give the whole result again."
    )
    assert done.reason == "low: a bit is missing"


def test_one_after_the_other_stops_when_it_is_decided() -> None:
    for strategy, scorers, asked in (
        ("all", [LOW, FULL], ["low"]),
        ("any", [FULL, LOW], ["full"]),
        ("all", [NOTHING, FULL, LOW, BROKEN], ["nothing", "full", "low"]),
        ("any", [NOTHING, LOW, BROKEN, FULL, LOW], ["nothing", "low", "broken", "full"]),
    ):
        done = is_task_complete_sync(ANSWERED, scorers, strategy=strategy, parallel=False)  # type: ignore[arg-type]

        assert [result.scorer_id for result in done.results] == asked


def test_scorers_run_at_the_same_time_unless_they_are_not_to() -> None:
    meeting = asyncio.Barrier(2)

    async def meet(ctx: Any) -> float:
        await meeting.wait()
        return 1.0

    both = [create_scorer(id=id, version="1").generate_score(meet) for id in ("one", "two")]

    assert is_task_complete_sync(ANSWERED, both).complete
    meeting = asyncio.Barrier(2)
    alone = is_task_complete_sync(ANSWERED, both, parallel=False, timeout=0.05)
    assert (verdicts(alone), alone.timed_out) == ({"one": "timed_out"}, True)


@pytest.mark.parametrize("parallel", [True, False])
def test_who_does_not_finish_in_time_is_given_up(parallel: bool) -> None:
    cancelled: list[str] = []

    async def hang(ctx: Any) -> float:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(ctx.scorer.id)
            raise
        return 1.0

    slow = create_scorer(id="slow", version="1").generate_score(hang)
    done = is_task_complete_sync(ANSWERED, [FULL, slow], timeout=0.5, parallel=parallel)

    assert (done.complete, done.timed_out, cancelled) == (False, True, ["slow"])
    assert verdicts(done) == {"full": "passed", "slow": "timed_out"}
    assert "did not finish within the timeout" in done.reason
    assert is_task_complete_sync(ANSWERED, [FULL, slow], timeout=0.5, strategy="any", parallel=parallel).complete


def test_a_step_that_blocks_holds_up_neither_the_deadline_nor_the_others() -> None:
    stuck, released = Event(), Event()

    def block(ctx: Any) -> float:
        stuck.wait()
        released.set()
        return 1.0

    blocking = create_scorer(id="blocking", version="1").generate_score(block)
    done = is_task_complete_sync(ANSWERED, [blocking, FULL], timeout=0.5)
    stuck.set()

    assert verdicts(done) == {"blocking": "timed_out", "full": "passed"}
    assert released.wait(5)


def test_a_scorer_that_cancels_itself_is_an_error() -> None:
    async def give_up(ctx: Any) -> float:
        raise asyncio.CancelledError

    quitting = create_scorer(id="quitting", version="1").generate_score(give_up)

    assert verdicts(is_task_complete_sync(ANSWERED, [quitting, FULL])) == {"quitting": "error", "full": "passed"}


def test_a_caller_that_is_cancelled_takes_its_scorers_along() -> None:
    cancelled: list[str] = []

    async def check() -> None:
        begun = asyncio.Event()

        async def hang(ctx: Any) -> float:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(ctx.scorer.id)
            return 1.0

        slow = create_scorer(id="slow", version="1").generate_score(hang)
        asked = asyncio.ensure_future(is_task_complete(ANSWERED, [slow]))
        await begun.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    run_sync(check())

    assert cancelled == ["slow"]


def test_a_scorer_that_ignores_being_stopped_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracescore.completion.check.GRACE", 0.05)
    told: list[str] = []

    async def check() -> TaskCompletion:
        released = asyncio.Event()

        async def stubborn(ctx: Any) -> float:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.append("to stop")
                await released.wait()
                told.append("ended")
            return 1.0

        slow = create_scorer(id="slow", version="1").generate_score(stubborn)
        done = await is_task_complete(ANSWERED, [slow], timeout=0.05)
        assert told == ["to stop"]
        released.set()
        return done

    assert verdicts(run_sync(check())) == {"slow": "timed_out"}


def test_the_request_context_goes_over_the_runs_own() -> None:
    seen: list[Any] = []
    spy = create_scorer(id="spy", version="1").generate_score(
        lambda ctx: seen.append(dict(ctx.run.request_context)) or 1
    )
    run = AgentRun(request_context={"tenant": "a", "rubric": "old"})
    is_task_complete_sync(run, [spy], request_context={"rubric": "new"})
    is_task_complete_sync(run, [spy])

    assert seen == [{"tenant": "a", "rubric": "new"}, {"tenant": "a", "rubric": "old"}]


def test_a_rubric_gates_with_its_reason_as_feedback() -> None:
    judge = FakeJudge(lambda request: {"c1": {"reasoning": "There is none.", "satisfied": False}})
    rubric = create_rubric_scorer(model=judge, scale=10, name="House rules", version="1")
    run = ScorerRun(input="Write a report", output="Done.")
    done = is_task_complete_sync(run, [rubric], request_context={"rubric": "- Has a summary"})

    assert not done
    assert "## House rules (rubric-scorer): not passed (0, full score 10)\nRubric not met: 0 of 1" in done.feedback
    assert is_task_complete_sync(run, [rubric])  # no rubric: nothing to hold it to


def test_many_checks_share_a_loop() -> None:
    async def many() -> list[bool]:
        return [bool(done) for done in await asyncio.gather(*(is_task_complete(ANSWERED, [FULL]) for _ in range(5)))]

    assert run_sync(many()) == [True] * 5


@pytest.mark.parametrize(
    ("scorers", "options", "message"),
    [
        ([], {}, "scorers= is empty"),
        (FULL, {}, r"takes a list of scorers, such as \[scorer\]"),
        ([len], {}, "takes scorers, not <built-in function len>"),
        ([create_scorer(id="x")], {}, "'x': it has no generate_score step yet"),
        ([giving(1.0, score_range=None)], {}, "'fixed' has a free scale"),
        ([FULL], {"strategy": "most"}, "strategy 'most' is unknown: give 'all' or 'any'"),
        ([FULL], {"timeout": 0}, "timeout=0.: give a number of seconds greater than 0"),
        ([create_rubric_scorer(judge=Judge(temperature=0))], {}, "step analyze has no judge model"),
    ],
)
def test_what_cannot_be_checked_is_refused(scorers: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        is_task_complete_sync(ANSWERED, scorers, **options)


def test_what_is_no_run_is_refused() -> None:
    text: Any = "Done."

    with pytest.raises(InputError, match=r"such as ScorerRun\(input=\.\.\., output=\.\.\.\), not 'Done\.'"):
        is_task_complete_sync(text, [FULL])


def test_a_step_that_raises_an_error_of_ours_is_an_error_of_its_scorer_alone() -> None:
    done = is_task_complete_sync(ANSWERED, [giving(ScorerError("inner"), id="inner"), FULL], strategy="any")

    assert verdicts(done) == {"inner": "error", "full": "passed"}
    assert done.complete


def test_a_scorer_that_wants_a_word() -> None:
    assert not is_task_complete_sync(ScorerRun(output="no"), [wanting("please")])
    assert is_task_complete_sync(ScorerRun(output="yes please"), [wanting("please")])
