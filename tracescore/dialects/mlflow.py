"""MLflow's tracing exported over OTLP: ``mlflow.*``, every value JSON within a string."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.response import Reply, previous_id_of, reply_of, response_id_of
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.tokens import Tokens, either, tokens_of
from tracescore.dialects.values import Attributes, first_text, number_of, object_at
from tracescore.model import JSONValue, LogRecord, Role, Span

_ROLES: dict[str, SpanRole] = {
    "AGENT": "agent",
    "CHAT_MODEL": "llm",
    "LLM": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "EMBEDDING": "embedding",
    "MEMORY": "memory",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluator",
    "CHAIN": "container",
    "WORKFLOW": "container",
    "TASK": "step",
}
_SESSIONS = ("session_id", "thread_id")


class MLflow:
    """The spans of MLflow's own tracer."""

    marks = frozenset({"mlflow"})
    names = ()
    content_prefixes = ("mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.chat.tools")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``mlflow.``."""
        attributes = span.attributes
        if not any(key.startswith("mlflow.") for key in attributes):
            return None
        role = _ROLES.get((_text(attributes, "mlflow.spanType") or "").upper())
        given, answered = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
        request = object_at(attributes, "mlflow.spanInputs") if role == "llm" else None
        used = tokens_of(attributes.get("mlflow.chat.tokenUsage")) if role == "llm" else Tokens()
        reply = reply_of(answered) if role == "llm" else Reply()
        result = span_result(answered) if role == "tool" else None
        # LangGraph's callbacks note the thread that a graph runs in.
        noted = object_at(attributes, "metadata") if "metadata" in attributes else None
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=(_text(attributes, "name") or span.name) if role == "agent" else None,
            name=span.name if role == "container" else None,
            input=_content(given, "user"),
            output=_content(answered, "assistant"),
            tool_name=span.name if role == "tool" else None,
            tool_call_id=result.call_id if result is not None else None,
            tool_arguments=_arguments(given) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            documents=documents_of(answered) if role == "retrieval" else None,
            model_asked=first_text(request, ("model",)),
            model_answered=_text(attributes, "mlflow.llm.model") or reply.model,
            provider=_text(attributes, "mlflow.llm.provider"),
            response_id=response_id_of(answered) if role == "llm" else None,
            previous_response_id=previous_id_of(given, request) if role == "llm" else None,
            finished=True if role == "llm" and answered is not None else None,
            input_tokens=either(used.input, reply.used.input),
            output_tokens=either(used.output, reply.used.output),
            cache_read_tokens=either(used.cache_read, reply.used.cache_read),
            cache_write_tokens=either(used.cache_write, reply.used.cache_write),
            reasoning_tokens=either(used.reasoning, reply.used.reasoning),
            cost=number_of((object_at(attributes, "mlflow.llm.cost") or {}).get("total_cost")),
            session_id=_text(attributes, "mlflow.trace.session") or first_text(noted, _SESSIONS),
            user_id=_text(attributes, "mlflow.trace.user") or first_text(noted, ("user_id",)),
        )


def _text(attributes: Attributes, key: str) -> str | None:
    """Give a text that is JSON within a string, and as it is where an exporter took that off."""
    value = parse(attributes.get(key)).value
    return value if isinstance(value, str) and value else None


def _arguments(value: JSONValue) -> JSONValue:
    """Take the arguments out of the one parameter that a traced function has for all of them."""
    arguments = arguments_value(value)
    if is_object(arguments) and len(arguments) == 1 and is_object(only := next(iter(arguments.values()))):
        return only
    return arguments


def _content(value: JSONValue, role: Role) -> Content | None:
    return None if value is None else Content(value, role=role, rank=DERIVED) or None
