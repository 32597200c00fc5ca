"""Run a scorer's steps: the one place where an exception becomes a failure.

A flow is a generator that gives what must be awaited and takes what came of it, so that one description of the
pipeline serves plain code, without any loop, and async code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

from tracescore.errors import JudgeError, JudgeTransientError, ScorerError, StoreError
from tracescore.judge import OutputSchema, output_schema
from tracescore.model import (
    Evidence,
    JudgeCall,
    NotScorable,
    Score,
    ScoreFailure,
    ScoreOutcome,
    ScorerRun,
    StepName,
    SubScore,
)
from tracescore.scorers.asking import Session, ask
from tracescore.scorers.context import AskingContext, CalculateContext, ReasonContext, StepContext, StepResults
from tracescore.scorers.definition import ScorerDefinition
from tracescore.scorers.evidence import as_evidence
from tracescore.scorers.frozen import freeze_run, is_shared_safely, own_copy
from tracescore.scorers.intake import UnsuitableRun
from tracescore.scorers.location import raised_at
from tracescore.scorers.prepare import PreparedRun, check_prepared, cut_counts, with_its_own_way
from tracescore.scorers.steps import FunctionStep, PromptStep
from tracescore.scorers.value import NotScorableSignal, ScoreValue, checked_score, checked_sub_scores

T = TypeVar("T")
Flow: TypeAlias = Generator[Awaitable[Any], Any, T]

MESSAGE_LIMIT = 4_000

# A step that calls sys.exit must not end the worker that runs it.
_STEP_FAULTS = (Exception, SystemExit)
# Faults of the place where scoring runs or of how it was called: not the scorer's, so they are raised.
_NOT_THE_SCORERS = (StoreError, ScorerError)


def prepare_flow(definition: ScorerDefinition, run: ScorerRun[Any, Any]) -> Flow[PreparedRun[Any]]:
    """Take a run in and run the scorer's prepare_run; what goes wrong is the prepared run's outcome."""
    try:
        taken = definition.take_in(run)
    except UnsuitableRun as error:
        return PreparedRun(run=run, outcome=_not_scorable(definition, run, None, str(error), Evidence()))
    prepare_run = definition.prepare_run
    if prepare_run is None:
        return PreparedRun(run=taken, reads=definition.reads)
    try:
        prepared = prepare_run(taken if is_shared_safely(taken) else own_copy(taken))
        if hasattr(type(prepared), "__await__"):
            prepared = yield prepared
        check_prepared(taken, prepared)
        prepared = with_its_own_way(taken, prepared)
        freeze_run(prepared, again=True)
        return PreparedRun(run=prepared, cut=cut_counts(taken, prepared), reads=definition.reads)
    except NotScorableSignal as signal:
        outcome: NotScorable | ScoreFailure = _not_scorable(definition, taken, "prepare_run", signal.reason, Evidence())
    except _STEP_FAULTS as error:
        outcome = _failure(definition, taken, "prepare_run", error, (), Evidence())
    return PreparedRun(run=taken, outcome=outcome)


def score_flow(definition: ScorerDefinition, prepared: PreparedRun[Any], session: Session) -> Flow[ScoreOutcome]:
    """Run the steps on a prepared run, in order, once each."""
    if prepared.outcome is not None:
        return prepared.outcome
    attempt = _Attempt(definition, prepared, session)
    try:
        yield from attempt.run_steps()
    except NotScorableSignal as signal:
        return _not_scorable(definition, prepared.run, attempt.at, signal.reason, attempt.evidence())
    except _NOT_THE_SCORERS:
        raise
    except _STEP_FAULTS as error:
        completed = tuple(attempt.completed)
        return _failure(definition, prepared.run, attempt.at, error, completed, attempt.evidence())
    run = prepared.run
    return Score(
        run_id=run.run_id,
        scorer_id=definition.id,
        scorer_version=definition.version,
        score=attempt.score,
        reason=attempt.reason,
        sub_scores=attempt.sub_scores,
        score_range=definition.score_range,
        higher_is_better=definition.higher_is_better,
        target=run.target,
        evidence=attempt.evidence(),
        reason_error=attempt.reason_error,
        counted=attempt.counted,
    )


class _Attempt:
    """One scoring of one run, as far as it has come."""

    def __init__(self, definition: ScorerDefinition, prepared: PreparedRun[Any], session: Session) -> None:
        self.definition = definition
        self.prepared = prepared
        self.session = session
        self.started = perf_counter()
        self.at: StepName | None = None
        self.completed: list[StepName] = []
        self.kept: dict[str, Any] = {}
        self.calls: list[JudgeCall] = []
        self.notes: list[str] = []
        self.score = 0.0
        self.sub_scores: tuple[SubScore, ...] = ()
        self.reason: str | None = None
        self.reason_error: str | None = None
        self.counted = True

    def run_steps(self) -> Flow[None]:
        definition, run = self.definition, self.prepared.run
        results: StepResults[Any, Any] = StepResults()
        alone = is_shared_safely(run)
        judged = None
        for step in definition.steps:
            name = self.at = step.name
            if not alone:
                run = own_copy(self.prepared.run)
            if name == "generate_reason":
                yield from self._reason(step, ReasonContext(run, results, definition, judged, self.score))
                continue
            ctx = StepContext(run, results, definition)
            if isinstance(step, FunctionStep):
                if step.judge is not None:
                    ctx = AskingContext(run, results, definition, self._asker(step, ctx))
                value = step.call(ctx) if self.session.threads is None else self._in_thread(step, ctx)
                if hasattr(type(value), "__await__"):
                    value = yield value
                    if hasattr(type(value), "__await__"):  # a def step in a thread that gave a coroutine
                        value = yield value
            else:
                value = yield self._ask(step, ctx)
                if name == "generate_score":
                    judged = value
                    value = yield from self._calculate(step, CalculateContext(run, results, definition, judged))
            if name == "generate_score":
                self._take_score(value)
            elif name == "preprocess":
                self.kept[name] = as_evidence(value)
                results = results.with_preprocess(value)
            else:
                self.kept[name] = as_evidence(value)
                results = results.with_analyze(value)
            self.completed.append(name)

    def evidence(self) -> Evidence:
        """Give what stands behind the outcome so far; that of a judged scorer, or of a run that was cut, names it."""
        prepared = self.prepared
        return Evidence(
            judged_hash=prepared.judged_hash if self.calls or prepared.run.cuts else prepared.known_hash,
            results=self.kept,
            judge_calls=tuple(self.calls),
            cut=prepared.cut,
            cuts=prepared.run.cuts,
            notes=tuple(self.notes),
            duration_ms=(perf_counter() - self.started) * 1000,
        )

    def _reason(self, step: FunctionStep | PromptStep, ctx: ReasonContext[Any, Any, Any, Any]) -> Flow[None]:
        """Add the reason; whatever goes wrong here, the score stands."""
        try:
            if isinstance(step, PromptStep):
                reason = yield self._ask(step, ctx)
            else:
                reason = step.call(ctx) if self.session.threads is None else self._in_thread(step, ctx)
                while hasattr(type(reason), "__await__"):
                    reason = yield reason
            if reason is not None and not isinstance(reason, str):
                raise TypeError(f"a reason is text, not {type(reason).__name__}: {reason!r:.200}")
        except NotScorableSignal as signal:
            self.reason_error = f"no reason: {signal.reason}"
        except _NOT_THE_SCORERS:
            raise
        except _STEP_FAULTS as error:
            self.reason_error = f"{type(error).__name__}: {_message(error)}"
        else:
            self.reason = reason
            self.completed.append(step.name)

    def _calculate(self, step: PromptStep, ctx: CalculateContext[Any, Any, Any, Any]) -> Flow[Any]:
        if step.calculate_score is None:
            return ctx.output["score"]
        value = step.calculate_score(ctx)
        if hasattr(type(value), "__await__"):
            value = yield value
        return value

    def _take_score(self, value: Any) -> None:
        if isinstance(value, ScoreValue):
            self.reason = value.reason
            self.sub_scores = checked_sub_scores(value.sub_scores)
            self.counted = value.counted
            value = value.score
        self.score = checked_score(value, self.definition.score_range)

    def _asker(self, step: FunctionStep, ctx: StepContext[Any, Any, Any]) -> Callable[[str, Any], Awaitable[Any]]:
        """Give what a function step asks its judge with: each question is a prompt step of its own."""

        def question(prompt: str, schema: Any) -> Awaitable[Any]:
            asked = PromptStep(
                name=step.name,
                description=step.description,
                create_prompt=lambda _: prompt,
                schema_source=schema,
                schema=schema if schema is None or isinstance(schema, OutputSchema) else output_schema(schema),
                judge=step.judge,
            )
            return self._ask(asked, ctx)

        return question

    def _ask(self, step: PromptStep, ctx: StepContext[Any, Any, Any]) -> Awaitable[Any]:
        return ask(step, ctx, self.definition.judges[step.name], self.session, self.calls)

    def _in_thread(self, step: FunctionStep, ctx: StepContext[Any, Any, Any]) -> Any:
        if step.is_async:
            return step.call(ctx)
        context = copy_context()  # so that a step's own spans and variables are those of its caller
        return asyncio.get_running_loop().run_in_executor(
            self.session.threads, lambda: context.run(_call, step.call, ctx)
        )


def drive_inline(flow: Flow[T]) -> T:
    """Run a flow to its end without a loop; what would have to be awaited is an error inside the flow."""
    try:
        awaitable = next(flow)
        while True:
            close = getattr(awaitable, "close", None)  # a coroutine that is never awaited warns
            if close is not None:
                close()
            awaitable = flow.throw(TypeError("this step is not async def, yet it gave an awaitable: make it async def"))
    except StopIteration as stop:
        result: T = stop.value
        return result


async def drive(flow: Flow[T]) -> T:
    """Run a flow to its end, awaiting what it gives."""
    try:
        awaitable = next(flow)
        while True:
            try:
                value = await awaitable
            except BaseException as error:  # noqa: BLE001  # the flow decides; what it does not catch comes out of throw
                awaitable = flow.throw(error)
            else:
                awaitable = flow.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _call(function: Callable[[Any], Any], ctx: Any) -> Any:
    try:
        return function(ctx)
    except StopIteration as error:  # a future cannot carry it: the loop would wait for ever
        raise RuntimeError("the step raised StopIteration") from error


def _not_scorable(
    definition: ScorerDefinition, run: ScorerRun[Any, Any], step: StepName | None, reason: str, evidence: Evidence
) -> NotScorable:
    return NotScorable(
        run_id=run.run_id,
        scorer_id=definition.id,
        scorer_version=definition.version,
        reason=reason,
        step=step,
        target=run.target,
        evidence=evidence,
    )


def _failure(
    definition: ScorerDefinition,
    run: ScorerRun[Any, Any],
    step: StepName | None,
    error: BaseException,
    completed: tuple[StepName, ...],
    evidence: Evidence,
) -> ScoreFailure:
    return ScoreFailure(
        run_id=run.run_id,
        scorer_id=definition.id,
        scorer_version=definition.version,
        failed_step=step,
        error_type=type(error).__name__,
        message=_message(error),
        completed_steps=completed,
        target=run.target,
        evidence=evidence,
        transient=isinstance(error, JudgeTransientError),
    )


def _message(error: BaseException) -> str:
    """Give what an error says, and the line of the user's own code that it came from."""
    try:
        said = f"{error!s:.{MESSAGE_LIMIT}}" or type(error).__name__
    except Exception:  # noqa: BLE001  # an error whose str raises is reported by its class
        said = type(error).__name__
    where = None if isinstance(error, JudgeError) else raised_at(error)
    return said if where is None else f"{said} ({where})"
