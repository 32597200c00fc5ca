"""A scorer's version: a fingerprint of everything that makes its result.

It covers the source of the steps and of what they reach in the user's own package, captured values and defaults,
plain constants, prompts, schemas, judge settings (never keys) and the range. It is equal on every supported Python
and machine, since it hashes text and values, never bytecode, paths or module names. Imports inside a function are
not followed, and neither is code installed from elsewhere: its names count, not its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from tracescore.errors import ScorerError
from tracescore.judge import Judge
from tracescore.model import StepName
from tracescore.scorers.canonical import Canonical, Unhashable
from tracescore.scorers.own_code import OwnCode
from tracescore.scorers.source import NoSource
from tracescore.scorers.steps import FunctionStep, Step

ALGORITHM = 1
"""Stands before each version; changed with the rules here, so that no version means two things."""


def scorer_version(matter: Mapping[str, Any]) -> str:
    """Give the version of what ``scorer_matter`` described."""
    encoded = orjson.dumps(matter, option=orjson.OPT_SORT_KEYS)
    return f"{ALGORITHM}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def scorer_matter(
    *,
    scorer_id: str,
    steps: Sequence[Step],
    judges: Mapping[StepName, Judge],
    prepare_run: Callable[[Any], Any] | None,
    types: Sequence[Any],
    score_range: tuple[float, float] | None,
    reads: Sequence[str],
) -> dict[str, Any]:
    """Describe everything that makes a scorer's result, as JSON.

    Raises:
        ScorerError: something has no source or cannot be hashed; ``version=`` is required then.
    """
    functions = [function for step in steps for function in _functions_of(step)]
    if prepare_run is not None:
        functions.append(prepare_run)
    canonical = Canonical(OwnCode(map(_bare, functions)))
    described: dict[str, Any] = {"range": score_range, "reads": sorted(reads), "steps": []}
    where = "prepare_run"
    try:
        described["prepare_run"] = canonical.value(prepare_run)
        where = "input_type or output_type"
        described["types"] = [canonical.value(kind) for kind in types]
        for step in steps:
            where = f"step {step.name}"
            described["steps"].append(_described(step, judges, canonical))
    except Unhashable as error:
        raise ScorerError(
            f"scorer {scorer_id!r}: {where} depends on {error}, which cannot be hashed; give version="
        ) from error
    except NoSource as error:
        raise ScorerError(f"scorer {scorer_id!r}: {where} has no source to read ({error}); give version=") from error
    return described


def _described(step: Step, judges: Mapping[StepName, Judge], canonical: Canonical) -> dict[str, Any]:
    if isinstance(step, FunctionStep):
        described = {"name": step.name, "function": canonical.value(step.function)}
        if step.judge is not None:
            described["judge"] = canonical.value(judges[step.name].fingerprint())
        return described
    # A schema's class is read beside its JSON Schema: validators of the user's own are in the class alone.
    is_class = step.schema_source is not None and not isinstance(step.schema_source, Mapping)
    return {
        "name": step.name,
        "create_prompt": canonical.value(step.create_prompt),
        "schema": None if step.schema is None else step.schema.json_schema,
        "schema_type": canonical.value(step.schema_source) if is_class else None,
        "judge": canonical.value(judges[step.name].fingerprint()),
        "calculate_score": canonical.value(step.calculate_score),
    }


def _functions_of(step: Step) -> list[Callable[..., Any]]:
    if isinstance(step, FunctionStep):
        return [step.function]
    return [function for function in (step.create_prompt, step.calculate_score) if function is not None]


def _bare(function: Any) -> Any:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    function = getattr(function, "__func__", function)
    return function if hasattr(function, "__qualname__") else type(function)
