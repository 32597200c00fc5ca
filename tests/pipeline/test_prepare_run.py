"""The app's and a rule's prepare_run decide what is queued; the scorer's own runs on what they leave."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.pipeline.stored import PROJECT, all_scores, make_run, new_job, pumping, put_runs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.errors import ConfigurationError
from tracescore.model import AgentInput, AgentOutput, AgentRun, Messages, Target, text_message
from tracescore.pipeline.plan import Planning
from tracescore.pipeline.rules import Rule
from tracescore.scorers import create_scorer, filter_run, not_scorable, scorer
from tracescore.store import ScoreRow, Store

judged: list[tuple[str, AgentRun]] = []


@scorer(id="first", version="1")
def first(run: AgentRun) -> float:
    judged.append(("first", run))
    return 0.5


@scorer(id="second", version="1")
def second(run: AgentRun) -> float:
    judged.append(("second", run))
    return 0.5


@pytest.fixture(autouse=True)
def _nothing_is_judged_yet() -> None:
    judged.clear()


def talk(number: int = 0, *, said: int = 3) -> AgentRun:
    remembered = Messages([text_message("user", f"said {n}") for n in range(said)])
    run = make_run(number)
    return dataclasses.replace(
        run,
        input=AgentInput(input_messages=run.input.input_messages, remembered_messages=remembered),
        request_context={"tenant": "acme"},
    )


def planning(store: Store, app: TraceScore) -> Planning:
    return Planning(store, app, project=PROJECT, worker_id="w", on_jobs=lambda ids, queue: None)


async def score(store: Store, app: TraceScore, runs: Sequence[AgentRun], *, version: int = 1) -> list[ScoreRow]:
    plan = planning(store, app)
    await plan.register()
    await put_runs(store, runs, version=version)
    while await plan.step():
        pass
    await pump_all(store, app)
    return await all_scores(store)


async def pump_all(store: Store, app: TraceScore) -> None:
    async with pumping(store, app) as pump:

        async def idle() -> bool:
            pump.wake()
            return pump.idle

        await until(idle, description="nothing left to score")


async def counted(store: Store) -> dict[tuple[str, str], tuple[int, str | None]]:
    rows = await store.jobs._database.read(
        lambda connection: connection.exec_driver_sql(
            "SELECT scorer_id, outcome, count, example FROM decision_counts"
        ).all()
    )
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def remembered(run: AgentRun) -> int:
    return len(run.input.remembered_messages)


async def drop_context(run: AgentRun) -> AgentRun:
    return dataclasses.replace(run, request_context={})


def test_what_was_cut_before_planning_and_after_is_evidence(store: Store) -> None:
    own = create_scorer(
        id="own", type="agent", version="1", prepare_run=filter_run(max_remembered_messages=1)
    ).generate_score(lambda _: 0.5)
    app = TraceScore([own], prepare_run=filter_run(max_remembered_messages=2), rules=[Rule(own)])

    async def scenario() -> ScoreRow | None:
        [row] = await score(store, app, [talk()])
        return await store.scores.get(row.score_id)

    row = run_sync(scenario())
    assert row is not None
    evidence = row.evidence or {}

    assert [(cut["rule"], cut["what"], cut["messages"]) for cut in evidence["cuts"]] == [
        ("max_remembered_messages=2", "remembered_messages", 1),
        ("max_remembered_messages=1", "remembered_messages", 1),
    ]
    assert evidence["judged_hash"] == row.judged_hash != ""


def test_a_run_goes_through_the_apps_then_the_rules_then_the_scorers_own(store: Store) -> None:
    own = create_scorer(
        id="own", type="agent", version="1", prepare_run=filter_run(max_remembered_messages=1)
    ).generate_score(lambda ctx: judged.append(("own", ctx.run)) or 0.5)
    app = TraceScore(
        [first, own],
        prepare_run=drop_context,
        rules=[Rule(first), Rule(own, prepare_run=filter_run(max_remembered_messages=2))],
    )
    run_sync(score(store, app, [talk()]))

    assert sorted((name, remembered(run), run.request_context) for name, run in judged) == [
        ("first", 3, {}),
        ("own", 1, {}),
    ]


def test_what_two_scorers_are_given_is_each_ones_own(store: Store) -> None:
    """Dropping the request context leaves the content hash as it is; the jobs differ all the same."""
    rules = [Rule(first, prepare_run=filter_run(drop_request_context=True)), Rule(second)]
    run_sync(score(store, TraceScore([first, second], rules=rules), [talk()]))

    assert sorted((name, dict(run.request_context)) for name, run in judged) == [
        ("first", {}),
        ("second", {"tenant": "acme"}),
    ]


def test_what_is_cut_away_makes_no_new_job_when_it_changes(store: Store) -> None:
    app = TraceScore([first], prepare_run=filter_run(max_remembered_messages=0))
    run_sync(score(store, app, [talk(said=3)]))
    scores = run_sync(score(store, app, [talk(said=5)], version=2))
    jobs = run_sync(store.jobs.for_runs(PROJECT, [talk().run_id]))

    assert [(job.revision, job.state) for job in jobs] == [(2, "done")]
    assert (len(judged), len(scores), scores[0].current) == (1, 1, True)


def test_where_only_the_scorers_own_cut_makes_it_equal_the_job_is_done_by_reference(store: Store) -> None:
    own = create_scorer(
        id="own", type="agent", version="1", prepare_run=filter_run(max_remembered_messages=0)
    ).generate_score(lambda ctx: judged.append(("own", ctx.run)) or 0.5)
    app = TraceScore([own], prepare_run=drop_context)
    run_sync(score(store, app, [talk(said=3)]))
    scores = run_sync(score(store, app, [talk(said=5)], version=2))
    jobs = run_sync(store.jobs.for_runs(PROJECT, [talk().run_id]))

    assert [job.state for job in jobs] == ["done", "done"]
    assert (len(judged), len(scores)) == (1, 1)


def test_nothing_to_score_and_failures_queue_nothing_and_are_counted(store: Store) -> None:
    def prepare(run: AgentRun) -> AgentRun | None:
        match int(str(run.trace_id), 16) % 4:
            case 0:
                return None
            case 1:
                not_scorable("not this one")
            case 2:
                raise ValueError("broken")
            case _:
                return run

    scores = run_sync(score(store, TraceScore([first], prepare_run=prepare), [make_run(n) for n in range(40)]))
    counts = run_sync(counted(store))

    assert (len(scores), len(judged)) == (10, 10)
    assert {key: count for key, (count, _) in counts.items()} == {
        ("first", "sampled_in"): 40,
        ("first", "not_scorable"): 20,
        ("first", "prepare_failed"): 10,
    }
    assert str(counts["first", "prepare_failed"][1]).endswith(": ValueError: broken")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"run_id": "f" * 32}, "may not change the run id"),
        ({"target": Target(trace_id="1" * 32)}, "may not change the run's target"),
    ],
)
def test_neither_run_id_nor_target_may_change(store: Store, change: dict[str, Any], said: str) -> None:
    app = TraceScore([first], prepare_run=lambda run: dataclasses.replace(run, **change))

    assert run_sync(score(store, app, [make_run(0)])) == []
    assert said in str(run_sync(counted(store))["first", "prepare_failed"][1])


def test_a_run_cannot_be_changed_in_place(store: Store) -> None:
    def prepare(run: AgentRun) -> AgentRun:
        run.request_context["tenant"] = "other"  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
        return run

    run_sync(score(store, TraceScore([first], prepare_run=prepare), [talk()]))

    assert "a run cannot be changed" in str(run_sync(counted(store))["first", "prepare_failed"][1])


def test_a_job_asked_for_by_hand_goes_through_the_same_stages_in_the_worker(store: Store) -> None:
    def prepare(run: AgentRun) -> AgentRun | None:
        return None if run.output.text == "answer 1" else filter_run(max_remembered_messages=0)(run)

    app = TraceScore([first], rules=[Rule(first, prepare_run=prepare)])

    async def scenario() -> list[ScoreRow]:
        await put_runs(store, [talk(0), talk(1)])
        jobs = [
            dataclasses.replace(new_job(run, scorer_id="first", version="1"), source="manual")
            for run in (talk(0), talk(1))
        ]
        await store.jobs.plan(PROJECT, "default", jobs, now_ns=time.time_ns())
        await pump_all(store, app)
        return await all_scores(store)

    scores = run_sync(scenario())

    assert Counter((row.outcome, row.reason) for row in scores) == {
        ("score", None): 1,
        ("not_scorable", "prepare_run gave None"): 1,
    }
    assert [remembered(run) for _, run in judged] == [0]


def test_rules_for_one_scorer_have_one_prepare_run() -> None:
    same = [Rule(first, where={"agent": name}, prepare_run=filter_run(max_output_messages=3)) for name in ("a", "b")]

    assert len(TraceScore([first], rules=same).rule_set.stages("first")) == 1
    with pytest.raises(ConfigurationError, match="the rules for 'first' have different prepare_runs"):
        TraceScore([first], rules=[*same, Rule(first)])
    with pytest.raises(ConfigurationError, match="prepare_run must be a function"):
        TraceScore([first], prepare_run="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="rule for 'first': prepare_run must be a function"):
        Rule(first, prepare_run=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_rule_sets_hash_takes_prepare_run_in_and_the_rules_own_does_not() -> None:
    plain = TraceScore([first], rules=[Rule(first)])
    ruled = TraceScore([first], rules=[Rule(first, prepare_run=filter_run(max_output_messages=3))])
    whole = TraceScore([first], rules=[Rule(first)], prepare_run=filter_run(max_output_messages=3))
    other = TraceScore([first], rules=[Rule(first)], prepare_run=filter_run(max_output_messages=4))

    assert len({app.rule_set.hash for app in (plain, ruled, whole, other)}) == 4
    assert len({app.rule_set.rule_hashes for app in (plain, ruled, whole, other)}) == 1


def test_an_output_that_is_replaced_is_what_is_judged(store: Store) -> None:
    def shout(run: AgentRun) -> AgentRun:
        return dataclasses.replace(run, output=AgentOutput([text_message("assistant", run.output.text.upper())]))

    run_sync(score(store, TraceScore([first], prepare_run=shout), [make_run(7)]))

    assert [run.output.text for _, run in judged] == ["ANSWER 7"]
