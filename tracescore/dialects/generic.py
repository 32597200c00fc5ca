"""What any span may say, whoever wrote it: the fall-through behind all other dialects."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.values import Attributes, text_at, texts_at
from tracescore.model import LogRecord, Span

_TOOL = ("gen_ai.tool.name", "gen_ai.tool.call.id")
_ANSWERED = "ai.model.id"
_MODEL = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", _ANSWERED)
_EXECUTION = "execute_tool "
_NAMES: tuple[tuple[str, SpanRole], ...] = (
    ("chat ", "llm"),
    ("invoke_agent ", "agent"),
    (_EXECUTION, "tool"),
    ("embeddings ", "embedding"),
)
_TAGS = ("tag.tags", "tags", "langfuse.tags", "logfire.tags", "ai.telemetry.metadata.tags")
_COMMON = frozenset({"session.id", "user.id", "enduser.id", "error.type", *_TAGS})
_NOTHING_ELSE: dict[SpanRole, Reading] = {role: Reading(role=role, generic=True) for _, role in _NAMES}
_STARTS = tuple(start for start, _ in _NAMES)


class Generic:
    """Roles by attribute and by name, and whom a span was for."""

    marks: frozenset[str] | None = _COMMON.union(_TOOL, _MODEL)
    names = _STARTS
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the role by what tells it apart, and session, user and tags under their common names."""
        attributes = span.attributes
        role = _role(span.name, attributes)
        tool_name = span.name.removeprefix(_EXECUTION) if span.name.startswith(_EXECUTION) else None
        model_answered = text_at(attributes, _ANSWERED) if role == "llm" and _ANSWERED in attributes else None
        generic = True if role is not None else None
        if _COMMON.isdisjoint(attributes):
            if role is None and tool_name is None:
                return None
            if role is not None and tool_name is None and model_answered is None:
                return _NOTHING_ELSE[role]
            return Reading(role=role, generic=generic, tool_name=tool_name, model_answered=model_answered)
        return Reading(
            role=role,
            generic=generic,
            tool_name=tool_name,
            model_answered=model_answered,
            session_id=text_at(attributes, "session.id"),
            user_id=text_at(attributes, "user.id", "enduser.id"),
            tags=texts_at(attributes, *_TAGS),
            error_type=text_at(attributes, "error.type"),
        )


def _role(name: str, attributes: Attributes) -> SpanRole | None:
    if _TOOL[0] in attributes or _TOOL[1] in attributes:
        return "tool"
    if text_at(attributes, *_MODEL) is not None:
        return "llm"
    if not name.startswith(_STARTS):
        return None
    return next(role for start, role in _NAMES if name.startswith(start))
