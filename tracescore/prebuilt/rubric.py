"""The rubric scorer: a judge holds a run against a checklist, and code draws the score from its verdicts."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tracescore.arguments import FLAG, TEXT, an, check, optional
from tracescore.errors import ConfigurationError
from tracescore.judge import UNSET, Given, Judge, JudgeModel
from tracescore.model import ScorerRun, SubScore
from tracescore.prebuilt.rubric_criteria import (
    NumberedCriterion,
    RubricLike,
    numbered,
    read_rubric,
    rubric_of,
)
from tracescore.prebuilt.rubric_prompt import INSTRUCTIONS, EvidenceKind, Verdict, rubric_prompt, verdicts_schema
from tracescore.prebuilt.rubric_reason import no_rubric_reason, rubric_reason
from tracescore.scorers import AskingContext, ReasonContext, Scorer, ScoreValue, StepContext, create_scorer

AnyRun: TypeAlias = ScorerRun[Any, Any]
Rubric: TypeAlias = tuple[NumberedCriterion, ...]
Verdicts: TypeAlias = Mapping[str, Verdict]

_UNANSWERED = Verdict(satisfied=False, reasoning="The judge gave no verdict on it, so it counts as not met.")


_ARGUMENTS = {
    "graded": FLAG,
    "judge": optional(an(Judge, "a Judge")),
    "name": optional(TEXT),
    "description": TEXT,
}


def create_rubric_scorer(
    *,
    model: Given[str | JudgeModel] = UNSET,
    criteria: RubricLike | None = None,
    scale: float = 1.0,
    graded: bool = False,
    evidence: EvidenceKind = "output",
    judge: Judge | None = None,
    id: str = "rubric-scorer",
    name: str | None = None,
    description: str = "Does the output meet the rubric?",
    prepare_run: Callable[[AnyRun], AnyRun | Awaitable[AnyRun]] | None = None,
    version: str | None = None,
) -> Scorer[AnyRun, Rubric, Verdicts]:
    """Make a scorer that gives the full score where the output meets every required criterion of a rubric, else 0.

    One judge call gives a verdict on each criterion; a verdict that is missing is asked for once more, and then the
    criterion is not met. Each criterion is a sub-score, 1 or 0, and the reason lists all of them and what is left to
    do. A run without any rubric gets the full score without a call, and stays out of production means.

    Args:
        model: the judge's model, as ``Judge(model=...)`` takes it; that of ``judge`` or of the app unless given.
        criteria: the rubric: text with one required criterion a line (list markers are stripped), or a list of texts,
            of ``RubricCriterion`` or of dicts with its fields. A criterion is required unless it says otherwise; where
            none is, all are. Without any, each run brings its own as ``rubric``, in its request context, its
            additional context or its input.
        scale: the full score.
        graded: give the weighted share of the criteria that are met, required or not, times ``scale``.
        evidence: ``"output"`` shows the judge texts and tool calls with their results; ``"text"`` the final text alone.
        judge: further settings of the judge, such as ``temperature`` or ``client``.
        id: the scorer's id; rubric scorers of one app need one each.
        name: for people; the id unless given.
        description: what the scorer looks at.
        prepare_run: changes the run before it is judged, such as ``filter_run(...)``.
        version: replaces the fingerprint of the rubric and of how it is judged.

    Raises:
        ConfigurationError: criteria that are none, or a scale that is not greater than 0.

    Example:
        >>> from tracescore.testing import FakeJudge
        >>> strict = FakeJudge(lambda request: {"c1": {"reasoning": "It has none.", "satisfied": False}})
        >>> rubric = create_rubric_scorer(model=strict, criteria="- Names its sources")
        >>> score = rubric.run_sync(input="How high is the tower?", output="300 m")
        >>> score.score, score.sub_scores[0].name
        (0.0, 'Names its sources')
    """
    check(
        "create_rubric_scorer", _ARGUMENTS, {"graded": graded, "judge": judge, "name": name, "description": description}
    )
    fixed = read_rubric(criteria, "create_rubric_scorer(criteria=...)")
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not math.isfinite(scale) or scale <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"create_rubric_scorer(scale={scale!r}): give a finite number greater than 0")
    if evidence not in ("output", "text"):
        raise ConfigurationError(f"create_rubric_scorer(evidence={evidence!r}): give 'output' or 'text'")
    full = float(scale)

    def find_rubric(ctx: StepContext[AnyRun, None, None]) -> Rubric:
        return numbered(fixed or rubric_of(ctx.run))

    async def judge_criteria(ctx: AskingContext[AnyRun, Rubric, None]) -> Verdicts:
        rubric = ctx.results.preprocess_step_result
        found = await _ask(ctx, rubric, evidence) if rubric else {}
        missing = [criterion for criterion in rubric if criterion.id not in found]
        if missing:
            found = {**found, **await _ask(ctx, missing, evidence)}
        return {criterion.id: found.get(criterion.id, _UNANSWERED) for criterion in rubric}

    def score(ctx: StepContext[AnyRun, Rubric, Verdicts]) -> ScoreValue:
        rubric, verdicts = ctx.results.preprocess_step_result, ctx.results.analyze_step_result
        if not rubric:
            return ScoreValue(score=full, counted=False)
        return ScoreValue(
            score=full * _share_met(rubric, verdicts, graded=graded),
            sub_scores=[
                SubScore(
                    name=criterion.name,
                    value=1.0 if verdicts[criterion.id].satisfied else 0.0,
                    reason=verdicts[criterion.id].reasoning or None,
                )
                for criterion in rubric
            ],
        )

    def reason(ctx: ReasonContext[AnyRun, Rubric, Verdicts, None]) -> str:
        rubric, verdicts = ctx.results.preprocess_step_result, ctx.results.analyze_step_result
        if not rubric:
            return no_rubric_reason()
        return rubric_reason(rubric, verdicts, graded=f"{ctx.score:.3g} of {full:g}" if graded else None)

    settings = (judge or Judge()).over(Judge(instructions=INSTRUCTIONS))
    return (
        create_scorer(
            id=id,
            name=name,
            description=description,
            judge=Judge(model=model).over(settings),
            prepare_run=prepare_run,
            score_range=(0.0, full),
            version=version,
        )
        .preprocess(find_rubric, description="Find the rubric")
        .analyze(judge_criteria, description="Judge each criterion", judge=Judge())
        .generate_score(score, description="The full score if every required criterion is met")
        .generate_reason(reason, description="List the criteria and what is left to do")
    )


async def _ask(
    ctx: AskingContext[AnyRun, Rubric, None], criteria: Sequence[NumberedCriterion], evidence: EvidenceKind
) -> dict[str, Verdict]:
    found: dict[str, Verdict] = await ctx.ask(
        rubric_prompt(ctx, criteria, evidence), output_schema=verdicts_schema(criteria)
    )
    return found


def _share_met(rubric: Rubric, verdicts: Verdicts, *, graded: bool) -> float:
    if not graded:
        return 1.0 if all(verdicts[criterion.id].satisfied for criterion in rubric if criterion.required) else 0.0
    met = [criterion for criterion in rubric if verdicts[criterion.id].satisfied]
    if len(met) == len(rubric):
        return 1.0
    share = math.fsum(criterion.weight for criterion in met) / math.fsum(criterion.weight for criterion in rubric)
    return min(share, math.nextafter(1.0, 0.0))  # the full score is for all criteria, however little one weighs
