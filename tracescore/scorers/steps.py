"""The two kinds of steps: a function of the user's own, and a prompt to the judge."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tracescore.arguments import TEXT, check
from tracescore.errors import ConfigurationError, ScorerError
from tracescore.judge import Judge, OutputSchema, output_schema
from tracescore.model import StepName


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionStep:
    """A step that is a function of the user's own."""

    name: StepName
    description: str
    function: Callable[..., Any]
    call: Callable[[Any], Any]
    """The function as it is called: with the step's context."""
    is_async: bool
    judge: Judge | None = None
    """What its ``ctx.ask`` asks; None for a function that asks no judge."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptStep:
    """A step that asks the judge."""

    name: StepName
    description: str
    create_prompt: Callable[[Any], Any]
    schema_source: Any
    schema: OutputSchema | None
    judge: Judge | None
    calculate_score: Callable[[Any], Any] | None = None


Step: TypeAlias = FunctionStep | PromptStep

_DESCRIPTION = {"description": TEXT}


def check_takes_one(where: str, function: Callable[..., Any], takes: str = "the step's context") -> None:
    """Refuse a function that cannot be called with one argument; what has no signature to read is let through.

    Raises:
        ScorerError: saying where.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins say nothing
        return
    try:
        signature.bind(None)
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise ScorerError(f"{where} takes one argument, {takes}; {name}{signature} does not: {error}") from error


def function_step(
    scorer_id: str,
    name: StepName,
    function: Any,
    description: str,
    *,
    takes: str = "the step's context",
    judge: Any = None,
) -> FunctionStep:
    """Build a function step.

    Raises:
        ScorerError: what cannot be called, or not with one argument; what cannot ask the judge that it is given.
    """
    check(f"scorer {scorer_id!r}: {name}", _DESCRIPTION, {"description": description}, ScorerError)
    if not callable(function):
        raise ScorerError(
            f"scorer {scorer_id!r}: {name} needs a function, or the keywords description and create_prompt; "
            f"got {function!r:.80}"
        )
    check_takes_one(f"scorer {scorer_id!r}: {name}", function, takes)
    is_async = is_async_callable(function)
    if judge is not None:
        if not isinstance(judge, Judge):
            raise ScorerError(f"scorer {scorer_id!r}: {name}: judge= takes a Judge, not {type(judge).__name__}")
        if not is_async:
            raise ScorerError(f"scorer {scorer_id!r}: {name} may ask a judge (judge=...): make its function async def")
    return FunctionStep(
        name=name, description=description, function=function, call=function, is_async=is_async, judge=judge
    )


def prompt_step(
    scorer_id: str,
    name: StepName,
    *,
    description: str,
    create_prompt: Any,
    schema: Any = None,
    judge: Any = None,
    calculate_score: Any = None,
    score_range: tuple[float, float] | None = None,
) -> PromptStep:
    """Build a prompt step.

    Raises:
        ScorerError: a part that is missing or of the wrong kind.
    """
    where = f"scorer {scorer_id!r}: the prompt step {name}"
    if not description:
        raise ScorerError(f"{where} needs a description")
    check(where, _DESCRIPTION, {"description": description}, ScorerError)
    if not callable(create_prompt):
        raise ScorerError(f"{where} needs create_prompt=, a function that gives the prompt; got {create_prompt!r:.80}")
    check_takes_one(f"{where}: create_prompt", create_prompt)
    if calculate_score is not None:
        if not callable(calculate_score):
            raise ScorerError(f"{where} needs a function as calculate_score=; got {calculate_score!r:.80}")
        check_takes_one(f"{where}: calculate_score", calculate_score)
    if judge is not None and not isinstance(judge, Judge):
        raise ScorerError(f"{where}: judge= takes a Judge, not {type(judge).__name__}")
    if name in ("preprocess", "analyze") and schema is None:
        raise ScorerError(f"{where} needs output_schema=")
    if name == "generate_reason" and schema is not None:
        raise ScorerError(f"{where} gives plain text: it takes no output_schema=")
    if name != "generate_score" and calculate_score is not None:
        raise ScorerError(f"{where} takes no calculate_score=: that is for generate_score")
    if name == "generate_score":
        if (schema is None) != (calculate_score is None):
            given, missing = ("output_schema", "calculate_score")[:: 1 if calculate_score is None else -1]
            raise ScorerError(f"{where} has {given}= and no {missing}=: give both, or neither for a plain score")
        if schema is None:
            schema = plain_score_schema(score_range)
    try:
        read = None if schema is None else output_schema(schema)
    except ConfigurationError as error:
        raise ScorerError(f"{where}: {error}") from error
    return PromptStep(
        name=name,
        description=description,
        create_prompt=create_prompt,
        schema_source=schema,
        schema=read,
        judge=judge,
        calculate_score=calculate_score,
    )


def plain_score_schema(score_range: tuple[float, float] | None) -> Mapping[str, Any]:
    """Give the schema of a score prompt without one of its own: a number in the scorer's range."""
    number: dict[str, Any] = {"type": "number"}
    if score_range is not None:
        number |= {"minimum": score_range[0], "maximum": score_range[1]}
    return {
        "type": "object",
        "properties": {"score": number},
        "required": ["score"],
        "additionalProperties": False,
        "title": "score",
    }


def is_async_callable(function: Any) -> bool:
    """Tell whether a callable is an ``async def``, or an object whose call is one."""
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted, not whether it exists
    )
