"""Scorers that come with tracescore, made with the same builder as any other."""

from tracescore.prebuilt.rubric import create_rubric_scorer
from tracescore.prebuilt.rubric_criteria import CriterionLike, RubricCriterion, RubricLike

__all__ = ["CriterionLike", "RubricCriterion", "RubricLike", "create_rubric_scorer"]
