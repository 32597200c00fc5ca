"""The OpenTelemetry conventions for generative AI: attributes, and content in events or log records.

Reads ``gen_ai.*`` of the span; the messages also from the event ``gen_ai.client.inference.operation.details`` and from
one event a message (``gen_ai.user.message`` … ``gen_ai.choice``), each as log record or span event.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

from tracescore.dialects.content import Content, Decoder
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.form import Reading, SpanRole, best
from tracescore.dialects.genai_events import Event, event_messages, events_of
from tracescore.dialects.genai_fields import fields_of
from tracescore.dialects.graph_node import is_plumbing
from tracescore.dialects.instructions import instructions
from tracescore.dialects.langchain_notes import noted_arguments, returned
from tracescore.dialects.results import arguments_value, documents_of, returned_values, span_result, speaks_gemini
from tracescore.dialects.spelled import WRITTEN, spelled_content, unwritten
from tracescore.dialects.values import Attributes, begins_any, text_at
from tracescore.model import JSONValue, LogRecord, RetrievedDocument, Role, Span

PREFIX = "gen_ai."
DETAILS = "gen_ai.client.inference.operation.details"
INPUT = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.content.prompt")
OUTPUT = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.content.completion")
_MESSAGES = frozenset((*INPUT, *OUTPUT))
SYSTEM = "gen_ai.system_instructions"
DOCUMENTS = "gen_ai.retrieval.documents"
_RARE = frozenset({SYSTEM, "system_prompt", DOCUMENTS})
VARIABLE = "gen_ai.prompt.variable."
_IS_VARIABLE = methodcaller("startswith", VARIABLE)
_DOCUMENT = '"page_content"'
MERGED = "(merged tools)"
"""The tool's name on the span of an event that holds the results of several calls, each of which has its own (ADK)."""
_NO_OPERATIONS = ("retriever", "prompt", "parser")
"""What LangSmith's SDK gives the name of another operation: an embedding, a chat."""
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
    "vector_db_retrieve": "retrieval",
    "embeddings": "embedding",
    **dict.fromkeys(("search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"), "memory"),
}
_REPLIED = ("gen_ai.response.id", "gen_ai.response.finish_reasons", "gen_ai.usage.output_tokens")
"""What only a reply brings."""

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
        DOCUMENTS,
        "gen_ai.prompt.",
        "gen_ai.completion.",
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span and its events say under ``gen_ai.``."""
        attributes = span.attributes
        events = events_of(span, logs)
        if not events and not begins_any(attributes, PREFIX):
            return None
        details = [event.attributes for event in events if event.name == DETAILS] if events else []
        sources = [attributes, *details]
        # A few libraries say whom a call was for, and what it used, in the event alone.
        stated = {**details[0], **attributes} if len(details) == 1 else attributes
        fields = fields_of(stated)
        operation = fields.pop("operation", None)
        misnamed = attributes.get("langsmith.span.kind") in _NO_OPERATIONS
        role = ROLES.get(operation.lower()) if operation is not None and not misnamed else None
        if fields.get("tool_name") == MERGED:
            role = "step"
        elif role == "agent" and _is_no_agent(fields.get("agent_name"), fields.get("provider")):
            role = "step"
            del fields["agent_name"]
        given, answered = _messages(sources, events, role, fields.get("provider"))
        if role is not None:
            fields["role"], fields["generic"] = role, False
        if details or not _RARE.isdisjoint(attributes):
            fields["system"] = _system(sources)
            fields["documents"] = documents_of(attributes.get(DOCUMENTS)) or None
        if role == "tool" or "gen_ai.tool.call.arguments" in attributes or "gen_ai.tool.call.result" in attributes:
            fields["tool_arguments"], fields["tool_result"] = _tool_content(attributes, events, role)
        if role == "llm" and not fields.get("documents"):
            fields["documents"] = _documents_given(attributes)
        return Reading(input=given, output=answered, finished=_finished(stated), **fields)


def _is_no_agent(name: str | None, provider: str | None) -> bool:
    """Tell a node or a part of a chain that one instrumentation takes for an agent."""
    return name is not None and (is_plumbing(name) or (name in _NODES and provider == "langgraph"))


def _system(sources: Sequence[Attributes]) -> Content | None:
    found = [instructions(source[key]) for source in sources for key in (SYSTEM, "system_prompt") if key in source]
    return best(*(content for content in found if content is not None)) if found else None


def _documents_given(attributes: Attributes) -> tuple[RetrievedDocument, ...] | None:
    """Read the documents that a prompt was filled with, where the retrieval itself records none of them."""
    if not any(map(_IS_VARIABLE, attributes)):
        return None
    values = [attributes[key] for key in attributes if key.startswith(VARIABLE)]
    texts = [value for value in values if isinstance(value, str) and value[:2] == "[{" and _DOCUMENT in value]
    return tuple(document for text in texts for document in documents_of(text) or ()) or None


def _finished(attributes: Attributes) -> bool | None:
    for name in _REPLIED:
        if attributes.get(name) is not None:
            return True
    return None


def _messages(
    sources: Sequence[Attributes], events: Sequence[Event], role: SpanRole | None, provider: str | None
) -> tuple[Content | None, Content | None]:
    """Choose among the copies of the messages: attributes, one event for all of them, one event for each."""
    if not events and _MESSAGES.isdisjoint(sources[0]):
        return None, _call_beside(sources[0]) if role == "llm" else None
    decode = returned_values(said_of) if speaks_gemini(provider) else said_of
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
            if isinstance(value, str) and value.startswith(WRITTEN):
                value = unwritten(value)
            if value is not None and (
                content := spelled_content(value, role) or Content(value, role=role, decode=decode)
            ):
                found.append(content)
    return best(*found) if len(found) > 1 else (found[0] if found else None)


def _tool_content(
    attributes: Attributes, events: Sequence[Event], role: SpanRole | None
) -> tuple[JSONValue, JSONValue]:
    arguments = result = None
    if "gen_ai.tool.call.arguments" in attributes:
        arguments = arguments_value(attributes["gen_ai.tool.call.arguments"])
        if isinstance(arguments, dict) and "input_str" in arguments:
            arguments = noted_arguments(arguments)
    if "gen_ai.tool.call.result" in attributes:
        result = span_result(returned(attributes["gen_ai.tool.call.result"])).value
    if role != "tool" or not events:
        return arguments, result
    for event in events:
        if event.name == "gen_ai.tool.message" and arguments is None:
            arguments = arguments_value(event.content)
        elif event.name == "gen_ai.choice" and result is None:
            result = span_result(event.content).value
    return arguments, result
