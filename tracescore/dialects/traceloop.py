"""OpenLLMetry: entities under ``traceloop.*``, and messages in numbered ``gen_ai.prompt.N`` until version 0.5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import first, is_object
from tracescore.dialects.flattened import numbered
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.langchain_notes import noted_arguments, noted_result
from tracescore.dialects.results import arguments_value, documents_of, span_result
from tracescore.dialects.traceloop_messages import numbered_messages
from tracescore.dialects.values import Attributes, begins_any, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, RetrievedDocument, Role, Span

PREFIX = "traceloop."
PROMPT = "gen_ai.prompt."
COMPLETION = "gen_ai.completion."
_STARTS = (PREFIX, PROMPT, COMPLETION)
_INPUT = "traceloop.entity.input"
_NOTHING = '{"args":[],"kwargs":{}}'
"""The input of a function that was called with nothing."""
_OUTPUT = "traceloop.entity.output"
_ASKED_FOR = "llm.request.type"
_METADATA = "traceloop.association.properties."
_ROLES: dict[str, SpanRole] = {"workflow": "container", "task": "step", "agent": "agent", "tool": "tool"}
_REQUESTS: dict[str, SpanRole] = {
    "chat": "llm",
    "completion": "llm",
    "embedding": "embedding",
    "rerank": "retrieval",
}
_NODE = "NodeWithScore"
_OBJECTS = '[{"node":{"id_":'
_HANDOFF = re.compile(r".+ (?:→|->) (.+)\.handoff")
_SETTING = "set TRACELOOP_TRACE_CONTENT=true, as it is unless turned off"


class Noted(NamedTuple):
    """What stands beside an input."""

    tags: tuple[str, ...] | None = None
    session_id: str | None = None
    user_id: str | None = None


class Traceloop:
    """The spans of OpenLLMetry, and of those who number their messages as it does."""

    marks = frozenset({*_STARTS, _ASKED_FOR})
    names = ()
    content_prefixes = (PROMPT, COMPLETION, _INPUT, _OUTPUT, "llm.request.functions.", "gen_ai.task.")

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the entity, and the numbered messages."""
        attributes = span.attributes
        own = begins_any(attributes, _STARTS)
        request = text_at(attributes, _ASKED_FOR)
        if not own and request is None:
            return None
        groups = numbered(attributes, (PROMPT, COMPLETION))
        kind = text_at(attributes, "traceloop.span.kind")
        role = _REQUESTS.get(request) if request is not None else None
        if "tool.name" in attributes and "tool.arguments" in attributes:
            role = "tool"
        handed = _HANDOFF.fullmatch(span.name) if kind is not None else None
        role = role or (_ROLES.get(kind.lower()) if kind is not None else "llm" if groups else None)
        documents = _documents(span, role)
        role = "retrieval" if documents is not None else role
        entity = text_at(attributes, "traceloop.entity.name", "crewai.agent.role")
        metadata = {
            key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)
        }
        result = span_result(noted_result(attributes.get(_OUTPUT))) if role == "tool" else None
        noted = _noted(attributes) if role == "container" else Noted()
        # Some SDKs drop the oldest attributes at their limit, others the newest: then the end of the input is gone too.
        newest_lost = span.dropped_attributes > 0 and 0 in groups.get(PROMPT, {}) and COMPLETION not in groups
        prompts = numbered_messages(groups.get(PROMPT), "user", tail_lost=newest_lost)
        return Reading(
            role="handoff" if handed is not None else role,
            generic=False if role is not None else None,
            handoff_to=handed.group(1) if handed is not None and handed.group(1) != "unknown" else None,
            agent_name=entity if role == "agent" else None,
            name=entity if role in ("container", "step") else None,
            input=prompts or _content(attributes, _INPUT, "user"),
            output=numbered_messages(groups.get(COMPLETION), "assistant") or _content(attributes, _OUTPUT, "assistant"),
            tool_name="handoff"
            if handed is not None
            else text_at(attributes, "tool.name") or (entity if role == "tool" else None),
            tool_call_id=result.call_id if result is not None else None,
            tool_arguments=_arguments(attributes) if role == "tool" else None,
            tool_result=result.value if result is not None else None,
            tool_error=result.value if result is not None and result.failed and isinstance(result.value, str) else None,
            query=_query(attributes.get(_INPUT)) if documents is not None else None,
            documents=documents,
            tags=noted.tags,
            session_id=noted.session_id,
            user_id=noted.user_id,
            metadata=metadata or None,
            content_setting=_SETTING,
        )


def _documents(span: Span, role: SpanRole | None) -> tuple[RetrievedDocument, ...] | None:
    """Read what a retriever returned; ``None`` for a span that is none."""
    if role != "step":
        return None
    output = span.attributes.get(_OUTPUT)
    retrieves = span.attributes.get("gen_ai.operation.name") == "vector_db_retrieve"
    # LlamaIndex: a list of nodes, in Python each as JSON text; no attribute tells its retrievers from other steps.
    if retrieves or (
        isinstance(output, str) and ((output[:2] == '["' and _NODE in output) or output.startswith(_OBJECTS))
    ):
        return documents_of(output) or ()
    return None


def _query(value: JSONValue) -> str | None:
    given = parse(value).value
    while is_object(given):
        given = first(given, ("query", "query_str", "str_or_query_bundle", "query_bundle", "q"))
    return given if isinstance(given, str) and given else None


def _noted(attributes: Attributes) -> Noted:
    """Read tags, session and user out of what a callback of LangChain notes around an input."""
    given = recorded(attributes, _INPUT)
    if not isinstance(given, str) or not given.startswith('{"inputs"'):
        return Noted()
    noted = parse(given).value
    if not is_object(noted):
        return Noted()
    metadata = noted.get("metadata")
    stated = metadata if is_object(metadata) else {}
    return Noted(texts_at(noted, "tags"), text_at(stated, "thread_id", "session_id"), text_at(stated, "user_id"))


def _content(attributes: Attributes, key: str, role: Role) -> Content | None:
    value = recorded(attributes, key)
    return None if value in (None, _NOTHING) else Content(value, role=role, rank=DERIVED) or None


def _arguments(attributes: Attributes) -> JSONValue:
    for key in ("tool.arguments", "gen_ai.tool.call.arguments", _INPUT):
        given = arguments_value(recorded(attributes, key))
        if is_object(given):
            return noted_arguments(given)
        if given is not None:
            return given
    return None
