"""What a scorer is made of, checked as it is built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from tracescore.arguments import FLAG, TEXT, Wanted, a_list, check, optional
from tracescore.errors import ConfigurationError, ScorerError
from tracescore.judge import UNSET, Judge, check_model
from tracescore.model import ScorerRun, StepName
from tracescore.scorers.fingerprint import scorer_matter, scorer_version
from tracescore.scorers.frozen import freeze_run
from tracescore.scorers.intake import take_agent_run, take_trajectory_run, take_typed_run, type_adapter
from tracescore.scorers.steps import PromptStep, Step, is_async_callable

ScorerType: TypeAlias = Literal["agent", "trajectory"] | None
READS = ("usage", "timing", "trajectory")
RUNNING = ("run", "run_sync", "run_many", "run_inline", "prepare", "prepare_inline", "run_prepared", "judged_hash")
ORDER: tuple[StepName, ...] = ("preprocess", "analyze", "generate_score", "generate_reason")


@dataclass(frozen=True, kw_only=True)
class ScorerDefinition:
    """A scorer's options and steps. Not slotted: the version is worked out once, when it is first asked for."""

    id: str
    name: str
    description: str
    type: ScorerType
    input_type: Any = None
    output_type: Any = None
    judge: Judge | None = None
    prepare_run: Callable[[Any], Any] | None = None
    score_range: tuple[float, float] | None = (0.0, 1.0)
    higher_is_better: bool = True
    reads: tuple[str, ...] = ()
    given_version: str | None = None
    steps: tuple[Step, ...] = field(default=())

    @property
    def version(self) -> str:
        """Give the version: the given one, else the fingerprint of what makes the scorer's result."""
        return self._version

    @cached_property
    def _version(self) -> str:
        if self.given_version is not None:
            return self.given_version
        return scorer_version(self.matter())

    def matter(self) -> dict[str, Any]:
        """Describe everything that makes the scorer's result: what its fingerprint is made of.

        Raises:
            ScorerError: something has no source or cannot be hashed.
        """
        return scorer_matter(
            scorer_id=self.id,
            steps=self.steps,
            judges=self.judges,
            prepare_run=self.prepare_run,
            types=(self.type, self.input_type, self.output_type),
            score_range=self.score_range,
            reads=self.reads,
        )

    @cached_property
    def is_async(self) -> bool:
        """Tell whether scoring must be awaited."""
        return (self.prepare_run is not None and is_async_callable(self.prepare_run)) or any(
            isinstance(step, PromptStep) or step.is_async for step in self.steps
        )

    @cached_property
    def _adapters(self) -> tuple[TypeAdapter[Any] | None, TypeAdapter[Any] | None]:
        return (
            None if self.input_type is None else type_adapter(self.input_type),
            None if self.output_type is None else type_adapter(self.output_type),
        )

    def take_in(self, run: ScorerRun[Any, Any]) -> ScorerRun[Any, Any]:
        """Give a run as one of this scorer's type that no step can change.

        Raises:
            UnsuitableRun: it is none.
        """
        if self.type == "agent":
            taken: ScorerRun[Any, Any] = take_agent_run(run)
        elif self.type == "trajectory":
            taken = take_trajectory_run(run)
        else:
            taken = take_typed_run(run, *self._adapters)
        freeze_run(taken)
        return taken

    @cached_property
    def judged_steps(self) -> tuple[Step, ...]:
        """Give the steps that ask a judge, or may."""
        return tuple(step for step in self.steps if isinstance(step, PromptStep) or step.judge is not None)

    @cached_property
    def judges(self) -> Mapping[StepName, Judge]:
        """Give the judge of each step that asks one: its own settings over the scorer's."""
        return {step.name: (step.judge or Judge()).over(self.judge) for step in self.judged_steps}

    def with_step(self, step: Step) -> ScorerDefinition:
        """Give the definition with one more step; the stages see to the order."""
        return replace(self, steps=(*self.steps, step))

    def error(self, message: str) -> ScorerError:
        """Give an error that names the scorer."""
        return ScorerError(f"scorer {self.id!r}: {message}")

    def unfinished(self) -> ScorerError:
        """Give the error of a scorer that is used without its score step."""
        steps = ", ".join(step.name for step in self.steps) or "none"
        return self.error(f"it has no generate_score step yet (steps: {steps}); add .generate_score(...)")

    def misplaced(self, name: str, stage: str) -> Exception:
        """Give the error of asking a stage for a name that it does not have."""
        if name in ORDER:
            last = self.steps[-1].name if self.steps else None
            if any(step.name == name for step in self.steps):
                return self.error(f"the step {name} is there already")
            if last is not None and ORDER.index(name) < ORDER.index(last):
                return self.error(f"{name} must come before {last}")
            return self.unfinished()
        if name in RUNNING:
            return self.unfinished()
        return AttributeError(f"{stage!r} object has no attribute {name!r}")

    @cached_property
    def has_judges(self) -> bool:
        """Tell that each judged step has a model and instructions from some level; looked at once.

        Raises:
            ScorerError: naming the scorer, the step and what is missing.
        """
        for step in self.judged_steps:
            judge = self.judges[step.name]
            missing = [word for word in ("model", "instructions") if _is_missing(getattr(judge, word))]
            if missing:
                kind = "prompt step" if isinstance(step, PromptStep) else "step"
                raise self.error(
                    f"its {kind} {step.name} has no judge {' and no '.join(missing)}; "
                    f"give judge=Judge({', '.join(f'{word}=...' for word in missing)}) "
                    "to the step, the scorer or the TraceScore app"
                )
            try:
                check_model(judge)
            except ConfigurationError as error:
                raise self.error(str(error)) from error
        return True


def _is_missing(setting: Any) -> bool:
    return setting is UNSET or setting is None or (isinstance(setting, str) and not setting.strip())


_OPTIONS: Mapping[str, Wanted] = {
    "score_range": Wanted(
        words="the lowest and the highest score, such as (0, 1), or None for a free scale",
        fits=lambda value: value is None or (isinstance(value, (tuple, list)) and _are_two_numbers(*value)),
    ),
    "reads": a_list(f"a list of {', '.join(map(repr, READS))}"),
    "version": optional(TEXT),
    "name": optional(TEXT),
    "description": TEXT,
    "higher_is_better": FLAG,
}


def _are_two_numbers(*values: Any) -> bool:
    return (
        len(values) == 2 and all(isinstance(value, (int, float)) for value in values) and bool not in map(type, values)
    )


def checked_options(
    *, id: str, score_range: tuple[float, float] | None, reads: Sequence[str], version: str | None, **others: Any
) -> tuple[float, float] | None:
    """Check the options of a scorer and give its range as floats.

    Raises:
        ScorerError: an option of another kind, an empty id, a range that is none, an unknown word in ``reads``, an
            empty version.
    """
    if not isinstance(id, str) or not id.strip():  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
        raise ScorerError("a scorer needs an id: create_scorer(id=...)")
    options = {"score_range": score_range, "reads": reads, "version": version, **others}
    check(f"scorer {id!r}: create_scorer", _OPTIONS, options, ScorerError)
    if version is not None and not version.strip():
        raise ScorerError(f"scorer {id!r}: version= is empty")
    for word in reads:
        if word not in READS:
            near = get_close_matches(str(word), READS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(READS)}"
            raise ScorerError(f"scorer {id!r}: reads {word!r} is unknown{hint}")
    if score_range is None:
        return None
    low, high = float(score_range[0]), float(score_range[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ScorerError(f"scorer {id!r}: score_range {score_range!r} needs two finite numbers, the lower one first")
    return (low, high)
