"""Assembly: the spans of a trace become its set of runs."""

from tracescore.pipeline.assembly.explanation import ExplainedSpan, Explanation, explain
from tracescore.pipeline.assembly.target import read_target
from tracescore.pipeline.assembly.trace_runs import AssembledRun, assemble, assemble_all, read_trajectory

__all__ = [
    "AssembledRun",
    "ExplainedSpan",
    "Explanation",
    "assemble",
    "assemble_all",
    "explain",
    "read_target",
    "read_trajectory",
]
