"""Rules: what a scorer sees, and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracescore import AgentRun, ConfigurationError, Rule, Score, ScorerRun, Target, create_scorer, scorer
from tracescore.model import RunKind
from tracescore.pipeline.rules import Planned, RuleSet, sample_number


@scorer(id="a")
def first(run: AgentRun) -> float:
    return 1.0


@scorer(id="b")
def second(run: AgentRun) -> float:
    return 1.0


SCORERS = {"a": first, "b": second}
RUN = AgentRun(
    run_id="r",
    target=Target(trace_id="0" * 32, span_id="1" * 16),
    agent_name="writer",
    service="shop",
    environment="production",
    session_id="s-1",
    tags=("beta", "eu"),
    attributes={"tenant": "acme", "tier": 1, "trial": True},
)


def rules(*given: Rule) -> RuleSet:
    return RuleSet(given, scorers=SCORERS)


@pytest.mark.parametrize(
    ("where", "sees"),
    [
        ({}, True),
        ({"agent": "writer"}, True),
        ({"agent": "editor"}, False),
        ({"agent": ["editor", "writer"]}, True),
        ({"agent": []}, False),
        ({"agent": "writer", "service": "shop", "environment": "production", "session": "s-1"}, True),
        ({"agent": "writer", "service": "other"}, False),
        ({"status": "ok"}, True),
        ({"status": ["error", "paused"]}, False),
        ({"tags": "beta"}, True),
        ({"tags": ["us", "eu"]}, True),
        ({"tags": "us"}, False),
        ({"attributes.tenant": "acme"}, True),
        ({"attributes.tier": 1}, True),
        ({"attributes.tier": True}, False),
        ({"attributes.trial": True}, True),
        ({"attributes.trial": 1}, False),
        ({"attributes.none": None}, True),
        ({"attributes.none": "acme"}, False),
        ({"session": None}, False),
    ],
)
def test_conditions_must_all_hold(where: dict[str, Any], sees: bool) -> None:
    assert Rule(first, where=where).sees(RUN) is sees


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        (Rule(first), {("agent", True), ("trace", True)}),
        (Rule(first, nested=True), {("agent", True), ("agent", False), ("trace", True)}),
        (Rule(first, where={"agent": "writer"}), {("agent", True), ("agent", False), ("trace", True)}),
        (Rule(first, kind="agent"), {("agent", True)}),
        (Rule(first, kind="tool"), {("tool", True), ("tool", False)}),
        (Rule(first, kind="workflow"), {("workflow", True)}),
        (Rule(first, kind="workflow", nested=True), {("workflow", True), ("workflow", False)}),
        (Rule(first, kind="session"), {("session", True)}),
    ],
)
def test_a_rule_sees_outermost_runs_unless_it_says_otherwise(rule: Rule, kinds: set[tuple[str, bool]]) -> None:
    every: list[tuple[RunKind, bool]] = [
        (kind, outermost) for kind in ("agent", "trace", "tool", "workflow", "session") for outermost in (True, False)
    ]

    assert {
        (kind, outermost)
        for kind, outermost in every
        if (kind, outermost) not in {("trace", False), ("session", False)}
        and rule.sees(replace(RUN, kind=kind, outermost=outermost))
    } == kinds


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rule(first, where={"agnt": "x"}), "where key 'agnt' is unknown; did you mean 'agent'"),
        (
            lambda: Rule(first, where={"agent": 5}),
            "where 'agent' is 5, which no run has: give a text, or a list of texts; ",
        ),
        (lambda: Rule(first, where={"agent": ["x", True]}), "where 'agent' is .*True"),
        (lambda: Rule(first, where={"tags": None}), "where 'tags' is None, which no run has"),
        (lambda: Rule(first, where={"attributes.": "x"}), "where key 'attributes.' is unknown"),
        (lambda: Rule(first, where={"attribute.x": "x"}), "did you mean 'attributes.<name>'"),
        (lambda: Rule(first, where={"modl": "x"}, kind="llm"), "where key 'modl' is unknown; did you mean 'model'"),
        (lambda: Rule(first, where={"tool": "x"}), "where key 'tool' is none of kind 'agent'"),
        (lambda: Rule(first, where={"model": "x"}, kind="tool"), "where key 'model' is none of kind 'tool'"),
        (lambda: Rule(first, where={"nam": "x"}, kind="step"), "where key 'nam' is unknown; did you mean 'name'"),
        (lambda: Rule(first, where={"status": "eror"}), "status 'eror' is none; did you mean 'error'"),
        (lambda: Rule(first, sample_rate=1.5), "sample_rate 1.5 is not between 0 and 1"),
        (lambda: Rule(first, sample_rate=-0.1), "is not between 0 and 1"),
        (lambda: Rule(first, sample_rate=float("nan")), "is not between 0 and 1"),
        (lambda: Rule(first, sample_rate=True), "is not between 0 and 1"),
        (lambda: Rule(first, kind="tol"), "kind 'tol' is unknown; did you mean 'tool'"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: Rule(3), "takes scorers, not int"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: Rule(create_scorer(id="x")), "'x': it has no generate_score step"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: rules(Rule("c")), "names the scorer 'c', which the app does not have"),
    ],
)
def test_rules_that_cannot_work_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build()


@pytest.mark.parametrize(
    ("kind", "where", "sees"),
    [
        ("llm", {"model": "small", "agent": "writer"}, True),
        ("llm", {"model": "large"}, False),
        ("llm", {"provider": ["openai"]}, True),
        ("tool", {"tool": "search"}, True),
        ("tool", {"tool": ["fetch"]}, False),
        ("step", {"name": "search"}, True),
        ("session", {"session": "s-1", "model": "small"}, True),
        ("span", {"name": "other", "service": "shop"}, False),
    ],
)
def test_each_kind_has_conditions_of_its_own(kind: RunKind, where: dict[str, Any], sees: bool) -> None:
    run = replace(RUN, kind=kind, name="search", model="small", provider="openai")

    assert Rule(first, kind=kind, where=where).sees(run) is sees


@pytest.mark.parametrize(
    ("rule", "sees"),
    [
        (Rule(first), False),
        (Rule(first, nested=True, kind="agent"), False),
        (Rule(first, paused=True), True),
        (Rule(first, where={"status": "paused"}), True),
        (Rule(first, where={"status": ["ok", "error"]}, paused=True), False),
    ],
)
def test_a_run_that_waits_is_seen_only_by_who_asks_for_it(rule: Rule, sees: bool) -> None:
    assert rule.sees(replace(RUN, status="paused")) is sees


def test_rules_say_which_kinds_are_stored_for_them() -> None:
    assert rules(Rule(first), Rule(first, kind="trace")).kinds == frozenset()
    assert rules(Rule(first, kind="tool"), Rule(second, kind="session")).kinds == {"tool", "session"}


def test_the_highest_rate_of_the_rules_that_fit_is_the_probability() -> None:
    seldom, often = Rule(first, sample_rate=0.2), Rule(first, where={"agent": "writer"}, sample_rate=0.7)
    elsewhere = Rule(first, where={"agent": "editor"}, sample_rate=1.0)

    decided = rules(seldom, often, elsewhere, Rule("b")).decide(RUN)

    assert decided == [
        Planned(scorer=first, probability=0.7, rule=often, sampled_in=sample_number(RUN) < 0.7),
        Planned(scorer=second, probability=1.0, rule=Rule("b"), sampled_in=True),
    ]


def traced(number: int) -> AgentRun:
    return replace(RUN, target=Target(trace_id=f"{number:032x}"))


def test_a_rate_of_one_takes_all_and_of_zero_none() -> None:
    runs = [traced(number) for number in range(50)]

    assert all(rules(Rule(first, sample_rate=1)).match(run) for run in runs)
    assert not any(rules(Rule(first, sample_rate=0)).match(run) for run in runs)


@given(number=st.integers(0, 2**128 - 1), low=st.floats(0, 1), high=st.floats(0, 1))
def test_what_a_low_rate_takes_a_higher_one_takes_too(number: int, low: float, high: float) -> None:
    low, high = sorted((low, high))
    run = traced(number)

    if rules(Rule(first, sample_rate=low)).match(run):
        assert rules(Rule(first, sample_rate=high)).match(run)


def test_the_draw_is_the_traces_and_equal_on_every_machine() -> None:
    assert sample_number(RUN) == 0.5190544675521428
    assert sample_number(RUN) == sample_number(replace(RUN, run_id="other", session_id="other"))
    assert sample_number(replace(RUN, kind="session")) != sample_number(RUN)
    assert 0 <= sample_number(ScorerRun(run_id="no trace")) < 1


def test_live_rules_do_not_see_what_arrived_before_they_were_first_seen() -> None:
    old, new = Rule(first, sample_rate=0.9), Rule(first, sample_rate=1.0, where={"agent": "writer"})
    both = rules(old, new)
    seen = {old.hash: 100, new.hash: 200}

    def probability(arrived: int, **options: Any) -> list[float]:
        return [
            plan.probability
            for plan in both.decide(
                RUN, first_arrival_ns=arrived, first_seen=options.pop("first_seen", seen), **options
            )
        ]

    assert (probability(50), probability(150), probability(200)) == ([], [0.9], [1.0])
    assert probability(50, source="backfill") == [1.0]
    assert probability(500, first_seen={}) == []


def test_a_rate_change_leaves_the_rule_the_same_rule() -> None:
    before, after = Rule(first, sample_rate=0.1), Rule(first, sample_rate=0.2)

    assert before.hash == after.hash
    assert rules(before).hash != rules(after).hash
    assert Rule(first).hash != Rule(first, nested=True).hash != Rule(second, nested=True).hash


def test_rule_sets_are_plain_json_and_equal_where_they_say_the_same() -> None:
    one = rules(Rule(first, where={"agent": "x", "tags": ("a", "b")}))
    other = rules(Rule("a", where={"tags": ["a", "b"], "agent": ["x"]}, sample_rate=1))

    assert one.spec() == [
        {
            "scorer": "a",
            "where": {"agent": ["x"], "tags": ["a", "b"]},
            "sample_rate": 1.0,
            "kind": None,
            "nested": False,
        }
    ]
    assert (one.hash, one.rule_hashes) == (other.hash, other.rule_hashes)


def test_a_planned_scorer_is_the_apps_own() -> None:
    """The app may have given it a default judge: the rule's own object is not what runs."""
    bound = create_scorer(id="a", type="agent", version="bound").generate_score(lambda ctx: 0.5)

    [planned] = RuleSet([Rule(first)], scorers={"a": bound}).match(RUN)

    score = planned.scorer.run_sync(RUN)
    assert isinstance(score, Score)
    assert score.scorer_version == "bound"
