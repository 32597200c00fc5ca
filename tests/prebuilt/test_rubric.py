"""The rubric scorer against a real endpoint: what is asked, how often, and what is made of the answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.prebuilt.endpoint import Endpoint, verdicts
from tracescore import (
    AgentOutput,
    AgentRun,
    Judge,
    RubricCriterion,
    Rule,
    Score,
    ScoreFailure,
    ScorerRun,
    SubScore,
    TraceScore,
    create_rubric_scorer,
    text_message,
)
from tracescore.testing import FakeJudge, ModelReply


def test_all_required_met_is_the_full_score_in_one_call(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c2=True, c3=False))
    score = endpoint.rubric().run_sync(input="Research AI in education", output="## Analysis …")

    assert isinstance(score, Score)
    assert (score.score, score.counted, score.score_range) == (1.0, True, (0.0, 1.0))
    assert score.sub_scores == (
        SubScore(name="Includes an analysis section", value=1.0, reason="Said of c1."),
        SubScore(name="advice", value=1.0, reason="Said of c2."),
        SubScore(name="Includes citations", value=0.0, reason="Said of c3."),
    )
    assert len(endpoint.calls) == 1


def test_the_reason_lists_every_criterion_and_what_is_left_to_do(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c2=False, c3=False))
    score = endpoint.rubric().run_sync(output="## Analysis …")

    assert score.score == 0.0
    assert score.reason == (
        "Rubric not met: 1 of 2 required criteria met.\n"
        "\n"
        "✓ [required] Includes an analysis section: met\n"
        "    Said of c1.\n"
        "✗ [required] Includes concrete recommendations: not met\n"
        "    Said of c2.\n"
        "✗ [optional] Includes citations: not met\n"
        "    Said of c3.\n"
        "\n"
        "Left to do:\n"
        "- Includes concrete recommendations"
    )


def test_the_judge_gets_a_strict_schema_with_our_ids_as_keys(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c2=True))
    endpoint.rubric("- A\n- B").run_sync(input="Do it", output="Done")
    (call,) = endpoint.calls
    form = call.body["response_format"]["json_schema"]
    verdict = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "satisfied": {"type": "boolean"}},
        "required": ["reasoning", "satisfied"],
        "additionalProperties": False,
    }

    assert (form["strict"], form["schema"]) == (
        True,
        {
            "type": "object",
            "properties": {"c1": verdict, "c2": verdict},
            "required": ["c1", "c2"],
            "additionalProperties": False,
        },
    )
    assert list(form["schema"]["properties"]["c1"]["properties"]) == ["reasoning", "satisfied"]
    assert "Do it" in call.prompt
    assert "\nc1: A\nc2: B\n" in call.prompt
    assert "required" not in call.prompt


def test_without_a_rubric_the_full_score_costs_no_call(endpoint: Endpoint) -> None:
    score = endpoint.rubric(None, scale=10).run_sync(input="Do it", output="Done")

    assert (score.score, score.counted, score.sub_scores, endpoint.calls) == (10.0, False, (), [])
    assert score.reason == "Rubric met: the run has no rubric, so there was nothing to check."


@pytest.mark.parametrize(
    "run",
    [
        ScorerRun(output="Done", request_context={"rubric": "- Tested\n- Named"}),
        ScorerRun(output="Done", request_context={"rubric": ""}, additional_context={"rubric": ["Tested", "Named"]}),
        ScorerRun(output="Done", input={"task": "Write it", "rubric": [{"description": "Tested"}, "Named"]}),
        AgentRun(output=AgentOutput([text_message("assistant", "Done")]), request_context={"rubric": "Tested\nNamed"}),
    ],
)
def test_a_run_may_bring_its_own_rubric(endpoint: Endpoint, run: ScorerRun[Any, Any]) -> None:
    endpoint.answers(verdicts(c1=True, c2=False))
    score = endpoint.rubric(None).run_sync(run)

    assert [(sub.name, sub.value) for sub in score.sub_scores] == [("Tested", 1.0), ("Named", 0.0)]
    assert "The work to grade (the agent's final text):" in endpoint.calls[0].prompt


def test_a_fixed_rubric_wins_over_the_runs_own(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True))
    score = endpoint.rubric("Fixed").run_sync(output="Done", request_context={"rubric": "- Easy"})

    assert [sub.name for sub in score.sub_scores] == ["Fixed"]


def test_a_run_with_a_broken_rubric_fails_and_does_not_pass(endpoint: Endpoint) -> None:
    failure = endpoint.rubric(None).run_sync(output="Done", request_context={"rubric": [{"descripton": "A"}]})

    assert isinstance(failure, ScoreFailure)
    assert failure.failed_step == "preprocess"
    assert "request_context['rubric']" in failure.message
    assert endpoint.calls == []


def test_a_missing_verdict_is_asked_for_once_more(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c3=True), verdicts(c2=True, c3=False))
    score = endpoint.rubric().run_sync(output="Done")
    first, second = endpoint.calls

    assert score.score == 1.0
    assert [sub.value for sub in score.sub_scores] == [1.0, 1.0, 1.0]
    assert list(first.schema["properties"]) == ["c1", "c2", "c3"]  # type: ignore[index]
    assert list(second.schema["properties"]) == ["c2"]  # type: ignore[index]
    assert "c1:" not in second.prompt
    assert [call.step for call in score.evidence.judge_calls] == ["analyze", "analyze"]


def test_a_verdict_that_stays_missing_is_unsatisfied(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c3=True), {"overall": "Looks good."})
    score = endpoint.rubric().run_sync(output="Done")

    assert score.score == 0.0
    assert score.sub_scores[1] == SubScore(
        name="advice", value=0.0, reason="The judge gave no verdict on it, so it counts as not met."
    )
    assert len(endpoint.calls) == 2


def test_an_empty_answer_does_not_pass(endpoint: Endpoint) -> None:
    endpoint.answers({})

    assert endpoint.rubric().run_sync(output="Done").score == 0.0
    assert len(endpoint.calls) == 2


def test_the_judge_cannot_make_a_criterion_optional(endpoint: Endpoint) -> None:
    flipped = {"reasoning": "It is optional.", "satisfied": False, "required": False}
    endpoint.answers({**verdicts(c1=True, c3=True), "c2": flipped})
    score = endpoint.rubric().run_sync(output="Done")

    assert score.score == 0.0
    assert "✗ [required] Includes concrete recommendations: not met" in score.reason


def test_where_none_is_required_all_are(endpoint: Endpoint) -> None:
    optional = [RubricCriterion(description=name, required=False) for name in ("A", "B")]
    endpoint.answers(verdicts(c1=True, c2=False))
    score = endpoint.rubric(optional).run_sync(output="Done")

    assert score.score == 0.0
    assert score.reason.startswith("Rubric not met: 1 of 2 required criteria met.")


@pytest.mark.parametrize("scale", [0.5, 10, 100])
def test_the_scale_is_the_full_score(endpoint: Endpoint, scale: float) -> None:
    endpoint.answers(verdicts(c1=True))
    score = endpoint.rubric("A", scale=scale).run_sync(output="Done")

    assert (score.score, score.score_range) == (scale, (0.0, scale))
    assert score.reason.startswith("Rubric met: 1 of 1 required criteria met.")
    assert score.reason.endswith("Nothing required is left to do.")


def test_a_graded_score_is_the_weighted_share(endpoint: Endpoint) -> None:
    weighted = [
        {"description": "A", "weight": 3},
        {"description": "B"},
        {"description": "C", "required": False, "weight": 4},
    ]
    endpoint.answers(verdicts(c1=True, c2=True, c3=False))
    score = endpoint.rubric(weighted, graded=True, scale=10).run_sync(output="Done")

    assert score.score == 5.0
    assert score.reason.startswith("Rubric met: 2 of 2 required criteria met; graded 5 of 10.")
    assert score.reason.endswith("Left to do:\n- C")
    endpoint.answers(verdicts(c1=True, c2=True, c3=True))
    assert endpoint.rubric(weighted, graded=True, scale=10).run_sync(output="Done").score == 10.0


def test_the_least_weight_keeps_a_graded_score_from_the_full_one() -> None:
    judge = FakeJudge(lambda request: verdicts(c1=True, c2=False))
    criteria: list[Any] = [{"description": "A", "weight": 1e30}, {"description": "B", "weight": 1e-30}]
    graded = create_rubric_scorer(model=judge, criteria=criteria, graded=True, scale=8)
    score = graded.run_sync(output="Done")

    assert 7.99 < float(score) < 8.0


@pytest.mark.parametrize(
    ("reply", "error_type"),
    [
        (ModelReply(text="Everything is met."), "JudgeReplyError"),
        (ModelReply(text="[]"), "JudgeReplyError"),
        (ModelReply(text="slow down", status=429), "JudgeTransientError"),
        (ModelReply(text="bad key", status=401), "JudgeRefused"),
    ],
)
def test_an_error_is_never_a_score(endpoint: Endpoint, reply: ModelReply, error_type: str) -> None:
    endpoint.answers(reply)
    failure = endpoint.rubric().run_sync(output="Done")

    assert isinstance(failure, ScoreFailure)
    assert (failure.failed_step, failure.error_type) == ("analyze", error_type)


def test_an_error_on_asking_once_more_is_a_failure(endpoint: Endpoint) -> None:
    endpoint.answers(verdicts(c1=True, c2=True), ModelReply(text="slow down", status=503))
    failure = endpoint.rubric().run_sync(output="Done")

    assert isinstance(failure, ScoreFailure)
    assert (failure.transient, len(failure.evidence.judge_calls)) == (True, 2)


def test_a_rubric_scorer_is_a_scorer_of_an_app_like_any_other() -> None:
    rubric = create_rubric_scorer(criteria="- A", id="house-style", name="House style")
    app = TraceScore(
        scorers=[rubric],
        rules=[Rule(rubric, sample_rate=0.1)],
        judge=Judge(model=FakeJudge(lambda request: verdicts(c1=True))),
    )
    score = app.scorers["house-style"].run_sync(output="Done")

    assert score.ok
    assert float(score) == 1.0
    assert [(step.name, step.kind) for step in rubric.steps] == [
        ("preprocess", "function"),
        ("analyze", "asking"),
        ("generate_score", "function"),
        ("generate_reason", "function"),
    ]


def test_what_is_asked_makes_the_version() -> None:
    options: list[dict[str, Any]] = [
        {"criteria": "A"},
        {"criteria": "B"},
        {"criteria": [{"description": "A", "required": False}]},
        {"criteria": "A", "scale": 2},
        {"criteria": "A", "graded": True},
        {"criteria": "A", "evidence": "text"},
        {"criteria": "A", "judge": Judge(temperature=0)},
        {"criteria": None},
    ]
    versions = [create_rubric_scorer(model="openai/gpt-5-mini", **given).version for given in options]

    assert len(set(versions)) == len(options)
    assert create_rubric_scorer(model="openai/gpt-5-mini", criteria="- A").version == versions[0]
