"""The Vercel AI SDK, versions 4 to 6 and the legacy form of 7: ``ai.*`` (its documentation, "Telemetry")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import span_result
from tracescore.dialects.tokens import Tokens, either, tokens_of
from tracescore.dialects.values import Attributes, count_at, number_at, object_at, recorded, text_at
from tracescore.model import JSONValue, LogRecord, Span

PREFIXES = ("ai.", "aisdk.")
_LOOPS = ("generateText", "streamText", "generateObject", "streamObject")
_METADATA = "telemetry.metadata."
_OPERATION = "gen_ai.operation.name"
_EXCLUSIVE = frozenset({"anthropic", "bedrock"})
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
        provider = (object_at(own, "response.providerMetadata") or {}) if role in ("llm", "loop") else {}
        # Beside the conventions of version 7 stand the counts alone that these have no names for.
        counted = role in ("llm", "loop") or _OPERATION in span.attributes
        used = _tokens(own, provider) if counted else Tokens()
        return Reading(
            # An exporter that translates into the conventions may know better.
            role=None if _OPERATION in span.attributes else role,
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
            cost=_cost(provider),
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
            return _prompted(value) or Content(value, role="user") or None
    return None


def _prompted(value: JSONValue) -> Content | None:
    """Read a prompt that is one text with nothing beside it: where no model call ended, no other span has it."""
    if not isinstance(value, str) or not value.startswith('{"prompt":"'):
        return None
    prompt = parse(value).value
    if not is_object(prompt) or len(prompt) != 1:
        return None
    return Content(role="user", elements={0: {"role": "user", "content": prompt["prompt"]}})


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


def _tokens(own: Attributes, provider: dict[str, JSONValue]) -> Tokens:
    found = tokens_of({key.removeprefix("usage."): value for key, value in own.items() if key.startswith("usage.")})
    cached = count_at(own, "usage.inputTokenDetails.cacheReadTokens")
    written = count_at(own, "usage.inputTokenDetails.cacheWriteTokens")
    reasoned = count_at(own, "usage.outputTokenDetails.reasoningTokens")
    stated = [tokens_of(part) for part in _parts_of(provider)]
    read = either(found.cache_read, cached, *(tokens.cache_read for tokens in stated))
    write = either(found.cache_write, written, *(tokens.cache_write for tokens in stated))
    given = found.input
    if given is not None and not _EXCLUSIVE.isdisjoint(provider) and "usage.inputTokenDetails.noCacheTokens" not in own:
        # Until version 6 the SDK passed on what these providers count, which leaves the cache out.
        given += (read or 0) + (write or 0)
    return found._replace(
        input=given,
        cache_read=read,
        cache_write=write,
        reasoning=either(found.reasoning, reasoned, *(tokens.reasoning for tokens in stated)),
    )


def _cost(provider: dict[str, JSONValue]) -> float | None:
    """Read what a gateway says that the call cost."""
    return next((cost for part in _parts_of(provider) if (cost := number_at(part, "cost")) is not None), None)


def _parts_of(provider: dict[str, JSONValue]) -> list[dict[str, Any]]:
    """Give what each provider adds to a reply, and the usage inside it."""
    parts = [part for part in provider.values() if is_object(part)]
    return [*parts, *(part["usage"] for part in parts if is_object(part.get("usage")))]
