"""A prompt step: write the prompt, ask the judge, keep the evidence."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tracescore.errors import JudgeError, RedactionFailed
from tracescore.judge import (
    CallPlace,
    CallRecord,
    Judge,
    JudgeReply,
    ReplyStore,
    TextRedactor,
    call_judge,
    cost_of,
    raw_reply,
    redacted,
)
from tracescore.model import JudgeCall
from tracescore.scorers.context import StepContext
from tracescore.scorers.steps import PromptStep

WITHHELD = "[withheld: it could not be redacted]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What scoring uses of the place where it runs.

    ``threads`` takes the ``def`` steps of judged scorers, so that one that blocks does not stall the loop.
    ``redactor`` sees every text that goes to a judge.
    """

    replies: ReplyStore | None = None
    threads: Executor | None = None
    redactor: TextRedactor | None = None


async def ask(
    step: PromptStep, ctx: StepContext[Any, Any, Any], judge: Judge, session: Session, calls: list[JudgeCall]
) -> Any:
    """Ask the judge of a prompt step and give the validated answer, or plain text where it has no schema.

    The evidence of the call is added to ``calls``, also where it fails.

    Raises:
        JudgeError: no usable answer.
        TypeError: a prompt that is not text.
    """
    prompt = step.create_prompt(ctx)
    if hasattr(type(prompt), "__await__"):
        prompt = await prompt
    if not isinstance(prompt, str) or not prompt.strip():
        raise TypeError(f"create_prompt of {step.name} must give text, not {prompt!r:.80}")
    messages = [{"role": "system", "content": judge.instructions}, {"role": "user", "content": prompt}]
    place = CallPlace(step=step.name, replies=session.replies, redactor=session.redactor)
    record = CallRecord()
    started = perf_counter()
    problem: BaseException | None = None
    try:
        return await call_judge(judge, messages, step.schema, place=place, record=record)
    except BaseException as error:
        problem = error
        raise
    finally:
        duration_ms = (perf_counter() - started) * 1000
        calls.append(
            _evidence(step, judge, session, _kept(prompt, judge, record, session), record, duration_ms, problem)
        )


def _evidence(
    step: PromptStep,
    judge: Judge,
    session: Session,
    prompt: str,
    record: CallRecord,
    duration_ms: float,
    problem: BaseException | None,
) -> JudgeCall:
    asked = judge.model_name
    last = record.replies[-1] if record.replies else JudgeReply(text=None)
    text = last.text
    if text is None and isinstance(problem, JudgeError):
        text = problem.raw_reply
    return JudgeCall(
        step=step.name,
        prompt=prompt,
        messages=record.messages,
        raw_reply=text,
        parsed=record.parsed if problem is None else None,
        model_asked=asked,
        model_answered=last.model,
        request_id=last.request_id,
        usage=_usage(record.replies),
        cost=_cost(record.replies, asked),
        attempts=record.requests,
        duration_ms=duration_ms,
        error=None if problem is None else str(problem) or type(problem).__name__,
        reused=bool(record.replies) and record.requests == 0,
        replies=tuple(
            raw_reply(reply, problem=record.problems[number] if number < len(record.problems) else None)
            for number, reply in enumerate(record.replies)
        ),
        notes=tuple(record.notes),
    )


def _kept(prompt: str, judge: Judge, record: CallRecord, session: Session) -> str:
    """Give the prompt as evidence keeps it: never more than the judge was to see."""
    if session.redactor is None:
        return prompt
    if record.asked and not judge.given().get("input_processors"):
        return str(record.asked[1]["content"])  # redacted already
    try:
        return redacted(prompt, session.redactor)
    except RedactionFailed:
        return WITHHELD


def _usage(replies: list[JudgeReply]) -> dict[str, int]:
    if len(replies) == 1:
        return dict(replies[0].usage)
    names = dict.fromkeys(name for reply in replies for name in reply.usage)
    return {name: sum(reply.usage.get(name, 0) for reply in replies) for name in names}


def _cost(replies: list[JudgeReply], asked: str) -> float | None:
    """Add up what the replies cost; None where one of them has no known price: half a sum would look like a whole."""
    costs = [cost_of(reply.usage, asked=asked, answered=reply.model) for reply in replies]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None
