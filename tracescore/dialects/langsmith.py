"""LangSmith's OpenTelemetry export: the kind of a run, and its metadata, beside the GenAI names."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.response import Reply, reply_of, response_id_of
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, Span

PREFIX = "langsmith."
_METADATA = "langsmith.metadata."
_NOTHING = "{}"
"""What the SDK writes as the output of a run that failed."""
_TRACEABLE, _ASSISTANT = "langsmith.traceable", '"role":"assistant"'
_STACK = "Traceback (most recent call last):"
_ROLES: dict[str, SpanRole] = {
    "llm": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
    "chain": "container",
    "prompt": "step",
    "parser": "step",
}


class LangSmith:
    """The runs of LangSmith's SDK; the messages are in the GenAI attributes, in LangChain's shapes."""

    marks = frozenset({"langsmith"})
    names = ()
    content_prefixes = ("gen_ai.prompt", "gen_ai.completion")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``langsmith.``."""
        attributes = span.attributes
        if not any(key.startswith(PREFIX) for key in attributes):
            return None
        role = _ROLES.get((text_at(attributes, "langsmith.span.kind") or "").lower())
        metadata = {
            key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)
        }
        answered = recorded(attributes, "gen_ai.completion")
        answered = None if answered == _NOTHING else answered
        reply = reply_of(answered) if role == "llm" else Reply()
        counted = metadata.get("usage_metadata") if role == "llm" else None
        used = tokens_of(counted) if counted is not None else reply.used
        result = span_result(_only(_only(answered, "output"), "outputs")) if role == "tool" else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=text_at(metadata, "lc_agent_name"),
            name=text_at(metadata, "langgraph_node") if role == "container" else None,
            input=_as_asked(attributes, answered) if role == "llm" else None,
            tool_name=text_at(attributes, "gen_ai.tool.name") or (span.name if role == "tool" else None),
            tool_call_id=result.call_id if result is not None else None,
            tool_arguments=_arguments(recorded(attributes, "gen_ai.prompt")) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            tool_error=_raised(span) if role == "tool" and span.status == "error" else None,
            query=_query(recorded(attributes, "gen_ai.prompt")) if role == "retrieval" else None,
            documents=documents_of(answered) if role == "retrieval" else None,
            model_asked=text_at(metadata, "ls_model_name") if role == "llm" else None,
            model_answered=reply.model,
            provider=text_at(metadata, "ls_provider") if role == "llm" else None,
            response_id=response_id_of(answered) if role == "llm" else None,
            finished=True if role == "llm" and answered is not None else None,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
            tags=texts_at(attributes, "langsmith.span.tags"),
            metadata=metadata or None,
        )


def _as_asked(attributes: Attributes, answered: JSONValue) -> Content | None:
    """Give a request that holds its own reply without it and what follows; ``None`` for any other.

    JavaScript's SDK writes the messages down when the call is over, and the application goes on with the same list.
    """
    prompt = recorded(attributes, "gen_ai.prompt")
    if _TRACEABLE not in attributes or not isinstance(prompt, str) or _ASSISTANT not in prompt:
        return None
    request, reply = parse(prompt).value, parse(answered).value
    messages = request.get("messages") if is_object(request) else None
    choices = reply.get("choices") if is_object(reply) else None
    said = choices[0].get("message") if isinstance(choices, list) and choices and is_object(choices[0]) else None
    if not is_object(request) or not isinstance(messages, list) or not is_object(said):
        return None
    calls = said.get("tool_calls")
    for place, message in enumerate(messages):
        if not is_object(message) or message.get("role") != "assistant" or message.get("tool_calls") != calls:
            continue
        if calls or (place == len(messages) - 1 and message.get("content") == said.get("content")):
            return Content({**request, "messages": messages[:place]}, role="user", rank=NATIVE + 1)
    return None


def _raised(span: Span) -> str | None:
    """Give what a tool raised, without the stack that the SDK appends to it."""
    for event in span.events:
        message = event.attributes.get("exception.message")
        if isinstance(message, str) and message:
            return message.partition(_STACK)[0].strip() or message
    return None


def _only(value: JSONValue, key: str) -> JSONValue:
    """Take out the text that the SDK put into an object, since inputs and outputs of its runs are objects."""
    decoded = parse(value).value
    if is_object(decoded) and decoded.keys() == {key} and isinstance(decoded[key], str):
        return decoded[key]
    return value


def _arguments(value: JSONValue) -> JSONValue:
    given = arguments_value(value)
    if is_object(given) and given.keys() == {"input"} and is_object(inner := given["input"]):
        return inner
    return given


def _query(value: object) -> str | None:
    asked = parse(value).value
    return text_at(asked, "query", "input") if is_object(asked) else asked if isinstance(asked, str) else None
