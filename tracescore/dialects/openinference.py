"""OpenInference: a kind for every span, messages in numbered attributes, and ``input.value`` and ``output.value``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_repr import answer_in, python_value
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.fields import Fields
from tracescore.dialects.flattened import Group, flattened_messages, numbered
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.graph_node import role_in_graph
from tracescore.dialects.openinference_tools import (
    RERANKED,
    RETRIEVED,
    TELLING_EVENTS,
    call_arguments,
    event_of,
    handoff_target,
    numbered_documents,
    tool_of_event,
    with_call_ids,
)
from tracescore.dialects.response import previous_id_of, reply_beside, response_id_of
from tracescore.dialects.results import span_result, speaks_gemini
from tracescore.dialects.unwrap import AUTOMATIC_HISTORY
from tracescore.dialects.values import (
    Attributes,
    begins_any,
    count_at,
    first_text,
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
_FIELDS = Fields(
    texts={
        "agent_id": ("graph.node.id",),
        "stated_parent": ("graph.node.parent_id",),
        "tool_name": ("tool.name",),
        "tool_call_id": ("tool_call.id", "tool.id"),
        "model_asked": ("llm.request.model_name",),
        "model_answered": ("llm.response.model_name", "gen_ai.response.model"),
        "model_named": ("llm.model_name",),
        "provider": ("llm.provider", "llm.system"),
        # What a span may state beside its metadata, in whichever dialect, comes first.
        "session_id": ("session.id", "gen_ai.conversation.id"),
        "user_id": ("user.id", "enduser.id"),
    },
    counts={
        "input_tokens": ("llm.token_count.prompt",),
        "output_tokens": ("llm.token_count.completion",),
        "cache_read_tokens": (
            "llm.token_count.prompt_details.cache_read",
            "metadata.usage.cached_prompt_tokens",
        ),
        "cache_write_tokens": ("llm.token_count.prompt_details.cache_write",),
        "reasoning_tokens": ("llm.token_count.completion_details.reasoning",),
    },
    numbers={"cost": ("llm.cost.total",)},
)
_SESSIONS = ("session_id", "sessionId", "thread_id", "threadId", "conversation_id")
_USERS = ("user_id", "userId", "user")
_NAME = 240
_RUNNING = re.compile(r"current_agent_name='([^'\\]{1,200})'\)\"\}\Z")
"""How the event ends that has a workflow of agents run one of them."""
_NAMED_RUN = re.compile(r"(\S.*)\.a?run")
_CALLED = ('{"args"', '{"prompt"')
_CACHE_READ = ("llm.token_count.prompt_details.cache_read", "metadata.usage.cached_prompt_tokens")
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
        fields = _FIELDS.read(attributes)
        if is_tool and (told := tool_of_event(span)) is not None:
            fields.setdefault("tool_name", told)
        named = fields.pop("model_named", None)
        if role == "llm":
            _add_reply(fields, attributes.get("output.value"), named)
            fields.setdefault("model_asked", first_text(asked, ("model", "model_name")))
            fields["response_id"] = response_id_of(attributes.get("output.value"))
            fields["previous_response_id"] = previous_id_of(attributes.get("input.value"), asked)
            fields["choices"] = count_at(asked, "n") if asked is not None else None
        if named is not None and named != fields.get("model_asked"):
            # The name that was asked for may stand here as well: then it is no news of who answered.
            fields.setdefault("model_answered", named)
        if role != "agent":
            fields.pop("stated_parent", None)
        if result is not None:
            fields.setdefault("tool_call_id", result.call_id)
        fields.setdefault("session_id", _within(metadata, asked, _SESSIONS))
        fields.setdefault("user_id", _within(metadata, asked, _USERS) or text_at(attributes, "llm.user"))
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
            query=text_at(attributes, "input.value", "reranker.query") if role == "retrieval" else None,
            documents=numbered_documents(groups),
            finished=True if "llm.token_count.completion" in attributes or "llm.finish_reason" in attributes else None,
            tags=texts_at(attributes, "tag.tags"),
            metadata=metadata,
            content_setting=_SETTING if kind is not None else None,
            **fields,
        )


def _add_reply(fields: dict[str, Any], output: JSONValue, named: str | None) -> None:
    """Add what a raw response says of model and tokens, and the attributes leave out."""
    answered, counted = fields.get("model_answered"), "cache_read_tokens" in fields
    if answered is not None and counted:
        return
    reply = reply_beside(output, named=answered or named, counted=counted)
    if reply.model is not None:
        fields.setdefault("model_answered", reply.model)
    for side, count in reply.used._asdict().items():
        if count is not None:
            fields.setdefault(f"{side}_tokens", count)


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
    return role_in_graph(span.name, metadata)


def _messages(span: Span, role: SpanRole | None, groups: dict[str, Group]) -> tuple[Content | None, Content | None]:
    """Read messages; a value beside them only where there are none, and first on spans that are no model call.

    Chains repeat single messages of what their input holds whole.
    """
    given = groups.get(INPUT_MESSAGES) or _texts(groups.get(PROMPTS, {}), "prompt.text")
    if role == "llm":
        given = with_call_ids(given, span.attributes.get("input.value")) or _prompts(span.attributes)
    answered = groups.get(OUTPUT_MESSAGES) or _texts(groups.get(COMPLETIONS, {}), "completion.text")
    # Some SDKs drop the oldest attributes at their limit, others the newest: then the end of the input is gone as well.
    tail_lost = span.dropped_attributes > 0 and 0 in given and not answered
    gemini = speaks_gemini(text_at(span.attributes, "llm.provider"))
    messages = (
        flattened_messages(given, role="user", tail_lost=tail_lost, gemini=gemini),
        flattened_messages(answered, role="assistant"),
    )
    values = _content(span.attributes, "input", "user"), _answer(span.attributes, role)
    if role == "llm" or role is None:
        raw = span.attributes.get("output.value")
        if isinstance(raw, str) and AUTOMATIC_HISTORY in raw:
            return messages[0] or values[0], values[1]
        return messages[0] or values[0], messages[1] or values[1]
    return values[0] or messages[0], values[1] or messages[1]


def _prompts(attributes: Attributes) -> Group:
    """Make messages of prompts that stand in one attribute, or that a completion was called with."""
    prompts = attributes.get("llm.prompts")
    if prompts is None:
        raw = attributes.get("input.value")
        called = object_at(attributes, "input.value") if isinstance(raw, str) and raw.startswith(_CALLED) else None
        prompts = (called.get("prompt") or called.get("args")) if called is not None else None
        prompts = prompts[:1] if isinstance(prompts, list) else prompts
    found = prompts if isinstance(prompts, list) else [prompts]
    return {place: {"message.content": text} for place, text in enumerate(found) if isinstance(text, str) and text}


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


def _answer(attributes: Attributes, role: SpanRole | None) -> Content | None:
    """Read the output; of an agent or a chain it may be the text of the object that holds the answer."""
    raw = attributes.get("output.value")
    if role not in ("agent", "container") or not isinstance(raw, str) or not raw[:1].isupper():
        return _content(attributes, "output", "assistant")
    message = answer_in(raw)
    if message is None:
        return _content(attributes, "output", "assistant")
    return Content(message, role="assistant", rank=DERIVED)


def _is_plain(attributes: Attributes, side: str) -> bool:
    return attributes.get(f"{side}.mime_type") == "text/plain"


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


def _within(
    metadata: dict[str, JSONValue] | None, asked: dict[str, JSONValue] | None, keys: tuple[str, ...]
) -> str | None:
    found = first_text(metadata, keys)
    if found is None and asked is not None:
        extra = parse(asked.get("metadata")).value
        found = first_text(extra if is_object(extra) else None, keys) or first_text(asked, keys)
    return found
