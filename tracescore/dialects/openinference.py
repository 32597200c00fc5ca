"""OpenInference: a kind for every span, messages in numbered attributes, and ``input.value`` and ``output.value``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracescore.dialects.flattened import numbered
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.graph_node import role_in_graph
from tracescore.dialects.openinference_fields import fields_of
from tracescore.dialects.openinference_messages import (
    COMPLETIONS,
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    PROMPTS,
    messages_of,
)
from tracescore.dialects.openinference_tools import (
    RERANKED,
    RETRIEVED,
    TELLING_EVENTS,
    call_arguments,
    event_of,
    handoff_target,
    numbered_documents,
    tool_of_event,
)
from tracescore.dialects.results import span_result
from tracescore.dialects.values import (
    begins_any,
    first_text,
    object_at,
    recorded,
    text_at,
    texts_at,
)
from tracescore.model import JSONValue, LogRecord, Span

KIND = "openinference.span.kind"

ROLES: dict[str, SpanRole] = {
    "LLM": "llm",
    "AGENT": "agent",
    "CHAIN": "container",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "EMBEDDING": "embedding",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluator",
    "PROMPT": "container",
}
_STARTS = ("openinference.", "llm.", "input.", "output.", "retrieval.", "reranker.", "tool.")
_NUMBERED = (INPUT_MESSAGES, OUTPUT_MESSAGES, PROMPTS, COMPLETIONS, RETRIEVED, RERANKED)
_NAME = 240
_RUNNING = re.compile(r"current_agent_name='([^'\\]{1,200})'\)\"\}\Z")
"""How the event ends that has a workflow of agents run one of them."""
_NAMED_RUN = re.compile(r"(\S.*)\.a?run")
_SETTING = "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE variables"


class OpenInference:
    """The OpenInference conventions."""

    marks = frozenset(start.removesuffix(".") for start in _STARTS)
    names = ()
    content_prefixes = (
        "input.value",
        "output.value",
        "llm.input_messages.",
        "llm.output_messages.",
        "llm.prompts",
        "llm.choices",
        "llm.tools.",
        "llm.prompt_template.",
        "message.",
        RETRIEVED,
        RERANKED,
        "reranker.input_documents.",
        "embedding.embeddings.",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span's attributes say."""
        attributes = span.attributes
        if not begins_any(attributes, _STARTS):
            return None
        kind = text_at(attributes, KIND)
        metadata = object_at(attributes, "metadata")
        role = _role(span, kind, metadata)
        handoff_to = handoff_target(span, attributes) if role == "tool" else None
        groups = numbered(attributes, _NUMBERED)
        asked = object_at(attributes, "llm.invocation_parameters") if role == "llm" else None
        given, answered = messages_of(span, role, groups)
        is_tool = handoff_to is None and (role == "tool" or (kind is None and "gen_ai.tool.name" in attributes))
        result = span_result(recorded(attributes, "output.value")) if is_tool else None
        fields = fields_of(attributes, role, metadata, asked)
        if is_tool and (told := tool_of_event(span)) is not None:
            fields.setdefault("tool_name", told)
        if result is not None:
            fields.setdefault("tool_call_id", result.call_id)
        return Reading(
            role="handoff" if handoff_to is not None else role,
            generic=False if role is not None else None,
            handoff_to=handoff_to,
            agent_name=_agent_name(span, role, metadata),
            name=first_text(metadata, ("langgraph_node",)) if role == "container" else None,
            input=given,
            output=answered,
            tool_arguments=call_arguments(attributes) if is_tool else None,
            tool_result=result.value if result is not None else handoff_to,
            tool_error=str(result.value) if result is not None and result.failed and result.value is not None else None,
            query=text_at(attributes, "reranker.query", "input.value") if role == "retrieval" else None,
            documents=numbered_documents(groups),
            finished=True if "llm.token_count.completion" in attributes or "llm.finish_reason" in attributes else None,
            tags=texts_at(attributes, "tag.tags"),
            metadata=metadata,
            content_setting=_SETTING if kind is not None else None,
            **fields,
        )


def _role(span: Span, kind: str | None, metadata: dict[str, JSONValue] | None) -> SpanRole | None:
    """Read the kind; one instrumentation guesses it from "agent" in the name of a tool or of a graph's node."""
    role = ROLES.get(kind.upper()) if kind is not None else None
    if "metadata.trace.run_id" in span.attributes and "metadata.class_name" not in span.attributes:
        return "step"  # an event of a run, which one framework records as a span of the run's kind
    if (happened := event_of(span)) is not None:
        return role if (role, happened.name) in TELLING_EVENTS else "step"
    if role == "llm" and "llm.model_name" not in span.attributes and _judges(span.attributes.get("output.value")):
        return "guardrail"
    if role != "agent":
        return role
    if "tool.name" in span.attributes:
        return "tool"
    return role_in_graph(span.name, metadata)


def _judges(answer: JSONValue) -> bool:
    """Tell what a moderation answered: it says whether a text is to be flagged, and nothing to anybody."""
    return isinstance(answer, str) and '"flagged":' in answer and '"results":' in answer


def _agent_name(span: Span, role: SpanRole | None, metadata: dict[str, JSONValue] | None) -> str | None:
    stated = text_at(span.attributes, "agent.name")
    if stated is None and role == "agent":
        stated = text_at(span.attributes, "graph.node.id")
    stated = stated or first_text(metadata, ("lc_agent_name", "agent_name"))
    if stated is None and role == "container":
        event = span.attributes.get("input.value")
        running = _RUNNING.search(event[-_NAME:]) if isinstance(event, str) else None
        return running.group(1) if running is not None else None
    if stated is None and role == "agent" and first_text(metadata, ("langgraph_node",)) == span.name:
        return span.name
    named = _NAMED_RUN.fullmatch(span.name) if stated is None and role == "agent" else None
    # An agent without a name of its own runs under its class's.
    return named.group(1) if named is not None and not named.group(1).endswith("Agent") else stated
