"""Where a scorer begins: ``create_scorer`` and its short form ``@scorer``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, overload

from tracescore.errors import ScorerError
from tracescore.judge import Judge
from tracescore.model import AgentRun, InputT, OutputT, ScorerRun, TrajectoryRun
from tracescore.scorers.builder import BeforePreprocess
from tracescore.scorers.context import StepContext
from tracescore.scorers.definition import ScorerDefinition, checked_options
from tracescore.scorers.intake import check_type
from tracescore.scorers.running import Scorer
from tracescore.scorers.steps import check_takes_one, function_step
from tracescore.scorers.value import ScoreLike

P = ParamSpec("P")
T = TypeVar("T")

Reads: TypeAlias = Literal["usage", "timing", "trajectory"]
Range: TypeAlias = tuple[float, float] | None
Scored: TypeAlias = ScoreLike | Awaitable[ScoreLike]


@overload
def create_scorer(
    *,
    id: str,
    type: Literal["agent"],
    name: str | None = None,
    description: str = "",
    judge: Judge | None = None,
    prepare_run: Callable[[AgentRun], AgentRun | Awaitable[AgentRun]] | None = None,
    score_range: Range = (0.0, 1.0),
    higher_is_better: bool = True,
    reads: Sequence[Reads] = (),
    version: str | None = None,
) -> BeforePreprocess[AgentRun]: ...
@overload
def create_scorer(
    *,
    id: str,
    type: Literal["trajectory"],
    name: str | None = None,
    description: str = "",
    judge: Judge | None = None,
    prepare_run: Callable[[TrajectoryRun], TrajectoryRun | Awaitable[TrajectoryRun]] | None = None,
    score_range: Range = (0.0, 1.0),
    higher_is_better: bool = True,
    reads: Sequence[Reads] = (),
    version: str | None = None,
) -> BeforePreprocess[TrajectoryRun]: ...
@overload
def create_scorer(
    *,
    id: str,
    input_type: type[InputT] = ...,
    output_type: type[OutputT] = ...,
    name: str | None = None,
    description: str = "",
    judge: Judge | None = None,
    prepare_run: Callable[
        [ScorerRun[InputT, OutputT]], ScorerRun[InputT, OutputT] | Awaitable[ScorerRun[InputT, OutputT]]
    ]
    | None = None,
    score_range: Range = (0.0, 1.0),
    higher_is_better: bool = True,
    reads: Sequence[Reads] = (),
    version: str | None = None,
) -> BeforePreprocess[ScorerRun[InputT, OutputT]]: ...
def create_scorer(
    *,
    id: str,
    type: Any = None,
    input_type: Any = None,
    output_type: Any = None,
    name: str | None = None,
    description: str = "",
    judge: Judge | None = None,
    prepare_run: Callable[[Any], Any] | None = None,
    score_range: Range = (0.0, 1.0),
    higher_is_better: bool = True,
    reads: Sequence[str] = (),
    version: str | None = None,
) -> BeforePreprocess[Any]:
    """Begin a scorer; chain its steps onto what this gives.

    Args:
        id: what the scorer is called everywhere; unique within an app.
        type: ``"agent"`` for the runs of agents; text then becomes messages. ``"trajectory"`` for the way that an agent
            took: ``run.output`` is a ``Trajectory`` then. Without it, ``input_type`` and ``output_type`` are checked by
            pydantic when a run comes in, and a run that does not fit is not scorable.
        input_type: the type of ``run.input``.
        output_type: the type of ``run.output``.
        name: for people; the id unless given.
        description: what the scorer looks at.
        judge: the judge of its prompt steps; each may override it, setting by setting.
        prepare_run: changes the run before any step sees it, such as ``filter_run(...)``; sync or async.
        score_range: the lowest and the highest score, or None for a free scale. What lies outside is a failure.
        higher_is_better: which way is good.
        reads: ``"usage"``, ``"timing"`` or, of an agent's run, ``"trajectory"`` where the score depends on it, so that
            a change of it scores again.
        version: replaces the fingerprint of the scorer's code.

    Raises:
        ScorerError: an option that cannot work.

    Example:
        >>> polite = create_scorer(id="polite", type="agent").generate_score(
        ...     lambda ctx: 1.0 if "please" in ctx.run.output.text else 0.0
        ... )
        >>> float(polite.run_sync(output="Say please."))
        1.0
    """
    checked = checked_options(
        id=id,
        score_range=score_range,
        reads=reads,
        version=version,
        name=name,
        description=description,
        higher_is_better=higher_is_better,
    )
    if type not in (None, "agent", "trajectory"):
        raise ScorerError(f"scorer {id!r}: type {type!r:.80} is unknown; known are 'agent' and 'trajectory'")
    if type is not None and (input_type is not None or output_type is not None):
        raise ScorerError(f"scorer {id!r}: type={type!r} states the input and output types already")
    for option, kind in (("input_type", input_type), ("output_type", output_type)):
        if kind is not None:
            check_type(f"scorer {id!r}: {option}=", kind)
    if judge is not None and not isinstance(judge, Judge):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScorerError(f"scorer {id!r}: judge= takes a Judge, not {judge!r:.80}")
    if prepare_run is not None and not callable(prepare_run):  # pyright: ignore[reportUnnecessaryComparison]
        raise ScorerError(f"scorer {id!r}: prepare_run= takes a function, not {prepare_run!r:.80}")
    if prepare_run is not None:
        check_takes_one(f"scorer {id!r}: prepare_run", prepare_run, "the run")
    return BeforePreprocess(
        ScorerDefinition(
            id=id,
            name=name or id,
            description=description,
            type=type,
            input_type=input_type,
            output_type=output_type,
            judge=judge,
            prepare_run=prepare_run,
            score_range=checked,
            higher_is_better=higher_is_better,
            reads=("trajectory", *reads) if type == "trajectory" and "trajectory" not in reads else tuple(reads),
            given_version=version,
        )
    )


def _with_parentheses(begin: Callable[P, T]) -> Callable[P, T]:
    """Say what is missing where a decorator that takes keywords is put before a function without them."""

    @wraps(begin)
    def checked(*misplaced: P.args, **options: P.kwargs) -> T:
        if misplaced or "id" not in options:
            name = getattr(misplaced[0], "__name__", "...") if misplaced else "..."
            raise ScorerError(f"@scorer needs parentheses and an id: @scorer(id={name.replace('_', '-')!r})")
        return begin(*misplaced, **options)

    return checked


@_with_parentheses
def scorer(
    *,
    id: str,
    name: str | None = None,
    description: str | None = None,
    prepare_run: Callable[[AgentRun], AgentRun | Awaitable[AgentRun]] | None = None,
    score_range: Range = (0.0, 1.0),
    higher_is_better: bool = True,
    reads: Sequence[Reads] = (),
    version: str | None = None,
) -> Callable[[Callable[[AgentRun], Scored]], Scorer[AgentRun, None, None]]:
    """Make a scorer of a function that takes an agent's run and gives its score; ``create_scorer`` has the rest.

    The description is the function's docstring unless given.

    Example:
        >>> @scorer(id="brevity")
        ... def brevity(run: AgentRun) -> float:
        ...     return 1.0 if len(run.output.text) < 280 else 0.5
        >>> float(brevity.run_sync(output="Short."))
        1.0
    """

    def decorate(function: Callable[[AgentRun], Scored]) -> Scorer[AgentRun, None, None]:
        if not callable(function):
            raise ScorerError(f"scorer {id!r}: @scorer(...) stands before a function, not {function!r:.80}")
        begun = create_scorer(
            id=id,
            type="agent",
            name=name,
            description=description if description is not None else (function.__doc__ or "").strip(),
            prepare_run=prepare_run,
            score_range=score_range,
            higher_is_better=higher_is_better,
            reads=reads,
            version=version,
        )
        definition = begun._definition
        step = function_step(id, "generate_score", function, "", takes="the run")

        def call(ctx: StepContext[AgentRun, None, None]) -> Scored:
            return function(ctx.run)

        return Scorer(definition.with_step(replace(step, call=call)))

    return decorate
