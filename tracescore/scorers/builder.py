"""The stages of a scorer that is being built: which steps may still come is in the type.

Each step gives a new object; two scorers may branch off one. The fixed order is preprocess, analyze, generate_score,
generate_reason, each at most once, and generate_score always.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar, overload

from tracescore.judge import Judge
from tracescore.model import StepName
from tracescore.scorers.context import (
    AnalyzeT,
    AskingContext,
    CalculateContext,
    JudgedT,
    PreprocessT,
    ReasonContext,
    RunT,
    StepContext,
)
from tracescore.scorers.definition import ScorerDefinition
from tracescore.scorers.running import Scorer
from tracescore.scorers.steps import function_step, prompt_step
from tracescore.scorers.value import ScoreLike

T = TypeVar("T")

Text: TypeAlias = str | Awaitable[str]
OptionalText: TypeAlias = str | Awaitable[str | None] | None
Scored: TypeAlias = ScoreLike | Awaitable[ScoreLike]

PROMPT_OPTIONS = ("description", "create_prompt", "output_schema", "judge", "calculate_score")


class Stage:
    """A scorer without its score step: it cannot be run yet."""

    __slots__ = ("_definition",)

    def __init__(self, definition: ScorerDefinition) -> None:
        self._definition = definition

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self._definition.id!r})"

    def refuse(self) -> NoReturn:
        """Say that the score step is missing.

        Raises:
            ScorerError: always.
        """
        raise self._definition.unfinished()

    if not TYPE_CHECKING:  # a type checker knows which steps a stage has; at run time the error should say why

        def __getattr__(self, name: str) -> NoReturn:
            raise self._definition.misplaced(name, type(self).__name__)


class BeforeScore(Stage, Generic[RunT, PreprocessT, AnalyzeT]):
    """A scorer that still needs its score step."""

    __slots__ = ()

    @overload
    def generate_score(
        self, function: Callable[[StepContext[RunT, PreprocessT, AnalyzeT]], Scored], /, *, description: str = ""
    ) -> BeforeReason[RunT, PreprocessT, AnalyzeT, None]: ...
    @overload
    def generate_score(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, PreprocessT, AnalyzeT]], Text],
        output_schema: type[T],
        calculate_score: Callable[[CalculateContext[RunT, PreprocessT, AnalyzeT, T]], Scored],
        judge: Judge | None = None,
    ) -> BeforeReason[RunT, PreprocessT, AnalyzeT, T]: ...
    @overload
    def generate_score(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, PreprocessT, AnalyzeT]], Text],
        output_schema: Mapping[str, Any],
        calculate_score: Callable[[CalculateContext[RunT, PreprocessT, AnalyzeT, dict[str, Any]]], Scored],
        judge: Judge | None = None,
    ) -> BeforeReason[RunT, PreprocessT, AnalyzeT, dict[str, Any]]: ...
    @overload
    def generate_score(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, PreprocessT, AnalyzeT]], Text],
        judge: Judge | None = None,
    ) -> BeforeReason[RunT, PreprocessT, AnalyzeT, dict[str, Any]]: ...
    def generate_score(self, *function: Any, **prompt: Any) -> BeforeReason[Any, Any, Any, Any]:
        """Add the step that gives the score: a number in the scorer's range, or a ``ScoreValue``.

        A function is called with the step's context. A prompt asks the judge: with ``output_schema`` and
        ``calculate_score``, which gets the judge's answer as ``ctx.output``, or with neither for a plain score.

        Raises:
            ScorerError: a step that is neither function nor prompt, or lacks a part.
        """
        return BeforeReason(add_step(self._definition, "generate_score", function, prompt))


class BeforeAnalyze(BeforeScore[RunT, PreprocessT, None], Generic[RunT, PreprocessT]):
    """A scorer whose next step is analyze or generate_score."""

    __slots__ = ()

    @overload
    def analyze(
        self,
        function: Callable[[AskingContext[RunT, PreprocessT, None]], Awaitable[T]],
        /,
        *,
        description: str = "",
        judge: Judge,
    ) -> BeforeScore[RunT, PreprocessT, T]: ...
    @overload
    def analyze(
        self, function: Callable[[StepContext[RunT, PreprocessT, None]], Awaitable[T]], /, *, description: str = ""
    ) -> BeforeScore[RunT, PreprocessT, T]: ...
    @overload
    def analyze(
        self, function: Callable[[StepContext[RunT, PreprocessT, None]], T], /, *, description: str = ""
    ) -> BeforeScore[RunT, PreprocessT, T]: ...
    @overload
    def analyze(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, PreprocessT, None]], Text],
        output_schema: type[T],
        judge: Judge | None = None,
    ) -> BeforeScore[RunT, PreprocessT, T]: ...
    @overload
    def analyze(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, PreprocessT, None]], Text],
        output_schema: Mapping[str, Any],
        judge: Judge | None = None,
    ) -> BeforeScore[RunT, PreprocessT, dict[str, Any]]: ...
    def analyze(self, *function: Any, **prompt: Any) -> BeforeScore[Any, Any, Any]:
        """Add the step whose value later steps see as ``ctx.results.analyze_step_result``.

        An ``async def`` function that is given with ``judge=`` may ask the judge itself, by ``await ctx.ask(...)``: not
        at all, or more than once. ``Judge()`` takes every setting from the scorer's.

        Raises:
            ScorerError: a step that is neither function nor prompt, or lacks a part.
        """
        return BeforeScore(add_step(self._definition, "analyze", function, prompt))


class BeforePreprocess(BeforeAnalyze[RunT, None], Generic[RunT]):
    """A scorer without any step yet."""

    __slots__ = ()

    @overload
    def preprocess(
        self,
        function: Callable[[AskingContext[RunT, None, None]], Awaitable[T]],
        /,
        *,
        description: str = "",
        judge: Judge,
    ) -> BeforeAnalyze[RunT, T]: ...
    @overload
    def preprocess(
        self, function: Callable[[StepContext[RunT, None, None]], Awaitable[T]], /, *, description: str = ""
    ) -> BeforeAnalyze[RunT, T]: ...
    @overload
    def preprocess(
        self, function: Callable[[StepContext[RunT, None, None]], T], /, *, description: str = ""
    ) -> BeforeAnalyze[RunT, T]: ...
    @overload
    def preprocess(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, None, None]], Text],
        output_schema: type[T],
        judge: Judge | None = None,
    ) -> BeforeAnalyze[RunT, T]: ...
    @overload
    def preprocess(
        self,
        *,
        description: str,
        create_prompt: Callable[[StepContext[RunT, None, None]], Text],
        output_schema: Mapping[str, Any],
        judge: Judge | None = None,
    ) -> BeforeAnalyze[RunT, dict[str, Any]]: ...
    def preprocess(self, *function: Any, **prompt: Any) -> BeforeAnalyze[Any, Any]:
        """Add the step whose value later steps see as ``ctx.results.preprocess_step_result``.

        An ``async def`` function that is given with ``judge=`` may ask the judge itself, by ``await ctx.ask(...)``: not
        at all, or more than once. ``Judge()`` takes every setting from the scorer's.

        Raises:
            ScorerError: a step that is neither function nor prompt, or lacks a part.
        """
        return BeforeAnalyze(add_step(self._definition, "preprocess", function, prompt))


class BeforeReason(Scorer[RunT, PreprocessT, AnalyzeT], Generic[RunT, PreprocessT, AnalyzeT, JudgedT]):
    """A scorer that is ready to run, and may still be given a reason step."""

    __slots__ = ()

    @overload
    def generate_reason(
        self,
        function: Callable[[ReasonContext[RunT, PreprocessT, AnalyzeT, JudgedT]], OptionalText],
        /,
        *,
        description: str = "",
    ) -> Scorer[RunT, PreprocessT, AnalyzeT]: ...
    @overload
    def generate_reason(
        self,
        *,
        description: str,
        create_prompt: Callable[[ReasonContext[RunT, PreprocessT, AnalyzeT, JudgedT]], Text],
        judge: Judge | None = None,
    ) -> Scorer[RunT, PreprocessT, AnalyzeT]: ...
    def generate_reason(self, *function: Any, **prompt: Any) -> Scorer[Any, Any, Any]:
        """Add the step that says why; it sees ``ctx.score``, and the score stands whatever goes wrong here.

        Raises:
            ScorerError: a step that is neither function nor prompt, or lacks a part.
        """
        return Scorer(add_step(self._definition, "generate_reason", function, prompt))


def add_step(
    definition: ScorerDefinition, name: StepName, given: tuple[Any, ...], options: dict[str, Any]
) -> ScorerDefinition:
    """Give a definition with one more step, checked.

    Raises:
        ScorerError: a step that is neither function nor prompt, or both, lacks a part or has an unknown one.
    """
    unknown = options.keys() - PROMPT_OPTIONS
    if unknown or len(given) > 1:
        raise definition.error(f"{name} takes one function, or the keywords {', '.join(PROMPT_OPTIONS)}")
    of_function = {"description", "judge"} if name in ("preprocess", "analyze") else {"description"}
    if not given and options.keys() - {"description"}:
        return definition.with_step(
            prompt_step(
                definition.id,
                name,
                description=options.get("description", ""),
                create_prompt=options.get("create_prompt"),
                schema=options.get("output_schema"),
                judge=options.get("judge"),
                calculate_score=options.get("calculate_score"),
                score_range=definition.score_range,
            )
        )
    if options.keys() - of_function:
        raise definition.error(f"{name} takes a function or a prompt, not both")
    return definition.with_step(
        function_step(
            definition.id,
            name,
            given[0] if given else None,
            options.get("description", ""),
            judge=options.get("judge"),
        )
    )
