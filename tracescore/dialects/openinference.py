"""OpenInference: a kind for every span, messages in numbered attributes, and ``input.value`` and ``output.value``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_repr import python_value
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.flattened import Group, flattened_messages, numbered
from tracescore.dialects.form import Reading, SpanRole
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
from tracescore.dialects.response import previous_id_of, response_id_of
from tracescore.dialects.results import span_result, speaks_gemini
from tracescore.dialects.unwrap import AUTOMATIC_HISTORY
from tracescore.dialects.values import (
    Attributes,
    begins_any,
    count_at,
    first_text,
    number_at,
    object_at,
    recorded,
    text_at,
    texts_at,
)
from tracescore.model import JSONValue, LogRecord, Role, Span

KIND = "openinference.span.kind"
INPUT_MESSAGES = "llm.input_messages."
OUTPUT_MESSAGES = "llm.output_messages."
PROMPTS = "llm.prompts."
COMPLETIONS = "llm.choices."

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
_SESSION = ("session.id", "gen_ai.conversation.id")
_USER = ("user.id", "enduser.id")
"""What a span may state beside its metadata, in whichever dialect, comes first."""
_SESSIONS = ("session_id", "sessionId", "thread_id", "threadId", "conversation_id")
_USERS = ("user_id", "userId", "user")
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
        given, answered = _messages(span, role, groups)
        is_tool = handoff_to is None and (role == "tool" or (kind is None and "gen_ai.tool.name" in attributes))
        result = span_result(recorded(attributes, "output.value")) if is_tool else None
        return Reading(
            role="handoff" if handoff_to is not None else role,
            generic=False if role is not None else None,
            handoff_to=handoff_to,
            agent_name=_agent_name(span, role, metadata),
            agent_id=text_at(attributes, "graph.node.id"),
            stated_parent=text_at(attributes, "graph.node.parent_id") if role == "agent" else None,
            name=first_text(metadata, ("langgraph_node",)) if role == "container" else None,
            input=given,
            output=answered,
            choices=count_at(asked, "n") if asked is not None else None,
            tool_name=text_at(attributes, "tool.name") or (tool_of_event(span) if is_tool else None),
            tool_call_id=text_at(attributes, "tool_call.id", "tool.id") or (result.call_id if result else None),
            tool_arguments=call_arguments(attributes) if is_tool else None,
            tool_result=result.value if result is not None else handoff_to,
            tool_error=str(result.value) if result is not None and result.failed and result.value is not None else None,
            query=text_at(attributes, "input.value", "reranker.query") if role == "retrieval" else None,
            documents=numbered_documents(groups),
            model_asked=text_at(attributes, "llm.request.model_name") or first_text(asked, ("model", "model_name")),
            model_answered=text_at(attributes, "llm.response.model_name", "llm.model_name"),
            provider=text_at(attributes, "llm.provider", "llm.system"),
            response_id=response_id_of(attributes.get("output.value")) if role == "llm" else None,
            previous_response_id=previous_id_of(attributes.get("input.value"), asked) if role == "llm" else None,
            finished=True if "llm.token_count.completion" in attributes or "llm.finish_reason" in attributes else None,
            input_tokens=count_at(attributes, "llm.token_count.prompt"),
            output_tokens=count_at(attributes, "llm.token_count.completion"),
            cache_read_tokens=count_at(attributes, "llm.token_count.prompt_details.cache_read"),
            cache_write_tokens=count_at(attributes, "llm.token_count.prompt_details.cache_write"),
            reasoning_tokens=count_at(attributes, "llm.token_count.completion_details.reasoning"),
            cost=number_at(attributes, "llm.cost.total"),
            session_id=text_at(attributes, *_SESSION) or _within(metadata, asked, _SESSIONS),
            user_id=text_at(attributes, *_USER) or _within(metadata, asked, _USERS) or text_at(attributes, "llm.user"),
            tags=texts_at(attributes, "tag.tags"),
            metadata=metadata,
            content_setting=_SETTING if kind is not None else None,
        )


def _role(span: Span, kind: str | None, metadata: dict[str, JSONValue] | None) -> SpanRole | None:
    """Read the kind; one instrumentation guesses it from "agent" in the name of a tool or of a graph's node."""
    role = ROLES.get(kind.upper()) if kind is not None else None
    if "metadata.trace.run_id" in span.attributes and "metadata.class_name" not in span.attributes:
        return "step"  # an event of a run, which one framework records as a span of the run's kind
    if (happened := event_of(span)) is not None:
        return role if (role, happened.name) in TELLING_EVENTS else "step"
    if role != "agent":
        return role
    if "tool.name" in span.attributes:
        return "tool"
    node = first_text(metadata, ("langgraph_node",))
    if node is None or first_text(metadata, ("lc_agent_name",)) is not None:
        return role
    # A turn of a prebuilt agent, or a function inside a node; an agent inside a node goes by the node's name.
    return "step" if node == "agent" or span.name != node else role


def _messages(span: Span, role: SpanRole | None, groups: dict[str, Group]) -> tuple[Content | None, Content | None]:
    """Read messages; a value beside them only where there are none, and first on spans that are no model call.

    Chains repeat single messages of what their input holds whole.
    """
    given = groups.get(INPUT_MESSAGES) or _texts(groups.get(PROMPTS, {}), "prompt.text")
    answered = groups.get(OUTPUT_MESSAGES) or _texts(groups.get(COMPLETIONS, {}), "completion.text")
    # Some SDKs drop the oldest attributes at their limit, others the newest: then the end of the input is gone as well.
    tail_lost = span.dropped_attributes > 0 and 0 in given and not answered
    gemini = speaks_gemini(text_at(span.attributes, "llm.provider"))
    messages = (
        flattened_messages(given, role="user", tail_lost=tail_lost, gemini=gemini),
        flattened_messages(answered, role="assistant"),
    )
    values = _content(span.attributes, "input", "user"), _content(span.attributes, "output", "assistant")
    if role == "llm" or role is None:
        raw = span.attributes.get("output.value")
        if isinstance(raw, str) and AUTOMATIC_HISTORY in raw:
            return messages[0] or values[0], values[1]
        return messages[0] or values[0], messages[1] or values[1]
    return values[0] or messages[0], values[1] or messages[1]


def _texts(group: Group, key: str) -> Group:
    """Make messages of the prompts and completions of models that do not chat."""
    return {number: {"message.content": fields[key]} for number, fields in group.items() if key in fields}


def _content(attributes: Attributes, side: str, role: Role) -> Content | None:
    value = recorded(attributes, f"{side}.value")
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("{'role': "):
        value = python_value(value) or value  # a message as the text of a Python object
    content = Content(value, role=role, rank=DERIVED, plain=_is_plain(attributes, side))
    return content or None


def _is_plain(attributes: Attributes, side: str) -> bool:
    return attributes.get(f"{side}.mime_type") == "text/plain"


def _agent_name(span: Span, role: SpanRole | None, metadata: dict[str, JSONValue] | None) -> str | None:
    stated = text_at(span.attributes, "agent.name")
    if stated is None and role == "agent":
        stated = text_at(span.attributes, "graph.node.id")
    stated = stated or first_text(metadata, ("lc_agent_name", "agent_name"))
    if stated is None and role == "agent" and first_text(metadata, ("langgraph_node",)) == span.name:
        return span.name
    named = _NAMED_RUN.fullmatch(span.name) if stated is None and role == "agent" else None
    # An agent without a name of its own runs under its class's.
    return named.group(1) if named is not None and not named.group(1).endswith("Agent") else stated


def _within(
    metadata: dict[str, JSONValue] | None, asked: dict[str, JSONValue] | None, keys: tuple[str, ...]
) -> str | None:
    found = first_text(metadata, keys)
    if found is None and asked is not None:
        extra = parse(asked.get("metadata")).value
        found = first_text(extra if is_object(extra) else None, keys) or first_text(asked, keys)
    return found
