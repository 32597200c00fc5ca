"""The finished scorer: what can be run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self

from typing_extensions import Unpack

from tracescore.bridge import run_sync
from tracescore.errors import InputError, ScorerError
from tracescore.judge import UNSET, Given, Judge, ReplyStore
from tracescore.model import ScoreFailure, ScoreOutcome, ScorerRun, StepName
from tracescore.redaction import Redaction, TextRedactor
from tracescore.scorers.asking import Session
from tracescore.scorers.context import AnalyzeT, PreprocessT, RunT
from tracescore.scorers.definition import ScorerDefinition, ScorerType
from tracescore.scorers.intake import RunFields
from tracescore.scorers.judge_door import judge_door
from tracescore.scorers.many import DEFAULT_CONCURRENCY, in_order
from tracescore.scorers.prepare import PreparedRun
from tracescore.scorers.scoring import drive, drive_inline, prepare_flow, score_flow
from tracescore.scorers.steps import PromptStep, Step

_INLINE = Session()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepDescription:
    """What one step of a scorer is."""

    name: str
    kind: Literal["function", "asking", "prompt"]
    """A function, a function that may ask the judge by ``ctx.ask``, or a prompt to the judge."""
    description: str


class Scorer(Generic[RunT, PreprocessT, AnalyzeT]):
    """A named, versioned pipeline of steps that gives a run's score. Immutable; built by ``create_scorer``.

    Scoring never raises for a fault of the scorer or of its judge: a ``Score``, a ``ScoreFailure`` and a
    ``NotScorable`` are values. What is raised is a ``TracescoreError`` for misuse.
    """

    __slots__ = ("_definition",)

    def __init__(self, definition: ScorerDefinition) -> None:
        self._definition = definition

    def __repr__(self) -> str:
        return f"Scorer(id={self.id!r})"

    if not TYPE_CHECKING:  # a type checker knows which steps may come; at run time the error should say why

        def __getattr__(self, name: str) -> NoReturn:
            raise self._definition.misplaced(name, type(self).__name__)

    @property
    def id(self) -> str:
        """Give the scorer's id."""
        return self._definition.id

    @property
    def name(self) -> str:
        """Give the scorer's name; its id unless given."""
        return self._definition.name

    @property
    def description(self) -> str:
        """Say what the scorer looks at."""
        return self._definition.description

    @property
    def type(self) -> ScorerType:
        """Give ``"agent"`` or ``"trajectory"``, or None for a scorer of any run."""
        return self._definition.type

    @property
    def version(self) -> str:
        """Give the version: a fingerprint of what makes the result, unless ``version=`` was given.

        Raises:
            ScorerError: there is no source to read, or a captured value that cannot be hashed.
        """
        return self._definition.version

    @property
    def score_range(self) -> tuple[float, float] | None:
        """Give the lowest and the highest score, or None for a free scale."""
        return self._definition.score_range

    @property
    def higher_is_better(self) -> bool:
        """Tell which way is good."""
        return self._definition.higher_is_better

    @property
    def steps(self) -> tuple[StepDescription, ...]:
        """Describe the steps, in order."""
        return tuple(
            StepDescription(
                name=step.name,
                kind=_kind(step),
                description=step.description,
            )
            for step in self._definition.steps
        )

    @property
    def needs_judge(self) -> bool:
        """Tell whether any step asks a judge."""
        return bool(self._definition.judged_steps)

    @property
    def is_async(self) -> bool:
        """Tell whether scoring must be awaited: a judge, an async step or an async prepare_run."""
        return self._definition.is_async

    @property
    def reads(self) -> tuple[str, ...]:
        """Give what the scorer reads beside the content, such as ``"usage"``; it counts in the run's hash."""
        return self._definition.reads

    @property
    def judge(self) -> Judge | None:
        """Give the scorer's own judge settings."""
        return self._definition.judge

    @property
    def judges(self) -> Mapping[StepName, Judge]:
        """Give the judge of each step that asks one: the step's own settings over the scorer's."""
        return self._definition.judges

    def with_default_judge(self, judge: Judge | None) -> Self:
        """Give the scorer with settings that hold where neither it nor a step says otherwise."""
        if judge is None or not self.needs_judge:
            return self
        own = self._definition.judge
        return type(self)(replace(self._definition, judge=judge if own is None else own.over(judge)))

    def check(self) -> None:
        """Check what can only be known once all levels are there: every judge, and the version.

        Raises:
            ScorerError: naming the scorer and what is missing.
        """
        _ = self._definition.has_judges
        _ = self.version

    async def run(
        self,
        run: RunT | ScorerRun[Any, Any] | None = None,
        *,
        output: object = UNSET,
        input: object = None,
        replies: ReplyStore | None = None,
        redaction: Given[Redaction | None] = UNSET,
        **fields: Unpack[RunFields],
    ) -> ScoreOutcome:
        """Score a run, or what ``output`` and ``input`` make one of.

        Args:
            run: the run; else its parts as keywords.
            output: what was produced: text or messages for a scorer of type agent, its ``output_type`` otherwise.
            input: what it was produced from.
            replies: stored judge replies, used instead of asking again.
            redaction: what a judge is not told; unless given, the policy that ``TRACESCORE_REDACTION`` names, as
                workers do. None tells it everything.
            fields: the other fields of a run, such as ``ground_truth``.
        """
        given = _run_of(self.id, run, output, input, fields)
        prepared = await self.prepare(given)
        _ = prepared.outcome is None and prepared.judged_hash
        redactor = judge_door(redaction, given) if self.needs_judge else None
        return await self.run_prepared(prepared, replies=replies, redactor=redactor)

    def run_sync(
        self,
        run: RunT | ScorerRun[Any, Any] | None = None,
        *,
        output: object = UNSET,
        input: object = None,
        replies: ReplyStore | None = None,
        redaction: Given[Redaction | None] = UNSET,
        **fields: Unpack[RunFields],
    ) -> ScoreOutcome:
        """Score as ``run`` does, from plain code, a notebook or inside a running loop."""
        return run_sync(self.run(run, output=output, input=input, replies=replies, redaction=redaction, **fields))

    async def run_many(
        self,
        runs: Iterable[RunT | ScorerRun[Any, Any]],
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        redaction: Given[Redaction | None] = UNSET,
    ) -> list[ScoreOutcome]:
        """Score many runs, so many at once, and give their outcomes in the order of the runs.

        What cannot be scored is a ``ScoreFailure`` in its place, also where it is no run at all: one bad row does not
        lose the others. The runs are taken from ``runs`` as there is room for them. ``redaction`` is as in ``run``.

        Raises:
            InputError: ``concurrency`` is less than 1.
            ScorerError: a prompt step has no judge.

        Example:
            >>> from tracescore import AgentOutput, AgentRun, scorer, text_message
            >>> from tracescore.bridge import run_sync
            >>> @scorer(id="brevity")
            ... def brevity(run: AgentRun) -> float:
            ...     return 1.0 if len(run.output.text) < 9 else 0.5
            >>> texts = ["Short.", "Not short at all."]
            >>> runs = (AgentRun(output=AgentOutput([text_message("assistant", text)])) for text in texts)
            >>> [float(outcome) for outcome in run_sync(brevity.run_many(runs, concurrency=2))]
            [1.0, 0.5]
        """
        self.check()

        async def one(run: RunT | ScorerRun[Any, Any]) -> ScoreOutcome:
            return await self._score_or_say_why(run, redaction)

        return await in_order(runs, one, concurrency=concurrency)

    async def _score_or_say_why(
        self, run: RunT | ScorerRun[Any, Any], redaction: Given[Redaction | None]
    ) -> ScoreOutcome:
        try:
            return await self.run(run, redaction=redaction)
        except InputError as error:
            return ScoreFailure(
                run_id="",
                scorer_id=self.id,
                scorer_version=self.version,
                failed_step=None,
                error_type=type(error).__name__,
                message=str(error),
            )

    def run_inline(
        self,
        run: RunT | ScorerRun[Any, Any] | PreparedRun[RunT] | None = None,
        *,
        output: object = UNSET,
        input: object = None,
        **fields: Unpack[RunFields],
    ) -> ScoreOutcome:
        """Score as ``run`` does with no loop at all; only where every step is a plain ``def``.

        The hash of what was judged stands in the evidence only where a prepared run comes with it: it costs more than
        many a scorer.

        Raises:
            ScorerError: the scorer asks a judge or has an async step.
        """
        if isinstance(run, PreparedRun):
            prepared = run
        else:
            prepared = self.prepare_inline(_run_of(self.id, run, output, input, fields))
        return drive_inline(score_flow(self._definition, prepared, _INLINE))

    async def prepare(self, run: RunT | ScorerRun[Any, Any]) -> PreparedRun[RunT]:
        """Take a run in and run the scorer's ``prepare_run``; a failure of it is the prepared run's ``outcome``."""
        return await drive(prepare_flow(self._definition, run))

    def prepare_inline(self, run: RunT | ScorerRun[Any, Any]) -> PreparedRun[RunT]:
        """Prepare as ``prepare`` does with no loop at all.

        Raises:
            ScorerError: the scorer asks a judge or has an async step.
        """
        if self._definition.is_async:
            raise ScorerError(f"scorer {self.id!r} must be awaited: use run or run_sync")
        return drive_inline(prepare_flow(self._definition, run))

    async def run_prepared(
        self,
        prepared: PreparedRun[RunT],
        *,
        replies: ReplyStore | None = None,
        threads: Executor | None = None,
        redactor: TextRedactor | None = None,
    ) -> ScoreOutcome:
        """Run the steps on a prepared run.

        Args:
            prepared: what ``prepare`` gave.
            replies: stored judge replies, used instead of asking again.
            threads: where ``def`` steps run, so that one that blocks does not stall the loop; inline if None.
            redactor: what every text that goes to a judge passes through first.
        """
        self.check()  # before a judge is paid for what could not be returned
        session = Session(replies=replies, threads=threads, redactor=redactor)
        return await drive(score_flow(self._definition, prepared, session))

    async def judged_hash(self, run: RunT | ScorerRun[Any, Any]) -> str:
        """Give the hash of what the steps would see of a run."""
        return (await self.prepare(run)).judged_hash


def _kind(step: Step) -> Literal["function", "asking", "prompt"]:
    if isinstance(step, PromptStep):
        return "prompt"
    return "function" if step.judge is None else "asking"


def _run_of(scorer_id: str, run: Any, output: object, input: object, fields: RunFields) -> ScorerRun[Any, Any]:
    if run is None:
        if output is UNSET:
            raise InputError(f"scorer {scorer_id!r}: give a run, or output=")
        return ScorerRun(input=input, output=output, **fields)
    if output is not UNSET or input is not None or fields:
        raise InputError(f"scorer {scorer_id!r}: give a run or its parts, not both")
    if not isinstance(run, ScorerRun):
        raise InputError(f"scorer {scorer_id!r}: expected a run, not {type(run).__name__}; give text as output=")
    return run
