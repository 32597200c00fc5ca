"""The reason of a rubric's score: what an agent can act on, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracescore.prebuilt.rubric_criteria import NumberedCriterion
from tracescore.prebuilt.rubric_prompt import Verdict


def no_rubric_reason() -> str:
    """Give the reason of a run that had nothing to be held to."""
    return "Rubric met: the run has no rubric, so there was nothing to check."


def rubric_reason(
    rubric: Sequence[NumberedCriterion], verdicts: Mapping[str, Verdict], *, graded: str | None = None
) -> str:
    """Write the reason: the verdict, each criterion with what was found, and what is left to do.

    Args:
        rubric: the criteria, in order.
        verdicts: by the criteria's ids.
        graded: the graded score in words; then unmet optional criteria are left to do as well.
    """
    required = [criterion for criterion in rubric if criterion.required]
    unmet = [criterion for criterion in required if not verdicts[criterion.id].satisfied]
    left = [criterion for criterion in rubric if not verdicts[criterion.id].satisfied] if graded else unmet
    counted = f"{len(required) - len(unmet)} of {len(required)} required criteria met"
    lines = [f"Rubric {'not met' if unmet else 'met'}: {counted}{f'; graded {graded}' if graded else ''}.", ""]
    for criterion in rubric:
        verdict = verdicts[criterion.id]
        mark, word = ("✓", "met") if verdict.satisfied else ("✗", "not met")
        kind = "required" if criterion.required else "optional"
        lines.append(f"{mark} [{kind}] {_line(criterion.description)}: {word}")
        if verdict.reasoning:
            lines.append(f"    {verdict.reasoning}")
    lines += ["", "Left to do:" if left else "Nothing required is left to do."]
    lines += [f"- {_line(criterion.description)}" for criterion in left]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())
