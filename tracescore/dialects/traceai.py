"""TraceAI, Dify, and others that add OpenInference's kinds to GenAI's names, and number the messages as it does."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.flattened import flattened_messages, numbered
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.openinference_tools import call_arguments
from tracescore.dialects.results import documents_of, span_result
from tracescore.dialects.values import count_at, recorded, text_at
from tracescore.model import LogRecord, Span

_KIND = "gen_ai.span.kind"
_GIVEN, _ANSWERED = "gen_ai.input.messages.", "gen_ai.output.messages."
_DETAILS = ("gen_ai.usage.input_tokens.cache_", "gen_ai.usage.output_tokens.reasoning")
_KINDS: dict[str, SpanRole] = {
    "LLM": "llm",
    "AGENT": "agent",
    "TOOL": "tool",
    **dict.fromkeys(("RETRIEVER", "RERANKER"), "retrieval"),
    "EMBEDDING": "embedding",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluator",
    **dict.fromkeys(("CHAIN", "WORKFLOW", "ENTRY", "CONVERSATION"), "container"),
    **dict.fromkeys(("STEP", "TASK"), "step"),
}


class TraceAI:
    """The spans that carry ``gen_ai.span.kind``."""

    marks = frozenset({_KIND})
    names = ()
    content_prefixes = (_GIVEN, _ANSWERED)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the kind, and the numbered messages; the plain values beside them are OpenInference's."""
        attributes = span.attributes
        kind = text_at(attributes, _KIND)
        if kind is None:
            return None
        role = _KINDS.get(kind.upper())
        groups = numbered(attributes, (_GIVEN, _ANSWERED))
        calls = role in ("llm", None)
        is_tool = role == "tool"
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=text_at(attributes, "gen_ai.agent.name", "graph.node.id") if role == "agent" else None,
            # Chains and agents repeat single messages of what their input holds whole.
            input=flattened_messages(groups.get(_GIVEN, {}), role="user") if calls else None,
            output=flattened_messages(groups.get(_ANSWERED, {}), role="assistant") if calls else None,
            tool_arguments=call_arguments(attributes) if is_tool else None,
            tool_result=span_result(recorded(attributes, "output.value")).value if is_tool else None,
            query=text_at(attributes, "retrieval.query", "gen_ai.retrieval.query") if role == "retrieval" else None,
            documents=documents_of(attributes.get("retrieval.document")) if role == "retrieval" else None,
            cache_read_tokens=count_at(attributes, f"{_DETAILS[0]}read"),
            cache_write_tokens=count_at(attributes, f"{_DETAILS[0]}write"),
            reasoning_tokens=count_at(attributes, _DETAILS[1]),
        )
