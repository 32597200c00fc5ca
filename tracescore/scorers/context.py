"""What a step sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, overload

from typing_extensions import TypeVar

from tracescore.judge import OutputSchema
from tracescore.model import ScorerRun
from tracescore.scorers.fence import fenced

RunT = TypeVar("RunT", bound=ScorerRun[Any, Any], default=Any)
PreprocessT = TypeVar("PreprocessT", default=Any)
AnalyzeT = TypeVar("AnalyzeT", default=Any)
JudgedT = TypeVar("JudgedT", default=Any)
AnswerT = TypeVar("AnswerT")

_ONLY_IN = {
    "ask": "an async preprocess or analyze function that is given with judge=",
    "score": "generate_reason",
    "output": "calculate_score and generate_reason",
}


class ScorerView(Protocol):
    """What a step may know of the scorer that runs it."""

    @property
    def id(self) -> str:
        """Give the scorer's id."""
        ...

    @property
    def name(self) -> str:
        """Give the scorer's name."""
        ...

    @property
    def version(self) -> str:
        """Give the scorer's version."""
        ...

    @property
    def score_range(self) -> tuple[float, float] | None:
        """Give the scorer's range."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Give the scorer's direction."""
        ...


class StepResults(Generic[PreprocessT, AnalyzeT]):
    """The results of the steps before this one. To read that of a step that was not run is an error that says so."""

    __slots__ = ("analyze_step_result", "preprocess_step_result")

    preprocess_step_result: PreprocessT
    analyze_step_result: AnalyzeT

    def with_preprocess(self, value: Any) -> StepResults[Any, AnalyzeT]:
        """Give these results with that of the step preprocess."""
        added: StepResults[Any, Any] = StepResults()
        _set_preprocess(added, value)
        return added

    def with_analyze(self, value: Any) -> StepResults[PreprocessT, Any]:
        """Give these results with that of the step analyze."""
        added: StepResults[Any, Any] = StepResults()
        if hasattr(self, "preprocess_step_result"):
            _set_preprocess(added, self.preprocess_step_result)
        _set_analyze(added, value)
        return added

    def __repr__(self) -> str:
        given = (f"{name}={getattr(self, name)!r}" for name in reversed(self.__slots__) if hasattr(self, name))
        return f"StepResults({', '.join(given)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("the results of steps cannot be changed; a step gives its own by returning it")

    if not TYPE_CHECKING:  # a type checker knows which steps there are; at run time the error should say why

        def __getattr__(self, name: str) -> NoReturn:
            step = name.removesuffix("_step_result")
            if step in ("preprocess", "analyze"):
                raise AttributeError(f"ctx.results has no {name}: no step {step} was run before this one")
            raise AttributeError(
                f"ctx.results has no {name!r}; a result is preprocess_step_result or analyze_step_result"
            )


# The slots' own setters, since the object itself refuses to be changed.
_set_preprocess: Callable[[Any, Any], None] = vars(StepResults)["preprocess_step_result"].__set__
_set_analyze: Callable[[Any, Any], None] = vars(StepResults)["analyze_step_result"].__set__


@dataclass(frozen=True, slots=True)
class StepContext(Generic[RunT, PreprocessT, AnalyzeT]):
    """What a step is given: the prepared run and the results so far."""

    run: RunT
    results: StepResults[PreprocessT, AnalyzeT]
    scorer: ScorerView

    def fenced(self, value: object) -> str:
        """Wrap judged content between markers that it cannot contain, for use in a prompt.

        Text stays as it is, messages and other values become JSON. The same value gives the same text each time.
        """
        return fenced(value, scorer_version=self.scorer.version)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            where = _ONLY_IN.get(name)
            raise AttributeError(
                f"ctx has no {name!r}" if where is None else f"ctx.{name} is there in {where} only, not in this step"
            )


@dataclass(frozen=True, slots=True)
class AskingContext(StepContext[RunT, PreprocessT, AnalyzeT], Generic[RunT, PreprocessT, AnalyzeT]):
    """What an ``async def`` step is given that may ask the judge: one that was added with ``judge=``."""

    _ask: Callable[[str, Any], Awaitable[Any]] = field(repr=False)

    @overload
    async def ask(self, prompt: str, *, output_schema: type[AnswerT]) -> AnswerT: ...
    @overload
    async def ask(self, prompt: str, *, output_schema: Mapping[str, Any]) -> dict[str, Any]: ...
    @overload
    async def ask(self, prompt: str, *, output_schema: OutputSchema) -> Any: ...
    @overload
    async def ask(self, prompt: str) -> str: ...
    async def ask(self, prompt: str, *, output_schema: Any = None) -> Any:
        """Ask the step's judge and give its validated answer, or plain text without a schema.

        Each question is a call with its own evidence, and one whose reply is stored is not asked again. Where the judge
        gives no usable answer the error ends the scoring, if the step lets it.

        Raises:
            JudgeError: no usable answer.
            TypeError: a prompt that is not text.
            ConfigurationError: what is no schema.
        """
        return await self._ask(prompt, output_schema)


@dataclass(frozen=True, slots=True)
class CalculateContext(StepContext[RunT, PreprocessT, AnalyzeT], Generic[RunT, PreprocessT, AnalyzeT, JudgedT]):
    """What ``calculate_score`` is given: the judge's answer beside the rest."""

    output: JudgedT
    """The validated ``output_schema`` value of the score step's own prompt."""


@dataclass(frozen=True, slots=True)
class ReasonContext(StepContext[RunT, PreprocessT, AnalyzeT], Generic[RunT, PreprocessT, AnalyzeT, JudgedT]):
    """What ``generate_reason`` is given: the score, and what the judge answered to the score step."""

    output: JudgedT
    """The validated answer to the score step's prompt; ``None`` where that step is a function."""
    score: float
