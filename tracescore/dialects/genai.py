"""The OpenTelemetry conventions for generative AI: attributes, and content in events or log records.

Reads ``gen_ai.*`` of the span; the messages also from the event ``gen_ai.client.inference.operation.details`` and from
one event a message (``gen_ai.user.message`` … ``gen_ai.choice``), each as log record or span event.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.content import Content, Decoder
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.form import Reading, SpanRole, best
from tracescore.dialects.genai_events import Event, event_messages, events_of
from tracescore.dialects.instructions import instructions
from tracescore.dialects.results import arguments_value, documents_of, returned_values, span_result, speaks_gemini
from tracescore.dialects.spelled import spelled_content
from tracescore.dialects.values import Attributes, begins_any, count_at, number_at, text_at
from tracescore.model import JSONValue, LogRecord, Role, Span

PREFIX = "gen_ai."
OPERATION = "gen_ai.operation.name"
DETAILS = "gen_ai.client.inference.operation.details"
INPUT = ("gen_ai.input.messages", "gen_ai.prompt")
OUTPUT = ("gen_ai.output.messages", "gen_ai.completion")
SYSTEM = "gen_ai.system_instructions"
PROVIDER = ("gen_ai.provider.name", "gen_ai.system")

ROLES: dict[str, SpanRole] = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "generate", "completion", "response"), "llm"),
    **dict.fromkeys(("acompletion", "responses"), "llm"),
    "invoke_agent": "agent",
    "create_agent": "setup",
    **dict.fromkeys(("invoke_workflow", "handle_conversation_turn", "plan", "framework", "chain"), "container"),
    **dict.fromkeys(("agent_step", "execute_event_loop_cycle", "execute_task", "turn"), "step"),
    **dict.fromkeys(("model_step", "model_generation", "model_inference", "model_chunk"), "step"),
    **dict.fromkeys(("tts", "stt", "text_to_speech", "speech_to_text", "transcription"), "step"),
    "execute_tool": "tool",
    "retrieval": "retrieval",
    "embeddings": "embedding",
    **dict.fromkeys(("search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"), "memory"),
}

_NODES = frozenset({"agent", "model", "tools"})
"""Nodes of a prebuilt agent's graph: one instrumentation calls each turn of each node an agent."""


class GenAI:
    """The OpenTelemetry GenAI conventions."""

    marks: frozenset[str] | None = None
    names = ()
    content_prefixes = (
        *INPUT,
        *OUTPUT,
        SYSTEM,
        "system_prompt",
        "gen_ai.tool.definitions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.retrieval.documents",
        "gen_ai.prompt.",
        "gen_ai.completion.",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span and its events say under ``gen_ai.``."""
        attributes = span.attributes
        events = events_of(span, logs)
        if not events and not begins_any(attributes, PREFIX):
            return None
        sources = [attributes, *[event.attributes for event in events if event.name == DETAILS]]
        operation = text_at(attributes, OPERATION)
        role = ROLES.get(operation.lower()) if operation is not None else None
        is_node = role == "agent" and attributes.get("gen_ai.agent.name") in _NODES and _is_graph(attributes)
        if is_node:
            role = "step"
        given, answered = _messages(sources, events, role)
        arguments, result = _tool_content(attributes, events, role)
        return Reading(
            role=role,
            generic=False if role is not None else None,
            agent_name=None if is_node else text_at(attributes, "gen_ai.agent.name"),
            agent_id=text_at(attributes, "gen_ai.agent.id"),
            name=text_at(attributes, "gen_ai.workflow.name", "gen_ai.task.name"),
            input=given,
            output=answered,
            system=_system(sources),
            choices=count_at(attributes, "gen_ai.request.choice.count"),
            tool_name=text_at(attributes, "gen_ai.tool.name"),
            tool_call_id=text_at(attributes, "gen_ai.tool.call.id"),
            tool_arguments=arguments,
            tool_result=result,
            query=text_at(attributes, "gen_ai.retrieval.query.text"),
            documents=documents_of(attributes.get("gen_ai.retrieval.documents")),
            model_asked=text_at(attributes, "gen_ai.request.model"),
            model_answered=text_at(attributes, "gen_ai.response.model"),
            provider=text_at(attributes, *PROVIDER),
            response_id=text_at(attributes, "gen_ai.response.id"),
            previous_response_id=text_at(attributes, "gen_ai.request.previous_response_id"),
            finished=_finished(attributes),
            input_tokens=count_at(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
            output_tokens=count_at(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
            cache_read_tokens=count_at(
                attributes,
                "gen_ai.usage.cache_read.input_tokens",
                "gen_ai.usage.cache_read_input_tokens",
                "gen_ai.usage.details.cache_read_tokens",
                "gen_ai.usage.details.cached_tokens",
            ),
            cache_write_tokens=count_at(
                attributes,
                "gen_ai.usage.cache_write.input_tokens",
                "gen_ai.usage.cache_creation.input_tokens",
                "gen_ai.usage.cache_creation_input_tokens",
                "gen_ai.usage.details.cache_write_tokens",
            ),
            reasoning_tokens=count_at(
                attributes,
                "gen_ai.usage.reasoning.output_tokens",
                "gen_ai.usage.reasoning_tokens",
                "gen_ai.usage.details.reasoning_tokens",
            ),
            cost=number_at(attributes, "gen_ai.usage.cost"),
            session_id=text_at(attributes, "session.id", "gen_ai.conversation.id"),
            user_id=text_at(attributes, "user.id", "enduser.id", "gen_ai.request.user"),
            error_type=text_at(attributes, "error.type"),
        )


def _is_graph(attributes: Attributes) -> bool:
    return text_at(attributes, *PROVIDER) == "langgraph"


def _system(sources: Sequence[Attributes]) -> Content | None:
    found = [instructions(source[key]) for source in sources for key in (SYSTEM, "system_prompt") if key in source]
    return best(*(content for content in found if content is not None)) if found else None


def _finished(attributes: Attributes) -> bool | None:
    names = ("gen_ai.response.id", "gen_ai.response.finish_reasons", "gen_ai.usage.output_tokens")
    return True if any(attributes.get(name) is not None for name in names) else None


def _messages(
    sources: Sequence[Attributes], events: Sequence[Event], role: SpanRole | None
) -> tuple[Content | None, Content | None]:
    """Choose among the copies of the messages: attributes, one event for all of them, one event for each."""
    decode = returned_values(said_of) if speaks_gemini(text_at(sources[0], *PROVIDER)) else said_of
    given = _best_of(sources, INPUT, "user", decode)
    answered = _best_of(sources, OUTPUT, "assistant", decode)
    if role == "tool" or (given is not None and answered is not None):
        return given, answered
    spoken, chosen = event_messages(events)
    return given or spoken, answered or chosen or (_call_beside(sources[0]) if role == "llm" else None)


def _call_beside(attributes: Attributes) -> Content | None:
    """Read a call that a model asked for from the model call's own span, where a library names it there."""
    name = text_at(attributes, "gen_ai.tool.name")
    if name is None:
        return None
    call = {"id": attributes.get("gen_ai.tool.call.id"), "name": name, "arguments": attributes.get("gen_ai.tool.args")}
    return Content(role="assistant", elements={0: {"role": "assistant", "tool_calls": [call]}})


def _best_of(sources: Sequence[Attributes], keys: Sequence[str], role: Role, decode: Decoder) -> Content | None:
    found: list[Content] = []
    for key in keys:
        for source in sources:
            value = source.get(key)
            if value is not None and (
                content := spelled_content(value, role) or Content(value, role=role, decode=decode)
            ):
                found.append(content)
    return best(*found) if found else None


def _tool_content(
    attributes: Attributes, events: Sequence[Event], role: SpanRole | None
) -> tuple[JSONValue, JSONValue]:
    arguments = arguments_value(attributes.get("gen_ai.tool.call.arguments"))
    result = span_result(attributes.get("gen_ai.tool.call.result")).value
    if role != "tool" or not events:
        return arguments, result
    for event in events:
        if event.name == "gen_ai.tool.message" and arguments is None:
            arguments = arguments_value(event.content)
        elif event.name == "gen_ai.choice" and result is None:
            result = span_result(event.content).value
    return arguments, result
