"""Mastra: ``mastra.*``, whichever exporter wrote the span; a step's messages are on the step, its usage below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.form import Reading, SpanRole
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.said import Said, ToolResult
from tracescore.dialects.values import Attributes, first_text, object_at, recorded, text_at, texts_at
from tracescore.model import JSONValue, LogRecord, MediaPart, Part, Role, Span, TextPart

_TYPE = "mastra.span.type"
_METADATA = "mastra.metadata."
_CALL, _THOUGHT, _MEDIA = "[tool: ", "[reasoning]", ("[image]", "[file]")
"""How marks begin of what is no text."""
_RESULT_LEFT_OUT = re.compile(r"\[tool-result: ([^\]]+)\]")
_RESULTS_LEFT_OUT = re.compile(r"(?:\[tool-result: [^\]]+\]\s*)+")
_MAX_MARKS = 256
_WAITS = ("tool-call-approval", "tool-call-suspended")
"""Chunks that say that a call waits for a human."""
_RESULTS = ("gen_ai.tool.call.result", "output.value", "mastra.tool_call.output")
_STATUS = '{"status":"'
_SUSPENDED, _ABORTED = "suspended", "aborted"
"""The status in the output of an agent that was stopped: a call waits for a human, or nobody waits for the answer."""
_USER = ("userId", "user_id", "resourceId")
_ROLES: dict[str, SpanRole] = {
    "agent_run": "agent",
    "model_generation": "step",
    "model_step": "llm",
    "model_inference": "llm",
    "model_chunk": "step",
    "tool_call": "tool",
    "mcp_tool_call": "tool",
    "provider_tool_call": "tool",
    "workflow_run": "container",
    "memory_operation": "memory",
    "rag_embedding": "embedding",
    "rag_vector_operation": "step",
    "processor_run": "guardrail",
    "scorer_run": "evaluator",
    "scorer_step": "evaluator",
}


class Mastra:
    """The spans of Mastra's exporters and of its bridge."""

    marks = frozenset({"mastra"})
    names = ()
    content_prefixes = tuple(
        f"mastra.{name}.{side}"
        for name in ("agent_run", "model_generation", "model_step", "model_chunk", "tool_call", "workflow_run")
        for side in ("input", "output")
    )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what the span says under ``mastra.``."""
        attributes = span.attributes
        kind = text_at(attributes, _TYPE)
        if kind is None:
            return None
        role = _ROLES.get(kind, "step")
        given, answered = (_recorded(attributes, kind, side) for side in ("input", "output"))
        metadata = {
            key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)
        }
        is_call = role == "tool"
        refused = _refusal(attributes) if is_call else None
        stopped = _stopped(answered) if role == "agent" else None
        suspended = stopped == _SUSPENDED
        return Reading(
            role=role,
            generic=False,
            input=_content(given, "user", kind),
            output=None if stopped else _content(answered, "assistant", kind),
            tool_arguments=arguments_value(given) if is_call and given is not None else None,
            tool_result=span_result(answered).value if is_call and answered is not None else None,
            tool_error=refused,
            user_id=text_at(metadata, *_USER) or text_at(object_at(attributes, "metadata") or {}, *_USER),
            tags=texts_at(attributes, "mastra.tags"),
            ended=stopped,
            paused=True if suspended or (kind == "model_chunk" and any(word in span.name for word in _WAITS)) else None,
            metadata={key: value for key, value in metadata.items() if key not in ("body", "headers")} or None,
        )


def _recorded(attributes: Attributes, kind: str, side: str) -> JSONValue:
    """Give the input or output; the exporter for Langfuse writes it in the words of that one."""
    value = recorded(attributes, f"mastra.{kind}.{side}")
    return value if value is not None else recorded(attributes, f"langfuse.observation.{side}")


def _stopped(answered: JSONValue) -> str | None:
    """Tell what stands in an answer's place where a run was stopped."""
    if not isinstance(answered, str) or not answered.startswith(_STATUS):
        return None
    status = (parse(answered).value or {}).get("status")
    return status if status in (_SUSPENDED, _ABORTED) else None


def _refusal(attributes: Attributes) -> str | None:
    """Give why a call was refused: the arguments did not fit the tool, and no exception says so."""
    for key in _RESULTS:
        result = object_at(attributes, key)
        if result is not None and result.get("error") is True and "validationErrors" in result:
            return first_text(result, ("message",))
    return None


def _content(value: JSONValue, role: Role, kind: str) -> Content | None:
    if value is None:
        return None
    return Content(value, role=role, rank=NATIVE if kind == "model_step" else DERIVED, decode=_said_of) or None


def _said_of(raw: Any, role: Role) -> list[Said]:
    """Read a message; a step's input names what is not text, and leaves it out."""
    return [_elided(said) for said in said_of(raw, role)]


def _elided(said: Said) -> Said:
    if said.role == "tool":
        return said._replace(results=tuple(one for result in said.results for one in _results(result)))
    kept: list[Part] = []
    for part in said.parts:
        kept += _parts(part.text, said.role) if isinstance(part, TextPart) else [part]
    return (
        said
        if len(kept) == len(said.parts) and tuple(kept) == said.parts
        else said._replace(parts=tuple(kept), elided=True)
    )


def _results(result: ToolResult) -> list[ToolResult]:
    if not isinstance(result.value, str) or not _RESULTS_LEFT_OUT.fullmatch(result.value.strip()):
        return [result]
    names = _RESULT_LEFT_OUT.findall(result.value)
    return [ToolResult(id=result.id if len(names) == 1 else None, name=name, elided=True) for name in names]


def _parts(text: str, role: Role) -> list[Part]:
    """Tell a text from the marks around it: of the calls and the thoughts of a reply, of the media of a question."""
    marks: list[Part] = []
    if role == "assistant":
        rest, _ = _without_marks(text, (_CALL,))
        rest = rest.removeprefix(_THOUGHT)
    else:
        rest, found = _without_marks(text, _MEDIA)
        marks = [MediaPart(type="image" if mark == _MEDIA[0] else "file") for mark in found]
    if rest == text:
        return [TextPart(text=text)]
    return [*([TextPart(text=rest)] if rest.strip() else []), *marks]


def _without_marks(text: str, begins: tuple[str, ...]) -> tuple[str, list[str]]:
    """Take the marks off the end of a text; gives them in order."""
    found: list[str] = []
    rest = text
    while len(found) < _MAX_MARKS and rest.endswith("]"):
        start = rest.rfind("[")
        if start < 0 or not rest.startswith(begins, start):
            break
        found.append(rest[start:])
        rest = rest[:start].rstrip()
    return (rest, found[::-1]) if found else (text, found)
