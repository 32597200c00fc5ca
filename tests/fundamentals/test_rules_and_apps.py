"""Rules say which runs a scorer sees; an app holds scorers and rules."""

from __future__ import annotations

import pytest

from tracescore import AgentRun, ConfigurationError, Judge, Rule, Target, TraceScore, create_scorer, scorer
from tracescore.testing import FakeJudge


@scorer(id="brevity")
def brevity(run: AgentRun) -> float:
    return 1.0 if len(run.output.text) < 280 else 0.5


polite = create_scorer(
    id="polite", type="agent", judge=Judge(model=FakeJudge(), instructions="You grade manners.")
).generate_score(description="Grade the manners", create_prompt=lambda ctx: "Grade.")


def run_of(agent: str, *, trace: int = 0) -> AgentRun:
    trace_id = f"{trace:032x}"
    return AgentRun(run_id=trace_id, agent_name=agent, target=Target(trace_id=trace_id))


def test_without_rules_every_scorer_sees_every_run() -> None:
    """The simplest app is a list of scorers."""
    app = TraceScore(scorers=[brevity])

    assert [planned.scorer.id for planned in app.rule_set.match(run_of("writer"))] == ["brevity"]


def test_a_rule_says_which_runs_a_scorer_sees() -> None:
    """Conditions in `where` must all hold; a list is "one of these"."""
    app = TraceScore(scorers=[brevity], rules=[Rule(brevity, where={"agent": ["writer", "editor"]})])

    assert len(app.rule_set.match(run_of("writer"))) == 1
    assert len(app.rule_set.match(run_of("supervisor"))) == 0


def test_a_rule_may_sample() -> None:
    """The trace's id decides, so that every machine decides alike; the score keeps its probability."""
    app = TraceScore(scorers=[brevity], rules=[Rule(brevity, sample_rate=0.25)])

    planned = [app.rule_set.match(run_of("writer", trace=trace)) for trace in range(400)]

    assert 60 < sum(map(len, planned)) < 140
    assert {plan.probability for plans in planned for plan in plans} == {0.25}


def test_a_rule_on_a_judge_states_its_share() -> None:
    """Judges cost money: how often one is asked is said, not assumed."""
    with pytest.raises(ConfigurationError, match="state sample_rate="):
        Rule(polite)

    assert Rule(polite, sample_rate=1).rate == 1.0


def test_typing_errors_fail_when_the_app_is_built() -> None:
    """The message names what was probably meant."""
    with pytest.raises(ConfigurationError, match="'enviroment' is unknown; did you mean 'environment'"):
        Rule(brevity, where={"enviroment": "production"})
    with pytest.raises(ConfigurationError, match=r"'brevty'.*did you mean 'brevity'"):
        TraceScore(scorers=[brevity], rules=[Rule("brevty")])


def test_an_app_may_have_a_default_judge() -> None:
    """It holds where neither a scorer nor its step says otherwise."""
    undecided = create_scorer(id="undecided", type="agent").generate_score(
        description="Grade", create_prompt=lambda ctx: "Grade."
    )
    judge = Judge(model=FakeJudge(lambda request: {"score": 0.75}), instructions="You grade.")

    app = TraceScore(scorers=[undecided], judge=judge)

    assert float(app.scorers["undecided"].run_sync(output="Sunny.")) == 0.75
