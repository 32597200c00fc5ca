"""Scorers: named, versioned pipelines of steps that give a run's score."""

from tracescore.scorers.builder import BeforeAnalyze, BeforePreprocess, BeforeReason, BeforeScore, Stage
from tracescore.scorers.context import (
    AskingContext,
    CalculateContext,
    ReasonContext,
    ScorerView,
    StepContext,
    StepResults,
)
from tracescore.scorers.creating import create_scorer, scorer
from tracescore.scorers.filtering import FilterChain, RunFilter, filter_run
from tracescore.scorers.prepare import PreparedRun
from tracescore.scorers.running import Scorer, StepDescription
from tracescore.scorers.value import InvalidScore, NotScorableSignal, ScoreLike, ScoreValue, not_scorable

__all__ = [
    "AskingContext",
    "BeforeAnalyze",
    "BeforePreprocess",
    "BeforeReason",
    "BeforeScore",
    "CalculateContext",
    "FilterChain",
    "InvalidScore",
    "NotScorableSignal",
    "PreparedRun",
    "ReasonContext",
    "RunFilter",
    "ScoreLike",
    "ScoreValue",
    "Scorer",
    "ScorerView",
    "Stage",
    "StepContext",
    "StepDescription",
    "StepResults",
    "create_scorer",
    "filter_run",
    "not_scorable",
    "scorer",
]
