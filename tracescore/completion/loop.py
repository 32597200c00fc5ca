"""``run_until_complete``: call an agent until its scorers say that it is done."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tracescore.bridge import run_sync
from tracescore.completion.agents import Agent, reply_of
from tracescore.completion.check import DEFAULT_TIMEOUT, AnyScorer, checked_scorers, is_task_complete
from tracescore.completion.results import Strategy, TaskCompletion
from tracescore.completion.task import TaskResult, TaskStep
from tracescore.errors import ConfigurationError, InputError
from tracescore.judge import UNSET, Given
from tracescore.model import (
    AgentInput,
    AgentOutput,
    AgentRun,
    Message,
    Messages,
    RetrievedDocument,
    ScorerRun,
    TextPart,
    text_message,
)
from tracescore.redaction import Redaction
from tracescore.scorers.intake import UnsuitableRun, take_agent_run

Task: TypeAlias = str | Message | Messages | AgentInput | Sequence[Message | Mapping[str, Any]]
OnComplete: TypeAlias = Callable[[TaskCompletion], object | Awaitable[object]]

DEFAULT_MAX_STEPS = 5


async def run_until_complete(
    agent: Agent,
    task: Task,
    scorers: Sequence[AnyScorer],
    *,
    max_steps: int = DEFAULT_MAX_STEPS,
    strategy: Strategy = "all",
    parallel: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,  # noqa: ASYNC109  # handed on to each check
    request_context: Mapping[str, Any] | None = None,
    redaction: Given[Redaction | None] = UNSET,
    on_complete: OnComplete | None = None,
    suppress_feedback: bool = False,
) -> TaskResult:
    """Call an agent, score what it did so far, and hand the reasons back as its next message until it is complete.

    The agent is any callable that takes the conversation as a list of ``{"role", "content"}`` and gives its answer: as
    text or messages, returned or awaited, or as a stream of pieces from a generator, sync or async. What it raises
    comes out here. The scorers see the task, and all that it produced in all steps: the work of an earlier step counts.

    Args:
        agent: what does the work. A plain ``def`` is called in a thread.
        task: text or messages.
        scorers: who says whether it is done.
        max_steps: the most calls of the agent.
        strategy: as in ``is_task_complete``, like the next three.
        parallel: ask the scorers at the same time.
        timeout: seconds for each check; it does not limit the agent.
        request_context: what scorers see in ``ctx.run.request_context``.
        redaction: what judges are not told, as in ``Scorer.run``; the agent is told everything.
        on_complete: called with each check's ``TaskCompletion``, sync or async; what it raises comes out here.
        suppress_feedback: leave the feedback out of the ``messages`` of the result. The agent gets it all the same.

    Raises:
        ConfigurationError: as ``is_task_complete``, before the agent is called; ``max_steps`` below 1.
        InputError: a task or an answer that is neither text nor messages.

    Example:
        >>> from tracescore import scorer
        >>> @scorer(id="polite")
        ... def polite(run):
        ...     return 1.0 if "please" in run.output.text else 0.0
        >>> def agent(messages):
        ...     return "Sit down, please." if len(messages) > 1 else "Sit down."
        >>> result = run_until_complete_sync(agent, "Ask them to sit down.", [polite])
        >>> result.complete, len(result.steps), result.text
        (True, 2, 'Sit down, please.')
    """
    asked = checked_scorers(
        scorers,
        strategy=strategy,
        timeout=timeout,
        parallel=parallel,
        request_context=request_context,
        redaction=redaction,
        on_complete=on_complete,
        suppress_feedback=suppress_feedback,
    )
    if not callable(agent):  # pyright: ignore[reportUnnecessaryComparison]
        raise ConfigurationError(f"agent= takes what can be called with the messages, not {agent!r:.80}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"max_steps={max_steps!r:.80}: give a whole number from 1")
    given = _input_of(task)
    conversation = [*given.system_messages, *given.remembered_messages, *given.input_messages]
    kept = list(conversation)
    work: list[Message] = []
    contexts: list[RetrievedDocument] = []
    steps: list[TaskStep] = []
    run_id = uuid.uuid4().hex
    while True:
        number = len(steps) + 1
        reply = await reply_of(agent, conversation)
        for messages in (work, conversation, kept):
            messages += reply.output
        contexts += reply.contexts
        run = AgentRun(
            run_id=run_id,
            input=given,
            output=AgentOutput(work),
            contexts=tuple(contexts),
            additional_context={"step": number, "max_steps": max_steps},
        )
        completion = await is_task_complete(
            run,
            asked,
            strategy=strategy,
            parallel=parallel,
            timeout=timeout,
            request_context=request_context,
            redaction=redaction,
        )
        steps.append(TaskStep(number=number, output=reply.output, completion=completion))
        if on_complete is not None:
            answer: Any = on_complete(completion)
            if hasattr(type(answer), "__await__"):
                await answer
        if completion.complete or number == max_steps:
            return TaskResult(run=run, steps=tuple(steps), messages=Messages(kept))
        feedback = text_message("user", completion.feedback)
        conversation.append(feedback)
        if not suppress_feedback:
            kept.append(feedback)


def run_until_complete_sync(
    agent: Agent,
    task: Task,
    scorers: Sequence[AnyScorer],
    *,
    max_steps: int = DEFAULT_MAX_STEPS,
    strategy: Strategy = "all",
    parallel: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
    request_context: Mapping[str, Any] | None = None,
    redaction: Given[Redaction | None] = UNSET,
    on_complete: OnComplete | None = None,
    suppress_feedback: bool = False,
) -> TaskResult:
    """Do as ``run_until_complete`` does, from plain code, a notebook or inside a running loop."""
    return run_sync(
        run_until_complete(
            agent,
            task,
            scorers,
            max_steps=max_steps,
            strategy=strategy,
            parallel=parallel,
            timeout=timeout,
            request_context=request_context,
            redaction=redaction,
            on_complete=on_complete,
            suppress_feedback=suppress_feedback,
        )
    )


def _input_of(task: Task) -> AgentInput:
    try:
        given = take_agent_run(ScorerRun(input=task)).input
    except UnsuitableRun:
        raise InputError(f"the task is neither text nor messages: {task!r:.200}") from None
    parts = [part for message in given.input_messages for part in message.parts]
    if not any(not isinstance(part, TextPart) or part.text.strip() for part in parts):
        raise InputError("the task is empty: give it as text or messages")
    return given
