"""The Vercel AI SDK, versions 4 to 6 and the legacy form of 7: ``ai.*`` (its documentation, "Telemetry")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import span_result
from tracescore.dialects.tokens import Tokens, tokens_of
from tracescore.dialects.values import Attributes, count_at, object_at, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Span

PREFIXES = ("ai.", "aisdk.")
_LOOPS = ("generateText", "streamText", "generateObject", "streamObject")
_METADATA = "telemetry.metadata."
_SETTING = "set recordInputs and recordOutputs of experimental_telemetry to true, as they are unless turned off"


class VercelAI:
    """The spans that ``experimental_telemetry`` of the AI SDK writes."""

    marks = frozenset({"ai", "aisdk"})
    names = ()
    content_prefixes = (
        *(f"{prefix}prompt" for prefix in PREFIXES),
        *(f"{prefix}response.{name}" for prefix in PREFIXES for name in ("text", "toolCalls", "object", "reasoning")),
        *(f"{prefix}toolCall.{name}" for prefix in PREFIXES for name in ("args", "result")),
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``ai.``."""
        own = _own(span.attributes)
        if own is None:
            return None
        role = _role(own)
        metadata = {key.removeprefix(_METADATA): value for key, value in own.items() if key.startswith(_METADATA)}
        named = role == "loop" and text_at(own, "telemetry.functionId")
        used = _tokens(own) if role in ("llm", "loop") else Tokens()
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=named or None,
            input=_given(own, role),
            output=_answered(own) if role in ("llm", "loop") else None,
            tool_name=text_at(own, "toolCall.name"),
            tool_call_id=text_at(own, "toolCall.id"),
            tool_arguments=parse(recorded(own, "toolCall.args")).value,
            tool_result=span_result(own.get("toolCall.result")).value,
            model_asked=text_at(own, "model.id"),
            model_answered=text_at(own, "response.model"),
            provider=text_at(own, "model.provider"),
            response_id=text_at(own, "response.id"),
            finished=True if "response.finishReason" in own else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
            session_id=text_at(metadata, "sessionId", "session_id", "threadId", "thread_id", "conversationId"),
            user_id=text_at(metadata, "userId", "user_id"),
            metadata=metadata or None,
            content_setting=_SETTING,
        )


def _own(attributes: Attributes) -> dict[str, JSONValue] | None:
    for prefix in PREFIXES:
        found = {key[len(prefix) :]: value for key, value in attributes.items() if key.startswith(prefix)}
        if found.keys() - {"model.id"}:
            return found
    return None


def _role(own: Attributes) -> SpanRole | None:
    operation = (text_at(own, "operationId") or "").removeprefix("ai.").removeprefix("aisdk.")
    outer, _, inner = operation.partition(".")
    if inner.startswith(("doGenerate", "doStream")):
        return "llm"
    if outer in _LOOPS:
        return "loop"
    if outer == "toolCall":
        return "tool"
    return "embedding" if outer.startswith("embed") else None


def _given(own: Attributes, role: SpanRole | None) -> Content | None:
    for key in ("prompt.messages", "prompt"):
        value = recorded(own, key)
        if value is not None:
            return Content(value, role="user") or None
    return None


def _answered(own: Attributes) -> Content | None:
    """Make one message of what the SDK keeps apart: reasoning, text, calls or an object."""
    blocks: list[Any] = []
    if reasoning := recorded(own, "response.reasoning"):
        blocks.append({"type": "reasoning", "text": reasoning})
    if text := recorded(own, "response.text"):
        blocks.append({"type": "text", "text": text})
    calls = parse(recorded(own, "response.toolCalls"))
    if isinstance(calls.value, list):
        blocks += [{**call, "type": "tool-call"} for call in calls.value if isinstance(call, dict)]
    value = parse(recorded(own, "response.object"))
    if value.value is not None and not blocks:
        blocks.append({"type": "data", "data": value.value})
    if not blocks:
        return None
    message = {"role": "assistant", "content": blocks, "finish_reason": own.get("response.finishReason")}
    return Content(role="assistant", elements={0: message}, tail_lost=calls.truncated or value.truncated)


def _tokens(own: Attributes) -> Tokens:
    found = tokens_of({key.removeprefix("usage."): value for key, value in own.items() if key.startswith("usage.")})
    cached = count_at(own, "usage.inputTokenDetails.cacheReadTokens")
    written = count_at(own, "usage.inputTokenDetails.cacheWriteTokens")
    reasoned = count_at(own, "usage.outputTokenDetails.reasoningTokens")
    provider = object_at(own, "response.providerMetadata") or {}
    stated = tokens_of(provider.get("openai"))
    return found._replace(
        cache_read=next((n for n in (found.cache_read, cached, stated.cache_read) if n is not None), None),
        cache_write=found.cache_write if found.cache_write is not None else written,
        reasoning=next((n for n in (found.reasoning, reasoned, stated.reasoning) if n is not None), None),
    )
