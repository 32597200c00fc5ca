"""One judge call: processors, redaction, the request and its retries, and at most one re-ask.

Four budgets, and none eats another: the retries that error processors ask for (``max_processor_retries``, shared by the
question and its re-ask), one request less each setting that the model refuses, one change of where the schema stands,
and one re-ask for a reply that does not fit. The error that comes out is the provider's last one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tracescore.errors import JudgeCallRejected, JudgeReplyError, JudgeSettingRefused, RedactionFailed
from tracescore.judge.injection import asked_again, with_schema
from tracescore.judge.learned import SCHEMA, EndpointFacts
from tracescore.judge.options import UNSET, Judge
from tracescore.judge.processors import settled
from tracescore.judge.protocol import JudgeModel, JudgeReply, JudgeRequest, TextRedactor
from tracescore.judge.reading import raw_text, read_text, read_value
from tracescore.judge.replies import ReplyStore, dump_reply, load_reply, prompt_hash
from tracescore.judge.resolving import resolve_model
from tracescore.judge.schema import OutputSchema

logger = logging.getLogger(__name__)

_NOTE_LIMIT = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPlace:
    """Where a call is made: the name of its step, where replies are kept, and what takes out what must not leave."""

    step: str
    replies: ReplyStore | None = None
    redactor: TextRedactor | None = None


@dataclass(kw_only=True, slots=True)
class CallRecord:
    """What a call has come to so far: evidence, whether it succeeds or not."""

    asked: Sequence[Mapping[str, Any]] = ()
    """The question: processed and redacted, before any schema is put into it."""
    messages: tuple[Mapping[str, Any], ...] = ()
    """As they were sent last, or would have been."""
    replies: list[JudgeReply] = field(default_factory=list)
    problems: list[str | None] = field(default_factory=list)
    """For each reply, why it was not the answer."""
    parsed: Any = None
    requests: int = 0
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Note something, once."""
        text = text[:_NOTE_LIMIT]
        if text not in self.notes:
            self.notes.append(text)


async def call_judge(
    judge: Judge,
    messages: Sequence[Mapping[str, Any]],
    schema: OutputSchema | None,
    *,
    place: CallPlace,
    record: CallRecord,
) -> Any:
    """Ask a judge and give the validated value, or plain text where there is no schema; ``record`` is filled.

    A stored reply is used instead of a request, also one to be asked about again: what was paid for is not paid twice.

    Raises:
        JudgeError: no usable answer. Whatever else a model or a processor of the user's own raises comes out as it is.
    """
    return await _Call(judge, schema, place, record).answer(messages)


class _Call:
    def __init__(self, judge: Judge, schema: OutputSchema | None, place: CallPlace, record: CallRecord) -> None:
        self._judge = judge
        self._schema = schema
        self._place = place
        self._record = record
        self._model: JudgeModel | None = None
        self._facts = EndpointFacts()
        self._retries = 0
        mode = "auto" if judge.json_prompt_injection is UNSET else judge.json_prompt_injection
        self._mode: Literal["auto", "native", "inline", "system"] = (
            mode if isinstance(mode, str) else "system" if mode else "native"
        )

    async def answer(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        record = self._record
        record.asked = self._redacted(await self._processed(messages))
        request = self._request(record.asked)
        reply, key = await self._reply(request)
        try:
            value = await self._read(reply)
        except JudgeReplyError as problem:
            record.problems.append(str(problem))
            if self._schema is None or not problem.asks_again:
                raise
            # Kept as it arrived, though it is no answer: the re-ask is what a job that is claimed again goes on with.
            await self._keep(key, reply)
            told = asked_again(
                request.messages, reply=reply.text, problem=str(problem), schema=self._schema.json_schema
            )
            again = replace(request, messages=[*request.messages, *self._redacted(told[len(request.messages) :])])
            # It states the schema in its text, so that an endpoint that ignores native schemas can follow too.
            reply, key = await self._reply(again, native=self._mode == "native")
            try:
                value = await self._read(reply)
            except JudgeReplyError as last:
                record.problems.append(str(last))
                raise
        record.problems.append(None)
        # Only what could be read is kept: what cannot would fail the job again each time it is retried.
        await self._keep(key, reply)
        return value

    async def _processed(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        processors = self._judge.input_processors
        for processor in () if processors is UNSET else processors:
            given: Any = await settled(processor.process_input(messages))
            if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
                kind = type(processor).__qualname__
                raise TypeError(f"input processor {kind} must give messages, not {given!r:.80}")
            messages = given
        return messages

    def _redacted(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Give the messages as they may leave: redacted, and in text that can be sent at all."""
        redactor = self._place.redactor

        def clean(text: str) -> str:
            text = _encodable(text)
            return text if redactor is None else redacted(text, redactor)

        return [_each_text(message, clean) for message in messages]

    def _request(self, messages: Sequence[Mapping[str, Any]]) -> JudgeRequest:
        """Give the question as it is meant, before anything that was learned of its endpoint."""
        schema, judge = self._schema, self._judge
        native = self._mode in ("auto", "native")
        if schema is not None and (self._mode == "inline" or self._mode == "system"):
            messages = with_schema(messages, schema.json_schema, self._mode)
        return JudgeRequest(
            messages=messages,
            schema=None if schema is None else schema.json_schema,
            schema_name="response" if schema is None else schema.name,
            sampling=judge.sampling(),
            timeout=None if judge.timeout is UNSET else judge.timeout,
            native_schema=native,
        )

    async def _reply(self, request: JudgeRequest, *, native: bool = True) -> tuple[JudgeReply, str | None]:
        """Give the stored reply, or ask; with its key where it is new and there is a store."""
        record, store = self._record, self._place.replies
        record.messages = tuple(request.messages)
        key = None
        if store is not None:
            # By the question as it is meant: what a process learned of an endpoint must not make it another question.
            key = prompt_hash(request, model=self._judge.model_name)
            stored = await store.get(self._place.step, key)
            if stored is not None:
                record.replies.append(load_reply(stored))
                return record.replies[-1], None
        reply, sent = await self._ask(request)
        # How it is to be read belongs to the reply: another process may not have learned what this one has.
        record.replies.append(reply if native and sent.native_schema else replace(reply, native=False))
        return record.replies[-1], key

    async def _ask(self, request: JudgeRequest) -> tuple[JudgeReply, JudgeRequest]:
        """Ask, without what the model refuses, as often as error processors want; with the request as it was sent."""
        record = self._record
        if self._model is None:
            self._model = resolve_model(self._judge)
            facts = getattr(self._model, "facts", None)
            self._facts = facts if isinstance(facts, EndpointFacts) else self._facts
        while True:
            sent = self._sendable(request)
            record.messages = tuple(sent.messages)
            record.requests += 1
            try:
                return await self._model.ask(sent), sent
            except Exception as error:
                if isinstance(error, JudgeSettingRefused) and self._learned(error, sent):
                    continue
                if isinstance(error, JudgeCallRejected) or not await self._retried(error):
                    raise
                self._retries += 1
                record.note(f"request {record.requests} was made again: {type(error).__name__}: {error}")

    def _sendable(self, request: JudgeRequest) -> JudgeRequest:
        """Give a request without what this process knows the model to refuse."""
        facts, strict = self._facts, self._judge.strict_settings is True
        if facts.schema_refused and self._mode == "auto" and self._schema is not None:
            self._record.note("the model refuses a schema beside the messages: it stands in the prompt")
            inlined = with_schema(request.messages, self._schema.json_schema, "inline")
            request = replace(request, messages=inlined, native_schema=False)
        if not strict:
            sampling, notes = facts.kept(request.sampling)
            for note in notes:
                self._record.note(note)
            if sampling is not request.sampling:
                request = replace(request, sampling=sampling)
        return request

    def _learned(self, refusal: JudgeSettingRefused, sent: JudgeRequest) -> bool:
        """Remember a refusal; False where the user wants an error, or where there is nothing left to change."""
        if refusal.setting == SCHEMA:
            if self._mode != "auto" or not sent.native_schema:
                return False
        elif self._judge.strict_settings is True:
            return False
        note = self._facts.learn(refusal, sent.sampling)
        if note is None:
            # Another call learned it while this one was under way: then the next request is another one.
            return self._sendable(sent) != sent
        self._record.note(note)
        return True

    async def _retried(self, error: Exception) -> bool:
        """Tell whether an error processor wants the request made again; it may wait. The cap is looked at first."""
        processors = self._judge.error_processors
        if processors is UNSET or self._retries >= self._judge.retry_cap:
            return False
        for processor in processors:
            try:
                if await settled(processor.process_api_error(error, retry_count=self._retries)) is True:
                    return True
            except JudgeCallRejected:
                raise
            except Exception as own:  # the provider's error is the one to see, not its processor's
                kind = type(processor).__qualname__
                logger.warning("error processor %s failed", kind, exc_info=own)
                self._record.note(f"error processor {kind} failed: {type(own).__name__}: {own}")
        return False

    async def _read(self, reply: JudgeReply) -> Any:
        reply = await self._seen_by_output_processors(reply)
        if self._schema is None:
            return read_text(reply)
        self._record.parsed, value = read_value(reply, self._schema, asked=self._record.asked)
        return value

    async def _seen_by_output_processors(self, reply: JudgeReply) -> JudgeReply:
        processors = self._judge.output_processors
        if processors is UNSET or not processors:
            return reply
        text = raw_text(reply)
        for processor in processors:
            given: Any = await settled(processor.process_output(text))
            if not isinstance(given, str):
                kind = type(processor).__qualname__
                raise TypeError(f"output processor {kind} must give text, not {given!r:.80}")
            text = given
        return replace(reply, text=text)

    async def _keep(self, key: str | None, reply: JudgeReply) -> None:
        if key is not None and self._place.replies is not None:
            await self._place.replies.put(self._place.step, key, dump_reply(reply))


def redacted(text: str, redactor: TextRedactor) -> str:
    """Give a text as it may leave.

    Raises:
        RedactionFailed: the redactor raised, or gave no text; the text does not stand in the message.
    """
    try:
        result: Any = redactor.redact(text)
    except Exception as error:
        raise RedactionFailed(f"the redactor raised {type(error).__name__}: nothing was sent to the judge") from error
    if not isinstance(result, str):
        raise RedactionFailed(f"the redactor gave {type(result).__name__}, no text: nothing was sent to the judge")
    return result


def _each_text(message: Mapping[str, Any], change: Callable[[str], str]) -> Mapping[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        changed: Any = change(content)
        return message if changed is content else {**message, "content": changed}
    if isinstance(content, (list, tuple)):
        parts = [
            {**part, "text": change(part["text"])}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
        return {**message, "content": parts}
    return message


def _encodable(text: str) -> str:
    """Give a text without the lone halves of surrogate pairs, which no endpoint takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
