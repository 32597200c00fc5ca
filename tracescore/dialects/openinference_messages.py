"""Messages of OpenInference: in numbered attributes, else in the values beside them."""

from __future__ import annotations

import re

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_repr import answer_in, python_value
from tracescore.dialects.flattened import Group, flattened_messages
from tracescore.dialects.form import SpanRole
from tracescore.dialects.openinference_tools import completed
from tracescore.dialects.results import speaks_gemini
from tracescore.dialects.unwrap import AUTOMATIC_HISTORY
from tracescore.dialects.values import Attributes, object_at, recorded, text_at
from tracescore.model import JSONValue, Role, Span

INPUT_MESSAGES = "llm.input_messages."
OUTPUT_MESSAGES = "llm.output_messages."
PROMPTS = "llm.prompts."
COMPLETIONS = "llm.choices."
_NAME = ".function.name"
_OWN_TOOL = "_call"
"""How the type of an item ends by which a provider tells of a tool of its own."""
_LEFT_OUT = (
    '"source_type"',
    '"input_audio"',
    '"input_file"',
    '"file_data"',
    '"file_id"',
    '"is_error": true',
    '"is_error":true',
)
_LEFT_OUT_STARTS = ('"source_type"', '"input_', '"file_', '"is_error"')
"""Looked for first: a request repeats the whole history."""
_THOUGHT = (
    '"type": "reasoning"',
    '{"type":"reasoning","id":',
    '"thinking": "',
    '"thinking":"',
    '"thinking":[',
    '"tool_plan":"',
    '"tool_plan": "',
)
_OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-fA-F]+>")
"""What Python writes of an object that has no text: nothing that was said."""
_CALLED = ('{"args"', '{"prompt"')
_SERIALISED = '{"messages":[[{"lc":1'
"""How LangChain for JavaScript begins a request: its numbered messages lack ids of calls and content in blocks."""
_REQUEST, _ANTHROPIC = '{"model":', ('"system":"', '"system":[{', '"tool_result"')
"""How a request of a JavaScript client begins, and what marks one of Anthropic's."""


def messages_of(span: Span, role: SpanRole | None, groups: dict[str, Group]) -> tuple[Content | None, Content | None]:
    """Read messages; a value beside them only where there are none, and first on spans that are no model call.

    Chains repeat single messages of what their input holds whole.
    """
    given = groups.get(INPUT_MESSAGES) or _texts(groups.get(PROMPTS, {}), "prompt.text")
    if role == "llm":
        given = completed(given, span.attributes.get("input.value")) or _prompts(span.attributes)
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
        request = span.attributes.get("input.value")
        if isinstance(request, str) and request.startswith(_SERIALISED):
            return values[0] or messages[0], values[1] or messages[1]
        if isinstance(request, str) and _lacks_of_request(given, request):
            return values[0] or messages[0], messages[1] or values[1]
        raw = span.attributes.get("output.value")
        whole = isinstance(raw, str) and (AUTOMATIC_HISTORY in raw or _leaves_out(answered, raw))
        if whole and (values[1] is None or values[1].kind != "messages" or values[1].truncated):
            whole = False
        said = values[1] if whole else messages[1] or values[1]
        if messages[0] and values[0] and _says_more(span.attributes.get("input.value")):
            return (values[0] if values[0].kind == "messages" else messages[0]), said
        return messages[0] or values[0], said
    return values[0] or messages[0], values[1] or messages[1]


def _leaves_out(answered: Group, raw: str) -> bool:
    """Tell numbered messages that lack some of what was answered: a number, what a call asks, or what was thought."""
    if answered and next(reversed(answered)) != len(answered) - 1:
        return True
    if any(mark in raw for mark in _THOUGHT):
        return not any(value in ("reasoning", "thinking") for fields in answered.values() for value in fields.values())
    return any(
        key.endswith(_NAME)
        and (f"{key.removesuffix('name')}arguments" not in fields or str(fields[key]).endswith(_OWN_TOOL))
        for fields in answered.values()
        for key in fields
    )


def _says_more(raw: JSONValue) -> bool:
    """Tell a request that holds sounds or files, or says that a tool failed: the numbered messages leave that out."""
    return (
        isinstance(raw, str)
        and any(start in raw for start in _LEFT_OUT_STARTS)
        and any(mark in raw for mark in _LEFT_OUT)
    )


def _lacks_of_request(given: Group, request: str) -> bool:
    """Tell numbered messages that lack what Anthropic's request holds: the system text, and all results but one."""
    first = given.get(0)
    if first is None or first.get("message.role") == "system" or not request.startswith(_REQUEST):
        return False
    return any(mark in request for mark in _ANTHROPIC)


def _prompts(attributes: Attributes) -> Group:
    """Make messages of prompts that stand in one attribute, or that a completion was called with."""
    prompts = attributes.get("llm.prompts")
    if prompts is None and "input.value" not in attributes:
        prompts = (object_at(attributes, "llm.invocation_parameters") or {}).get("inputText")
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
    if value is None or (isinstance(value, str) and value.startswith("<") and _OBJECT.fullmatch(value)):
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
