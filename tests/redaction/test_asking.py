"""A worker's judge: what it is sent, what evidence keeps of it, and that a rule that raises stops the call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.stored import PROJECT, all_scores, make_run, pumping, put_jobs, until
from tests.redaction.policies import KEY, OTHER_KEY, RAISING
from tracescore import (
    AgentInput,
    Judge,
    Messages,
    Redaction,
    ScorerRun,
    TraceScore,
    create_scorer,
    is_task_complete_sync,
    run_until_complete_sync,
    text_message,
)
from tracescore.bridge import run_sync
from tracescore.pipeline.replay import replay
from tracescore.store import ScoreRow, Store
from tracescore.testing import FakeJudge


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def asked(judge: FakeJudge, prompt: str) -> Any:
    return create_scorer(
        id=prompt[:8].strip().lower(),
        type="agent",
        version="1",
        judge=Judge(model=judge, instructions="Ask ada@example.com"),
    ).generate_score(description="Rate", create_prompt=lambda ctx: f"{prompt} {ctx.run.output.text}")


async def judged(store: Store, policy: Redaction, *scorers: Any) -> list[ScoreRow]:
    app = TraceScore(list(scorers), rules=[], redaction=policy)
    run = make_run(0, text=f"bob@example.com called +49 30 901820 about an oddity x with {KEY}")
    first = text_message("user", "I am ada@example.com, ask bob@example.com")
    await put_jobs(store, app, [replace(run, input=AgentInput(input_messages=Messages([first])))])
    async with pumping(store, app, redaction=policy) as pump:

        async def done() -> bool:
            return pump.written == len(scorers)

        await until(done, description="outcomes")
    rows = [await store.scores.get(row.score_id) for row in await all_scores(store)]
    return [row for row in rows if row is not None]


def test_every_scorer_of_a_run_tells_its_judge_of_the_same_markers(store: Store) -> None:
    judge = FakeJudge(lambda request: {"score": 0.5})
    rows = run_sync(judged(store, Redaction(), asked(judge, "One"), asked(judge, "Other: bob@example.com and")))
    sent = sorted(str(request.messages[-1]["content"]) for request in judge.requests)
    evidence = [(row.evidence or {})["judge_calls"][0] for row in rows]

    assert sent == [
        "One [email:2] called [phone:1] about an oddity x with [api_key:1]",
        "Other: [email:2] and [email:2] called [phone:1] about an oddity x with [api_key:1]",
    ]
    assert {str(request.messages[0]["content"]) for request in judge.requests} == {"Ask [email:1]"}
    assert sorted(call["prompt"] for call in evidence) == sent
    assert "example.com" not in repr([call["messages"] for call in evidence])


def test_a_rule_that_raises_stops_the_call(store: Store) -> None:
    judge = FakeJudge(lambda request: {"score": 0.5})
    [row] = run_sync(judged(store, RAISING, asked(judge, "One")))

    assert (row.outcome, judge.requests) == ("failure", [])
    assert "oddity" not in str(row.reason)
    assert row.project == PROJECT


def test_what_a_judge_says_is_stored_without_secrets(store: Store, tmp_path: Path) -> None:
    judge = FakeJudge(lambda request: f"It leaks {OTHER_KEY}" if request.schema is None else {"score": 0.5})

    def why(ctx: Any) -> str:
        return f"Why {ctx.score}?"

    scorer = asked(judge, "One").generate_reason(description="Why", create_prompt=why)
    [row] = run_sync(judged(store, Redaction(), scorer))

    assert str(row.reason).startswith("It leaks [api_key:")
    assert all(
        OTHER_KEY.encode() not in path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()
    )


def test_a_replay_goes_through_the_doors_that_the_worker_went_through(store: Store) -> None:
    judge = FakeJudge(lambda request: f"It leaks {OTHER_KEY}" if request.schema is None else {"score": 0.5})

    def why(ctx: Any) -> str:
        return f"Why {ctx.score}, bob@example.com?"

    scorer = asked(judge, "One").generate_reason(description="Why", create_prompt=why)
    [row] = run_sync(judged(store, Redaction(), scorer))
    app = TraceScore([scorer], rules=[])
    same, other = (
        run_sync(replay(store, app, row.score_id, project=PROJECT, redaction=policy)) for policy in (Redaction(), None)
    )

    assert same.differences == ()
    assert ["prompt" in difference.what for difference in other.differences] == [True, True]


def agent_scorer(judge: FakeJudge) -> Any:
    return create_scorer(id="plain", type="agent", judge=Judge(model=judge, instructions="You grade.")).generate_score(
        description="Rate", create_prompt=lambda ctx: f"Rate: {ctx.run.output.text}"
    )


@pytest.mark.parametrize("way", ["run", "many", "check", "loop"])
def test_what_is_scored_without_a_worker_goes_through_the_judges_door_too(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Write to ada@example.com"

    def told(**given: Any) -> str:
        judge = FakeJudge(lambda request: {"score": 1})
        scorer = agent_scorer(judge)
        match way:
            case "run":
                scorer.run_sync(output=text, **given)
            case "many":
                run_sync(scorer.run_many([ScorerRun(output=text)], **given))
            case "check":
                is_task_complete_sync(ScorerRun(output=text), [scorer], **given)
            case _:
                run_until_complete_sync(lambda messages: text, "Whom?", [scorer], **given)
        return judge.prompts[0]

    assert told() == "Rate: Write to [email:1]"
    assert told(redaction=None) == told(redaction=Redaction(doors={"judge": []})) == f"Rate: {text}"
    monkeypatch.setenv("TRACESCORE_REDACTION", "off")
    assert told() == f"Rate: {text}"
    assert told(redaction=Redaction()) == "Rate: Write to [email:1]"
