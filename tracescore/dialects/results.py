"""What tool and retrieval spans record: arguments, results, documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tracescore.dialects.content import Decoder
from tracescore.dialects.decode_json import clean, parse
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.decode_repr import python_value
from tracescore.dialects.decode_tools import (
    arguments_of,
    first,
    is_elided,
    is_object,
    result_value,
    text_or_none,
    unwrapped_response,
    unwrapped_response_text,
)
from tracescore.dialects.said import Said
from tracescore.dialects.values import number_of
from tracescore.model import JSONValue, Part, RetrievedDocument, Role, ToolInvocationPart

_MAX_DOCUMENTS = 1_000
_TEXT = ("content", "page_content", "text", "document", "body")
_PROTOCOL_RESULT = {"content", "structuredContent", "isError", "meta", "_meta"}
"""Fields of a tool's result in the Model Context Protocol."""
_CALLED_WITH = {"args", "kwargs", "sanitize_inputs_outputs"}
"""What a traced Python function was called with, in the words of a few libraries."""
_SOURCE = ("source", "file_name", "file_path", "url", "uri", "doc_uri", "title")


class SpanResult(NamedTuple):
    """A tool's result out of whatever object its framework wrapped it in."""

    value: JSONValue = None
    call_id: str | None = None
    failed: bool = False


def arguments_value(value: Any, *, names: Sequence[str] = ()) -> JSONValue:
    """Read recorded arguments; what frameworks add around them is taken off.

    ``names`` are the tool's parameters, for arguments that were given by position.
    """
    if value is None:
        return None
    arguments = arguments_of(value)
    if not is_object(arguments) or not arguments.keys() <= _CALLED_WITH:
        return arguments
    listed, named = arguments.get("args"), arguments.get("kwargs")
    if not listed:
        return named if is_object(named) else arguments
    if isinstance(listed, list) and len(listed) <= len(names):
        return {**dict(zip(names, listed, strict=False)), **(named if is_object(named) else {})}
    return arguments


def span_result(value: Any) -> SpanResult:
    """Read a recorded result: the text or object itself, or a message or response that carries it."""
    if value is None or (isinstance(value, str) and (not value or is_elided(value))):
        return SpanResult()
    decoded = parse(value).value
    if isinstance(decoded, str):
        return _of_fields(decoded) or SpanResult(clean(decoded))
    if is_object(decoded):
        carried = _carried(decoded)
        if carried is not None:
            return carried
    elif isinstance(decoded, list):
        joined, _ = result_value(decoded)
        if isinstance(joined, str):
            return SpanResult(joined)
    # An object stays the text that was recorded: that is what the model was given.
    return SpanResult(clean(value) if isinstance(value, str) else decoded)


def _of_fields(text: str) -> SpanResult | None:
    """Read a tool message that was written as the text of its fields."""
    if text.startswith("status='") and " result=" in text and " error=" in text:
        given = python_value(text)
        if is_object(given) and {"status", "result", "error"} <= given.keys():
            value = given["result"] if given["result"] is not None else given["error"]
            return SpanResult(value, None, given["status"] != "success")
    fields = python_value(text) if text.startswith("content=") and "tool_call_id=" in text else None
    if not is_object(fields) or "content" not in fields:
        return None
    value, flagged = result_value(fields["content"])
    return SpanResult(value, text_or_none(fields.get("tool_call_id")), flagged or fields.get("status") == "error")


def _carried(decoded: dict[str, Any]) -> SpanResult | None:
    """Find the result inside a tool message, a tool output or a function response."""
    if is_object(output := decoded.get("output")) and len(decoded) == 1:
        return _carried(output)
    if _is_tool_message(decoded):
        for message in said_of(decoded, "tool"):
            for result in message.results:
                return SpanResult(result.value, result.id, result.failed)
    if isinstance(decoded.get("blocks"), list) and ("tool_name" in decoded or "raw_output" in decoded):
        text, _ = result_value(decoded["blocks"])
        return SpanResult(text, text_or_none(decoded.get("tool_id")), decoded.get("is_error") is True)
    if isinstance(decoded.get("content"), list) and decoded.keys() <= _PROTOCOL_RESULT:
        text, _ = result_value(decoded["content"])
        return SpanResult(text, None, decoded.get("isError") is True)
    if decoded.get("type") == "function_result" and "result" in decoded:
        return SpanResult(decoded["result"], text_or_none(decoded.get("call_id")))
    if is_object(response := decoded.get("response")) and "name" in decoded:
        return SpanResult(unwrapped_response(response), text_or_none(decoded.get("id")))
    return None


def _is_tool_message(decoded: dict[str, Any]) -> bool:
    if decoded.get("role") == "tool" or decoded.get("type") in ("tool", "ToolMessage"):
        return True
    kwargs = decoded.get("kwargs")
    return is_object(kwargs) and "lc" in decoded and kwargs.get("type") == "tool"


def speaks_gemini(provider: str | None) -> bool:
    """Tell the providers whose functions answer with an object."""
    return provider is not None and provider.lower().startswith(("gcp", "google", "gemini", "vertex"))


def returned_values(decode: Decoder) -> Decoder:
    """Take what a function returned out of the object that Gemini's interface puts around it."""

    def decoded(raw: Any, role: Role) -> list[Said]:
        return [_returned(said) if said.results else _counted(said) for said in decode(raw, role)]

    return decoded


def _counted(said: Said) -> Said:
    """Number calls as their results are: ids made up of name and place count text beside the calls, results do not."""
    parts: list[Part] = []
    calls = 0
    for place, part in enumerate(said.parts):
        if isinstance(part, ToolInvocationPart):
            known = part.id == f"{part.name}_{place}" and place != calls
            parts.append(replace(part, id=f"{part.name}_{calls}") if known else part)
            calls += 1
        else:
            parts.append(part)
    return said._replace(parts=tuple(parts)) if 0 < calls < len(parts) else said


def _returned(said: Said) -> Said:
    results = tuple(result._replace(value=_returned_value(result.value)) for result in said.results)
    return said._replace(results=results)


def _returned_value(value: JSONValue) -> JSONValue:
    return unwrapped_response_text(value) if isinstance(value, str) else unwrapped_response(value)


def documents_of(value: Any) -> tuple[RetrievedDocument, ...] | None:
    """Read a list of documents; ``None`` where there is no such list."""
    if value is None:
        return None
    decoded = parse(value).value
    if is_object(decoded):
        decoded = first(decoded, ("documents", "docs", "results", "source_nodes", "nodes"))
    if not isinstance(decoded, list):
        return None
    found = (document_of(item) for item in decoded[:_MAX_DOCUMENTS])
    return tuple(document for document in found if document is not None)


def document_of(item: Any) -> RetrievedDocument | None:
    """Read one document; score and source also from its metadata."""
    if isinstance(item, str) and item[:1] == "{":
        item = parse(item).value
    if isinstance(item, str):
        return RetrievedDocument(text=clean(item)) if item and not is_elided(item) else None
    if not is_object(item):
        return None
    score = number_of(first(item, ("score", "relevance_score", "similarity")))
    inner = item.get("node") if is_object(item.get("node")) else item.get("document")
    flat = {**item, **inner} if is_object(inner) else item
    metadata = parse(flat.get("metadata")).value
    extra = metadata if is_object(metadata) else {}
    content = first(flat, _TEXT)
    if isinstance(content, list):
        content, _ = result_value(content)
    text = text_or_none(content)
    document_id = text_or_none(first(flat, ("id", "id_", "doc_id")))
    if document_id is None and text is None:
        return None
    return RetrievedDocument(
        id=document_id,
        text=text or "",
        score=score if score is not None else number_of(first(extra, ("score", "relevance_score"))),
        source=text_or_none(first(flat, _SOURCE[:1])) or text_or_none(first(extra, _SOURCE)),
    )
