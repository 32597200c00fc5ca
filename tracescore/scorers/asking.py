"""A prompt step: write the prompt, ask the judge once, read the answer, keep the evidence."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tracescore.errors import JudgeError
from tracescore.judge import (
    UNSET,
    Judge,
    JudgeModel,
    JudgeReply,
    JudgeRequest,
    ReplyStore,
    dump_reply,
    load_reply,
    prompt_hash,
    read_text,
    read_value,
    resolve_model,
)
from tracescore.model import JudgeCall
from tracescore.redaction import TextRedactor
from tracescore.scorers.context import StepContext
from tracescore.scorers.steps import PromptStep


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
    prompt = _passed(prompt, session)
    request = _request(step, prompt, judge, session)
    asked = judge.model_name
    call: dict[str, Any] = {
        "step": step.name,
        "prompt": prompt,
        "messages": tuple(request.messages),
        "model_asked": asked,
    }
    started = perf_counter()
    try:
        reply, reused = await _reply(request, step, judge, session, asked)
        call["duration_ms"] = (perf_counter() - started) * 1000
        call |= {
            "raw_reply": reply.text,
            "model_answered": reply.model,
            "request_id": reply.request_id,
            "usage": reply.usage,
            "reused": reused,
        }
        call["parsed"], value = (None, read_text(reply)) if step.schema is None else read_value(reply, step.schema)
    except BaseException as error:
        call.setdefault("duration_ms", (perf_counter() - started) * 1000)
        if call.get("raw_reply") is None and isinstance(error, JudgeError):
            call["raw_reply"] = error.raw_reply
        calls.append(JudgeCall(**call, error=str(error) or type(error).__name__))
        raise
    calls.append(JudgeCall(**call))
    if session.replies is not None and not reused:
        # Only what could be read is kept: a reply that cannot be would fail the job again each time it is retried.
        await session.replies.put(step.name, prompt_hash(request, model=asked), dump_reply(reply))
    return value


async def _reply(
    request: JudgeRequest, step: PromptStep, judge: Judge, session: Session, asked: str
) -> tuple[JudgeReply, bool]:
    if session.replies is not None:
        stored = await session.replies.get(step.name, prompt_hash(request, model=asked))
        if stored is not None:
            return load_reply(stored), True
    model: JudgeModel = resolve_model(judge)
    return await model.ask(request), False


def _passed(text: str, session: Session) -> str:
    return text if session.redactor is None else session.redactor.redact(text)


def _request(step: PromptStep, prompt: str, judge: Judge, session: Session) -> JudgeRequest:
    instructions = _passed(str(judge.instructions), session)
    return JudgeRequest(
        messages=[{"role": "system", "content": instructions}, {"role": "user", "content": prompt}],
        schema=None if step.schema is None else step.schema.json_schema,
        schema_name="response" if step.schema is None else step.schema.name,
        sampling=judge.sampling(),
        timeout=None if judge.timeout is UNSET else judge.timeout,
    )
